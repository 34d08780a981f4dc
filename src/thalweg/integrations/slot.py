"""`EngineSlot`: the engine behind the seam of another agent framework.

The order of effects is that of `ContextMiddleware`: messages are appended to the log, edits are
planned, the turn is added to the journal, and only then does the request leave.
"""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from os import PathLike
from threading import RLock
from typing import Any, Self

from thalweg.archive import (
    RECALL_TOOL,
    Archive,
    ThreadKey,
    default_place,
    open_archive,
    recall,
)
from thalweg.archive.threads.branch import ThreadBranch, read_line
from thalweg.archive.threads.journal import BY_HAND, TurnRecord, read_page
from thalweg.archive.threads.opening import left_by_hand, open_session
from thalweg.archive.threads.retry import Retry
from thalweg.archive.threads.session import ThreadSession, common, is_same
from thalweg.database.base import encode
from thalweg.database.private_files import make_private_folder
from thalweg.engine.additions import with_rest
from thalweg.engine.compaction.policy import RentOrBuy
from thalweg.engine.edits import Repair
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message, Text
from thalweg.engine.pricing.matching import UNKNOWN
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.pricing.token_factors import first_calibration
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.tokens import Counter
from thalweg.engine.window.binding import binds_thinking
from thalweg.engine.window.items import WindowItem
from thalweg.engine.window.model_windows import window_of_model
from thalweg.engine.wires.repairs import ExchangeChecker
from thalweg.engine.wires.rules import rules_of
from thalweg.errors import ConflictError, WindowExceededError
from thalweg.middleware.arguments import as_counter, as_policy
from thalweg.middleware.request.guard import count_text, written
from thalweg.middleware.request.model_limits import DEFAULT_WINDOW

OPEN_THREADS = 64
"""Threads kept open in memory: the least recently used is opened again from the archive."""


ARGUMENTS = tuple(RECALL_TOOL["parameters"]["properties"])
"""What a model may pass to `recall`; other arguments, which models make up, are ignored."""


@dataclass(frozen=True, slots=True)
class HostCall:
    """A model call that a framework is about to make, besides its messages."""

    model: str
    """The model as `provider:name`; the name alone if the provider is unknown."""
    wire: str
    """The wire that the request uses; an unregistered name gets the rules of every provider."""
    window: int | None = None
    """Tokens the model accepts; by default those of our table."""
    system: str = ""
    tools: Sequence[Mapping[str, object]] = ()
    """Schemas of the tools."""
    asked: bool = False
    """Whether a compaction was requested, independent of its savings."""

    @property
    def schemas(self) -> str:
        """The schemas of the tools as a JSON list; empty if there are none."""
        return written(list(self.tools)) if self.tools else ""


Act = Callable[[ThreadSession, Sequence[Message]], list[Message]]
"""What is done with an open thread and the messages that the framework holds of it."""


