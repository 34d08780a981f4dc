"""Contexts made again: what a turn sent, from the log and the journal alone."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from thalweg.archive import Archive, Span, ThreadKey
from thalweg.context.additions import Listed
from thalweg.context.budget import MIN_LIMIT, Budget
from thalweg.context.engine import Engine
from thalweg.context.policy import RentOrBuy
from thalweg.context.standing import Standing
from thalweg.context.tariffs import TARIFFS
from thalweg.context.window import Beside, Item
from thalweg.entries import Message, message_from_json
from thalweg.errors import ArchiveError
from thalweg.threads.journal import Page, read_page, standing_at
from thalweg.threads.line import Line
from thalweg.threads.opening import live_messages
from thalweg.tokens import exact_counter


@dataclass(frozen=True, slots=True)
class Context:
    """What one turn sent, or, of a turn that sent nothing, what stood when it was entered.

    What other middleware changed or added for one call alone is in no log, and not in here.
    """

    turn: int
    page: Page
    """What the journal says of it: when, the model, its limit, the tokens by section."""
    items: tuple[Item, ...]
    """The messages in the order they were sent, each with its position."""
    system: Message | None
    """The system prompt that went beside them."""
    tools: tuple[dict[str, Any], ...]
    """The schemas of the tools that did, as OpenAI has them."""

    @property
    def additions(self) -> tuple[Listed, ...]:
        """What it carried besides messages and tools, in the order it was sent."""
        return self.page.additions

    @property
    def messages(self) -> list[Message]:
        """What was sent behind the system prompt."""
        return [item.message for item in self.items]


def context_at(archive: Archive, key: ThreadKey, turn: int | None = None) -> Context:
    """Make the request of a turn again, as it was sent.

    Args:
        archive: Where the thread is.
        key: The thread.
        turn: Number of the turn in the journal; the newest one when it is not given.

    Raises:
        ArchiveError: The journal has no such turn.
    """
    number, page = page_at(archive, key, turn)
    engine = engine_at(archive, key, page, standing_at(archive, key, number, page))
    system = archive.attachment(key, page.system) if page.system else ""
    return Context(
        turn=number,
        page=page,
        items=tuple(engine.window.items),
        system=message_from_json(system) if system else None,
        tools=tuple(tools_of(archive, key, page)),
    )


def page_at(archive: Archive, key: ThreadKey, turn: int | None = None) -> tuple[int, Page]:
    """Read one turn of the journal with its number; the newest one when none is named.

    Raises:
        ArchiveError: The journal has no such turn.
    """
    if turn is not None:
        return turn, read_page(archive, key, turn)
    newest = archive.turn_count(key) - 1
    if newest < 0:
        problem = f"thread {key.thread!r} has no turns: nothing was sent yet"
        raise ArchiveError(problem)
    return newest, read_page(archive, key, newest)


def tools_of(archive: Archive, key: ThreadKey, page: Page) -> Sequence[dict[str, Any]]:
    """Read the schemas of the tools that went with a turn."""
    if not page.tools:
        return ()
    tools: list[dict[str, Any]] = json.loads(archive.attachment(key, page.tools))
    return tools


def engine_at(
    archive: Archive, key: ThreadKey, page: Page, standing: Standing, line: Line | None = None
) -> Engine:
    """Make the engine that a turn left, with what the journal knows of its budget.

    Args:
        archive: Where the thread is.
        key: The thread.
        page: The turn.
        standing: What the engine knew beside the live messages.
        line: The thread's messages; those of the turn when they are not given.
    """
    engine = Engine(
        budget=budget_of(page),
        policy=RentOrBuy(TARIFFS["anthropic"]),
        count=exact_counter(),
        name_span=lambda first, last: archive.handle(key, Span(first, last)),
        model=page.model,
    )
    there = page.line if line is None else line
    engine.resume(standing, live_messages(archive, key, there, standing))
    engine.turn = page.turn
    for section in get_args(Beside):
        engine.window.set_beside(section, page.tokens.get(section, 0))
    return engine


def budget_of(page: Page) -> Budget:
    """Tell what a request of a turn might fill: what the journal says, or else its own size."""
    known = page.limit or page.window or sum(page.tokens.values())
    return Budget(window=max(known, MIN_LIMIT), max_output=0)
