"""Rebuild the request of a turn, and the beginning of the next, from log and journal alone."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from thalweg.archive import Archive, Span, ThreadKey
from thalweg.archive.threads.journal import TurnRecord, call_at, page_at, snapshot_at
from thalweg.archive.threads.session import resume_engine
from thalweg.engine.additions import AdditionSize
from thalweg.engine.compaction.policy import RentOrBuy
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message, message_from_json
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.snapshot import EngineSnapshot
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.budget import MIN_LIMIT, Budget
from thalweg.engine.window.items import CONTINUE_PROMPT, WindowItem
from thalweg.engine.window.window import OverheadSection


@dataclass(frozen=True, slots=True)
class TurnContext:
    """The request of a turn, or the beginning of the next one.

    What other middleware changed or added for one call alone is in no log, and not included.
    """

    turn: int | None
    """Number of the turn; `None` of the next one, which was not sent."""
    page: TurnRecord
    """The turn's record in the journal: time, model, limit; of the next turn, the newest record."""
    tokens: Mapping[str, int]
    """Its tokens, by section."""
    items: tuple[WindowItem, ...]
    """The messages in the order they were sent, each with its position."""
    system: Message | None
    """The system prompt of the request."""
    tools: tuple[dict[str, Any], ...]
    """The tool schemas of the request, in OpenAI's form."""

    @property
    def additions(self) -> tuple[AdditionSize, ...]:
        """Its parts besides messages and tools, in the order they were sent."""
        return () if self.turn is None else self.page.additions

    @property
    def messages(self) -> list[Message]:
        """The messages after the system prompt."""
        return [item.message for item in self.items]


def context_at(archive: Archive, key: ThreadKey, turn: int | None = None) -> TurnContext:
    """Rebuild the request of a turn, as it was sent.

    Args:
        archive: The archive of the thread.
        key: The thread.
        turn: Number of the turn, from 1; by default the newest request.

    Raises:
        ArchiveError: The thread has no such turn, or nothing was sent yet.
    """
    record, page = call_at(archive, key, turn)
    engine = engine_at(archive, key, page, snapshot_at(archive, key, record, page))
    items, tokens = tuple(engine.window.items), dict(page.tokens)
    return _context(archive, key, page, items, tokens, turn=page.turns)


def next_context(archive: Archive, key: ThreadKey) -> TurnContext:
    """Rebuild the thread as it is now: the next request begins with it.

    A new message follows, before which the next request may compact.

    Args:
        archive: The archive of the thread.
        key: The thread.

    Raises:
        ArchiveError: The thread has no journal.
    """
    record, page = page_at(archive, key)
    engine = engine_at(archive, key, page, snapshot_at(archive, key, record, page))
    items = tuple(engine.window.items)
    if items and items[-1].message is CONTINUE_PROMPT:  # not sent if a message follows
        items = items[:-1]
    tokens: Counter[str] = Counter(engine.window.overhead)
    for item in items:
        tokens[item.section] += item.tokens
    return _context(archive, key, page, items, {k: n for k, n in tokens.items() if n}, turn=None)


def _context(
    archive: Archive,
    key: ThreadKey,
    page: TurnRecord,
    items: tuple[WindowItem, ...],
    tokens: Mapping[str, int],
    *,
    turn: int | None,
) -> TurnContext:
    system = archive.attachment(key, page.system) if page.system else ""
    return TurnContext(
        turn=turn,
        page=page,
        tokens=tokens,
        items=items,
        system=message_from_json(system) if system else None,
        tools=tuple(tools_of(archive, key, page)),
    )


def tools_of(archive: Archive, key: ThreadKey, page: TurnRecord) -> Sequence[dict[str, Any]]:
    """Return the tool schemas of a turn's request."""
    if not page.tools:
        return ()
    tools: list[dict[str, Any]] = json.loads(archive.attachment(key, page.tools))
    return tools


def engine_at(
    archive: Archive, key: ThreadKey, page: TurnRecord, snapshot: EngineSnapshot
) -> Engine:
    """Return the engine as of the end of a turn, with the budget recorded in the journal.

    Args:
        archive: The archive of the thread.
        key: The thread.
        page: The turn record.
        snapshot: The engine snapshot.
    """
    engine = resume_engine(archive, key, page.line, snapshot, new_engine(archive, key, page))
    set_overhead(engine, page)
    return engine


def new_engine(archive: Archive, key: ThreadKey, page: TurnRecord) -> Engine:
    """Return an engine without messages, with the budget of a turn."""
    return Engine(
        budget=budget_of(page),
        policy=RentOrBuy(TARIFFS["anthropic"]),
        count=exact_counter(),
        name_span=lambda first, last: archive.handle(key, Span(first, last)),
        model=page.model,
    )


def set_overhead(engine: Engine, page: TurnRecord) -> None:
    """Set the number of model calls and the overhead tokens as a turn had them."""
    engine.turn = page.calls
    for section in get_args(OverheadSection):
        engine.window.set_overhead(section, page.tokens.get(section, 0))


def budget_of(page: TurnRecord) -> Budget:
    """Return the budget of a turn: the recorded limit, or else its own size."""
    known_limit = page.limit or page.window or sum(page.tokens.values())
    return Budget(window=max(known_limit, MIN_LIMIT), max_output=0)