class EngineSlot:
    """The archive and the open threads behind one framework's seam; safe to share.

    A framework hands over all messages of a thread before each model call, or those that the last
    view left of them; it gets the view to send. No model writes summaries here: a compaction has
    the structured summary only.

    Args:
        policy: As for `ContextMiddleware`.
        archive: An archive, or an address for `open_archive`; by default `default_place`.
        owner: The owner of the threads.
        token_counter: As for `ContextMiddleware`.
    """

    def __init__(
        self,
        policy: ContextPolicy | Mapping[str, object] | None = None,
        *,
        archive: Archive | str | PathLike[str] | None = None,
        owner: str = "local",
        token_counter: Counter | None = None,
    ) -> None:
        self.policy = as_policy(policy).model_copy(update={"summarize": False})
        self.count: Counter = as_counter(token_counter)
        self.owner = owner
        self._address = archive
        self._archive: Archive | None = None
        self._open: OrderedDict[ThreadKey, ThreadSession] = OrderedDict()
        self._lock = RLock()

    @property
    def archive(self) -> Archive:
        """The archive; opened when it is first needed.

        Raises:
            ConfigError: It cannot be opened.
        """
        with self._lock:
            if self._archive is None:
                if self._address is None:
                    make_private_folder(default_place().parent)
                given = default_place() if self._address is None else self._address
                self._archive = open_archive(given) if isinstance(given, (str, PathLike)) else given
            return self._archive

    def close(self) -> None:
        """Close the archive if it was opened here; one that was passed belongs to the caller."""
        with self._lock:
            if self._archive is not None and self._archive is not self._address:
                self._archive.close()
            self._archive = None
            self._open.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def view(self, thread: str, said: Sequence[Message], call: HostCall) -> list[Message]:
        """Log a thread's messages, plan, and return the messages to send.

        Args:
            thread: The thread's id.
            said: Its messages, oldest first: all of them, or the last view and what came since.
            call: The model call.

        Raises:
            WindowExceededError: What cannot be compacted is larger than the model's window.
            StorageError: The archive cannot be written; nothing may be sent.
        """
        return self._with(thread, said, lambda session, whole: self._planned(session, whole, call))

    def log(self, thread: str, said: Sequence[Message], *, removes: bool = False) -> None:
        """Append a thread's messages to the log, at the end of a run.

        Args:
            thread: The thread's id.
            said: Its messages, oldest first.
            removes: Whether messages that the log has behind them were removed; otherwise they
                were logged by a model call already, and stay.
        """
        key = ThreadKey(self.owner, thread)
        with self._lock:
            session = self._open.get(key)
            held = [] if session is None else [one.message for one in session.held]
            if removes or common(held, said) < len(said):
                self._with(thread, said, _end)

    def observe(self, thread: str, model: str, reported: int) -> None:
        """Calibrate by the input tokens that the provider reports for the last request."""
        with self._lock:
            session = self._open.get(ThreadKey(self.owner, thread))
            if session is not None and reported > 0:
                session.engine.observe(reported)
                session.calibrations[model] = session.engine.calibration

    def recall(self, thread: str, **asked: object) -> str:
        """Return the result of a model's call of the tool `recall`, for any argument values."""
        key = ThreadKey(self.owner, thread)
        with self._lock:
            session = self._open.get(key)
            line = self._visible(key) if session is None else session.line
        known: Any = {name: asked[name] for name in ARGUMENTS if name in asked}
        return recall(self.archive, key, within=line.spans, count=self.count, **known)

    def messages(self, thread: str) -> list[Message]:
        """Return the visible messages of a thread from the log, compacted ones included."""
        key = ThreadKey(self.owner, thread)
        return [message for _, message in read_line(self.archive, key, self._visible(key))]

    def _visible(self, key: ThreadKey) -> ThreadBranch:
        """Return the branch of the newest turn, manual operations included."""
        turns = self.archive.turn_count(key)
        return read_page(self.archive, key, turns - 1).line if turns else ThreadBranch()

    def delete(self, thread: str) -> None:
        """Delete a thread: its messages, its journal and its references."""
        key = ThreadKey(self.owner, thread)
        with self._lock:
            self._open.pop(key, None)
            self.archive.delete(key)
            self.archive.prune()

    def _with(self, thread: str, said: Sequence[Message], act: Act) -> list[Message]:
        key, tries = ThreadKey(self.owner, thread), Retry()
        with self._lock:
            while True:
                try:
                    session, whole = self._synced(key, said)
                    done = act(session, whole)
                except ConflictError as conflict:
                    tries.spend(conflict)
                    continue
                self._open[key] = session
                while len(self._open) > OPEN_THREADS:
                    self._open.popitem(last=False)
                return done

    def _synced(
        self, key: ThreadKey, said: Sequence[Message]
    ) -> tuple[ThreadSession, Sequence[Message]]:
        """Take a thread out of the pool or the archive, and bring its log up to date.

        Returns:
            The session, and all messages of the thread that the framework holds.
        """
        session, number = self._open.pop(key, None), _newest(self.archive, key)
        turns = self.archive.turn_count(key)
        if session is None or session.number is None or session.number != turns - 1:
            session = self._opened(key, number, self._held(key, number))
        said = _unfolded(session, said)
        if not session.knows(said):
            session = self._opened(key, number, said)
        session.sync(said, joins=lambda: False)
        return session, said

    def _held(self, key: ThreadKey, number: int | None) -> list[Message]:
        spans = () if number is None else read_page(self.archive, key, number).held
        return [message for _, message in read_line(self.archive, key, ThreadBranch(spans))]

    def _opened(self, key: ThreadKey, number: int | None, said: Sequence[Message]) -> ThreadSession:
        def make(name_span: Callable[[int, int], str]) -> Engine:
            budget = self.policy.budget(DEFAULT_WINDOW)
            policy = self.policy.policy(UNKNOWN)
            return Engine(budget=budget, policy=policy, count=self.count, name_span=name_span)

        by_hand = left_by_hand(self.archive, key, number)
        return open_session(self.archive, key, number, said, make, by_hand)

    def _planned(
        self, session: ThreadSession, said: Sequence[Message], call: HostCall
    ) -> list[Message]:
        engine, before = session.engine, session.page
        provider, _, name = call.model.rpartition(":")
        tariff = self.policy.pricing.of(provider, call.model).tariff
        texts = (call.system, call.schemas, tariff.model_dump_json())
        system, tools, prices = map(_digest, texts)
        is_cold = (before.model, before.system, before.tools) != (call.model, system, tools) or (
            tariff.lifetime_s is not None and time.time() - before.at > tariff.lifetime_s
        )
        window = self.policy.window or call.window or window_of_model(name) or DEFAULT_WINDOW
        engine.budget = self.policy.budget(window)
        self._set_call(session, call, tariff)
        engine.window.settle()
        sent = list(engine.window.items)
        try:
            edits = [e for batch in engine.steps(cold=is_cold, asked=call.asked) for e in batch]
        except WindowExceededError:
            session.write()
            raise
        view, repairs = _repaired(engine, _newest_form(session, said), call)
        known = {before.system, before.tools, before.tariff, ""}
        new = [t for t, d in zip(texts, (system, tools, prices), strict=True) if d not in known]
        if new:
            session.archive.attach(session.key, *new)
        overhead = engine.window.beside.get("system", 0)
        page = TurnRecord(
            kind="call",
            at=time.time(),
            length=session.length,
            model=call.model,
            window=window,
            limit=engine.budget.limit,
            tokens={k: n for k, n in engine.window.ledger.tokens.items() if n},
            system=system,
            tools=tools,
            tariff=prices,
            same=0 if is_cold else _shared(engine, sent),
            is_cold=is_cold,
            repairs=tuple(r for r in repairs if r.position >= before.length or is_cold),
            additions=tuple(with_rest([], overhead)),
        )
        session.enter(page, edits)
        return view

    def _set_call(self, session: ThreadSession, call: HostCall, tariff: Tariff) -> None:
        engine, model = session.engine, call.model
        engine.speak_to(model)
        engine.binds = binds_thinking(model)
        engine.calibration = session.calibrations.get(model) or first_calibration(
            model, (item.message.text for item in reversed(engine.window.items))
        )
        if isinstance(engine.policy, RentOrBuy):
            engine.policy.tariff = tariff
        system, tools = call.system, call.schemas
        engine.window.set_beside("system", count_text(system, self.count) if system else 0)
        engine.window.set_beside("tools", count_text(tools, self.count) if tools else 0)
        engine.prefixes.rebase(f"{system}\n{tools}")


