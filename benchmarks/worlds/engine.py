"""Worlds without LangChain: the driver, a context and the tools in one loop."""

import json
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache, partial
from hashlib import blake2b
from random import Random
from typing import Protocol

from benchmarks.worlds.bill import Bill, CallsExceededError
from benchmarks.worlds.driver import Mode, decide
from benchmarks.worlds.sources import FORMS
from benchmarks.worlds.worlds import WORLDS, World, make_world
from thalweg.archive import RECALL_TOOL, Archive, Logged, Span, ThreadKey, open_archive, recall
from thalweg.engine import TARIFFS, Budget, Engine, RentOrBuy
from thalweg.engine.entries import Message, Part, Text, ToolCall
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.budget import AMOUNTS, Cost
from thalweg_evals.moves import Respond, Use, View
from thalweg_evals.trace import TracedCall, TracedMessage

FACTOR, MORE = 4, 40
"""The limit of an agent's calls: this many times those with the whole context, and this many more.
With fewer, a world that removal makes slow would count as one that does not end."""
WINDOWS = (4_000, 5_000, 6_000, 8_000)
"""Windows of random worlds, in tokens: small, so that many worlds are played in little time."""
SHARES = (1 / 12, 1 / 8, 1 / 5)
LOADS = (0.3, 0.6, 1.2, 2.5)
RECALLING = 0.05
"""Share of the random worlds whose driver searches: a search takes longer than a hundred calls."""
KEY = ThreadKey("worlds", "thread")
_count = lru_cache(maxsize=50_000)(exact_counter())


class Context(Protocol):
    """What decides the messages of the next request."""

    tools: frozenset[str]
    """Names of the tools that it adds."""

    def receive(self, message: TracedMessage) -> None:
        """Receive the next message of the conversation."""
        ...

    def request(self) -> Sequence[TracedMessage]:
        """Return the messages of the next request."""
        ...

    def call(self, arguments: dict[str, object]) -> str:
        """Return the result of its own tool."""
        ...


@dataclass(slots=True)
class Whole:
    """A context that keeps every message, or the first and the newest ones."""

    newest: int = 0
    """Only that many newest messages are in a request, after the first one; 0: all."""
    tools: frozenset[str] = frozenset()
    messages: list[TracedMessage] = field(default_factory=list)

    def receive(self, message: TracedMessage) -> None:
        """See `Context.receive`."""
        self.messages.append(message)

    def request(self) -> Sequence[TracedMessage]:
        """See `Context.request`."""
        if not self.newest or len(self.messages) <= self.newest:
            return self.messages
        return [self.messages[0], *self.messages[-self.newest :]]

    def call(self, arguments: dict[str, object]) -> str:
        """See `Context.call`; it has no tool."""
        raise NotImplementedError(arguments)


class EngineContext:
    """A context of our engine, under a preset.

    Args:
        cost: The preset.
        window: Tokens that the model accepts.
        archive: An empty one, if the driver searches. Without it references are made from the
            positions alone, so that a world ends equally each time.
    """

    tools = frozenset({"recall"})

    def __init__(self, cost: Cost, window: int, archive: Archive | None = None) -> None:
        self._archive = archive
        self._messages: list[Message] = []
        self.engine = Engine(
            budget=Budget(window=window, **AMOUNTS[cost].model_dump()),
            policy=RentOrBuy(TARIFFS["anthropic"]),
            count=_count,
            name_span=self._name_span,
            tools=[RECALL_TOOL],
            read_back=self._messages.__getitem__,
        )

    def _name_span(self, first: int, last: int) -> str:
        if self._archive:
            return self._archive.handle(KEY, Span(first, last))
        return f"h_{blake2b(f'{first}-{last}'.encode(), digest_size=6).hexdigest()}"

    def receive(self, message: TracedMessage) -> None:
        """See `Context.receive`."""
        calls: tuple[Part, ...] = tuple(
            ToolCall(call.id, call.name, json.dumps(dict(call.arguments))) for call in message.calls
        )
        texts: tuple[Part, ...] = (Text(message.text),) if message.text else ()
        sent = Message(message.role, texts + calls, answers=message.answers, name=message.name)
        entry = self.engine.receive(sent)
        self._messages.append(entry.message)
        about = entry.answers.brief if entry.answers else ""
        if self._archive:
            self._archive.append(KEY, [Logged(entry.message, about=about)])

    def request(self) -> Sequence[TracedMessage]:
        """See `Context.request`."""
        return [_traced(item.message) for item in self.engine.prepare()]

    def call(self, arguments: dict[str, object]) -> str:
        """Return the result of `recall`."""
        assert self._archive, "a driver that searches needs an archive"
        return recall(self._archive, KEY, **arguments)  # type: ignore[arg-type]


