"""The messages of one request, from the items of the engine's window."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, takewhile

from thalweg.archive.threads.session import ThreadSession
from thalweg.database.base import encode
from thalweg.engine.edits import Repair
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message, is_same
from thalweg.engine.window.items import WindowItem
from thalweg.engine.wires.repairs import ExchangeChecker, rules_of


def shared_tokens(engine: Engine, sent: Sequence[WindowItem]) -> int:
    """Count the tokens at the beginning of the request that the last one had, too."""
    pairs = zip(sent, engine.window.items, strict=False)
    same = sum(item.tokens for _, item in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return sum(engine.window.overhead.values()) + same


def newest_form(session: ThreadSession, messages: Sequence[Message]) -> list[WindowItem]:
    """Return the items to send, untouched messages as the framework passed them now.

    A thread that was opened again has them from the log, without the framework's own objects.
    """
    items, passed, start = session.engine.window.items, dict[int, Message](), 0
    for span in session.held_line.spans:
        places = (i.position for i in items if span.first <= i.position <= span.last)
        passed |= {place: messages[start + place - span.first] for place in places}
        start += span.last - span.first + 1
    return [
        replace(item, message=new)
        if (new := passed.get(item.position)) is not None and is_same(new, item.message)
        else item
        for item in items
    ]


def repaired(
    engine: Engine, items: Sequence[WindowItem], wire: str
) -> tuple[list[Message], list[Repair]]:
    """Return the messages of a request as its provider accepts them.

    The framework's client reads addresses and sets types before it sends media.
    """
    pointer = engine.planning_context().pointer
    rules = replace(rules_of(wire), by_address=None, needs_type=False)
    starts = [k for k, item in enumerate(items) if k == 0 or item.message.role != "tool"]
    checker, view, repairs = ExchangeChecker(rules), list[Message](), list[Repair]()
    for start, end in pairwise([*starts, len(items)]):
        places = [item.position for item in items[start:end]]
        messages = [item.message for item in items[start:end]]
        checked = checker.check(messages, partial(_name, pointer, places))
        view += checked.messages
        repairs += [
            Repair(reason=f.reason, position=places[f.index], detail=f.detail)
            for f in checked.found
        ]
    return view, repairs


def _name(pointer: Callable[[int], str], places: Sequence[int], k: int) -> str:
    return "" if places[k] < 0 else pointer(places[k])


def digest(text: str) -> str:
    """Return the digest by which the journal names a text; empty of an empty one."""
    return hashlib.sha256(encode(text)).hexdigest() if text else ""