def _newest(archive: Archive, key: ThreadKey) -> int | None:
    """Return the newest turn that a framework left; manual operations may follow it."""
    numbers = range(archive.turn_count(key) - 1, -1, -1)
    return next((n for n in numbers if read_page(archive, key, n).kind not in BY_HAND), None)


def _unfolded(session: ThreadSession, said: Sequence[Message]) -> Sequence[Message]:
    """Return the messages of a thread for a state that continues from its last view."""
    held = [one.message for one in session.held]
    shown = [item.message for item in session.engine.window.items]
    if not shown or common(held, said) == len(held):
        return said
    new = _behind_view(said, shown)
    return said if new is None else [*held, *new]


def _behind_view(said: Sequence[Message], shown: Sequence[Message]) -> list[Message] | None:
    """Return the messages that follow a view in a framework's state; `None` if it has another one.

    A framework may join adjacent messages of the user, as providers want it.
    """
    left = list(shown)
    for k, message in enumerate(said):
        if not left:
            return list(said[k:])
        first = left.pop(0)
        if _reads_as(message, first):
            continue
        if message.role != "user" or not message.text.startswith(first.text):
            return None
        rest = message.text.removeprefix(first.text).strip()
        while rest and left and left[0].role == "user" and rest.startswith(left[0].text.strip()):
            rest = rest.removeprefix(left.pop(0).text.strip()).strip()
        if rest and left:
            return None
        if rest:
            return [replace(message, parts=(Text(rest),), origin=None), *said[k + 1 :]]
    return None if left else []


def _reads_as(said: Message, shown: Message) -> bool:
    """Return whether a message is one of a view, as a framework kept it."""
    ours, theirs = [(m.role, m.answers, m.text, [c.id for c in m.calls]) for m in (shown, said)]
    return ours == theirs


def _end(session: ThreadSession, _: Sequence[Message]) -> list[Message]:
    if session.unwritten or session.page.kind != "end":
        session.enter(replace(session.page, kind="end", at=time.time(), repairs=()), ())
    return []


def _shared(engine: Engine, sent: Sequence[WindowItem]) -> int:
    """Count the tokens at the beginning of the request that the last one had, too."""
    pairs = zip(sent, engine.window.items, strict=False)
    same = sum(item.tokens for _, item in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return sum(engine.window.beside.values()) + same


def _newest_form(session: ThreadSession, said: Sequence[Message]) -> list[WindowItem]:
    """Return the items to send, untouched messages as the framework passed them now.

    A thread that was opened again has them from the log, without the framework's own objects.
    """
    passed = {h.position: message for h, message in zip(session.held, said, strict=False)}
    return [
        replace(item, message=new)
        if (new := passed.get(item.position)) is not None and is_same(new, item.message)
        else item
        for item in session.engine.window.items
    ]


def _repaired(
    engine: Engine, items: Sequence[WindowItem], call: HostCall
) -> tuple[list[Message], list[Repair]]:
    """Return the messages of a request as its provider accepts them."""
    pointer = engine.scene().pointer
    starts = [k for k, item in enumerate(items) if k == 0 or item.message.role != "tool"]
    checker, view, repairs = ExchangeChecker(rules_of(call.wire)), list[Message](), list[Repair]()
    for start, end in pairwise([*starts, len(items)]):
        places = [item.position for item in items[start:end]]
        names = ["" if place < 0 else pointer(place) for place in places]
        checked = checker.check([i.message for i in items[start:end]], names.__getitem__)
        view += checked.messages
        repairs += [
            Repair(reason=f.reason, position=places[f.index], detail=f.detail)
            for f in checked.found
        ]
    return view, repairs


def _digest(text: str) -> str:
    return hashlib.sha256(encode(text)).hexdigest() if text else ""