@lru_cache(maxsize=5_000)
def _traced(message: Message) -> TracedMessage:
    calls = tuple(
        TracedCall(part.id, part.name, json.loads(part.arguments or "{}"))
        for part in message.parts
        if isinstance(part, ToolCall)
    )
    return TracedMessage(message.role, message.text, calls, message.answers, message.name)


def play(
    world: World, context: Context, limit: int, driver: Callable[[View], Respond | Use] = decide
) -> tuple[str, Bill]:
    """Let the driver act until it ends, or until its limit of calls.

    Args:
        world: The world; its state changes.
        context: Decides what the driver is shown.
        limit: Most calls.
        driver: Decides the calls.

    Returns:
        What is wrong in the end (empty if the task is done), and the bill.
    """
    bill = Bill(limit)
    names = frozenset(world.tools) | context.tools
    context.receive(TracedMessage("user", world.request))
    later = iter(world.later)
    made, counted = 0, dict[int, tuple[TracedMessage, tuple[str, int]]]()
    while True:
        shown = tuple(context.request())
        move = driver(View(shown, names))
        for message in shown:
            if counted.get(id(message), (None,))[0] is not message:
                text = _written(message)
                counted[id(message)] = message, (text, _count(text))
        blocks = [counted[id(message)][1] for message in shown]
        try:
            bill.charge(blocks, _count(move.text))
        except CallsExceededError:
            return f"more than {limit} calls", bill
        if isinstance(move, Respond):
            following = next(later, None)
            if following is None:
                return world.wrong(), bill
            context.receive(TracedMessage("assistant", move.text))
            context.receive(TracedMessage("user", following))
            continue
        uses: tuple[Use, ...] = (move, *move.siblings)
        calls = tuple(
            TracedCall(f"call_{made + k}", use.tool, dict(use.arguments))
            for k, use in enumerate(uses)
        )
        made += len(calls)
        context.receive(TracedMessage("assistant", move.text, calls))
        for call in calls:
            arguments = dict(call.arguments)
            is_own = call.name in world.tools
            result = world.call(call.name, arguments) if is_own else context.call(arguments)
            context.receive(TracedMessage("tool", result, (), call.id, call.name))


def _written(message: TracedMessage) -> str:
    calls = [(call.name, dict(call.arguments)) for call in message.calls]
    return f"{message.text}\n{json.dumps(calls)}" if calls else message.text


def limit_of(world: World, driver: Callable[[View], Respond | Use] = decide) -> tuple[int, int]:
    """Return the limit of calls, and the calls with the whole context; the world is used up."""
    why, bill = play(world, Whole(), 1_000_000, driver)
    assert not why, why
    return FACTOR * bill.calls + MORE, bill.calls


@dataclass(frozen=True, slots=True)
class RandomWorld:
    """The arguments of a random world, and how it ended."""

    name: str
    seed: int
    window: int
    load: float
    share: float
    forms: tuple[str, ...]
    cost: Cost
    mode: Mode
    calls: int = 0
    base: int = 0
    """Calls with the whole context."""
    wrong: str = ""


def random_world(seed: int) -> RandomWorld:
    """Play one world, all of whose arguments depend on its seed, with the engine."""
    dice = Random(seed)  # noqa: S311 (not a secret)
    name, window = dice.choice(WORLDS), dice.choice(WINDOWS)
    load, share = dice.choice(LOADS), dice.choice(SHARES)
    forms = tuple(dice.sample(FORMS, dice.randint(1, len(FORMS))))
    cost: Cost = dice.choice(("frugal", "balanced", "careful"))
    mode: Mode = "recall" if dice.random() < RECALLING else "own"

    def made() -> World:
        return make_world(name, seed, window, load, share=share, forms=forms)

    limit, base = limit_of(made())
    archive = open_archive(":memory:") if mode == "recall" else None
    with closing(archive) if archive else nullcontext():
        context = EngineContext(cost, window, archive)
        why, bill = play(made(), context, limit, partial(decide, mode=mode))
    return RandomWorld(name, seed, window, load, share, forms, cost, mode, bill.calls, base, why)
