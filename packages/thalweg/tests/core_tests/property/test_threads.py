"""A thread is its log and its journal: restarts, crashes and hand edits change nothing else."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from core_tests.property.strategies import Scenario, scenarios
from core_tests.property.threading import Graph, State, WatchedArchive, numbered, text_of
from thalweg.engine.entries import Message, Text, ToolCall
from thalweg.errors import WindowExceededError

CHOICES = st.lists(st.integers(0, 5), min_size=30, max_size=30)


def driven(scenario: Scenario, restarts: Sequence[int], pins: Sequence[int], newest: int) -> Graph:
    """Drive a scenario; restart before the requests that `restarts` has a 1 for."""
    graph = Graph(budget=scenario.budget, tariff=scenario.tariff, newest=newest)
    state, turn = State(), 0
    for position, message in enumerate((*numbered(scenario.messages), None)):
        if message is None or message.role == "assistant" or position in scenario.extra:
            turn += 1
            if restarts[turn % len(restarts)] == 1:
                graph.restart()
            pin = pins[turn % len(pins)]
            try:
                state = graph.call(
                    state, cold=position in scenario.cold, pin=pin if pin < 2 else None
                )
            except WindowExceededError:
                return graph
        if message is not None:
            state = state.plus(message)
    return graph


@given(scenarios(), CHOICES, CHOICES, st.sampled_from([1, 3, 100_000]))
def test_a_thread_that_was_opened_again_goes_on_as_if_it_had_never_stopped(
    scenario: Scenario, restarts: list[int], pins: list[int], newest: int
) -> None:
    """To the byte, for anything folded, pinned, late, or with the id of another."""
    never = driven(scenario, [0], pins, newest)
    sometimes = driven(scenario, restarts, pins, newest)
    always = driven(scenario, [1], pins, newest)

    assert sometimes.requests == never.requests
    assert always.requests == never.requests
    assert always.log() == never.log()
    assert always.pages() == never.pages()


@given(scenarios(hostile=False, most=40), CHOICES)
def test_every_request_is_valid_and_fits_over_every_restart(
    scenario: Scenario, restarts: list[int]
) -> None:
    """And each message of the thread is in the log once."""
    graph = driven(scenario, restarts, [5], 300)

    assert not any(graph.problems)
    assert all(tokens <= scenario.budget.limit for tokens in graph.tokens)
    uids = [message.uid for message in graph.log()]
    assert uids == [f"m{n}" for n in range(len(uids))]


Op = tuple[str, int]
OPS = st.tuples(
    st.sampled_from(
        ["user", "tool", "tool", "tool", "answer", "remove", "change", "go back", "restart"]
    ),
    st.integers(0, 40),
)


@dataclass(slots=True)
class Hands:
    """A thread, and a person who rewinds, forks and edits; and what should come of it."""

    graph: Graph = field(default_factory=Graph)
    state: State = field(default_factory=State)
    story: tuple[str, ...] = ()
    """The words of every message that belongs to the thread, in order."""
    places: list[tuple[State, tuple[str, ...]]] = field(default_factory=list)
    said: int = 0
    is_back: bool = False
    """Whether the state is an older one, and no request was made of it yet."""

    def do(self, op: str, n: int) -> None:
        """Do one thing."""
        match op:
            case "user":
                self._say(Message("user", (Text(self._words(n)),)))
            case "tool" if self.story:
                self._call()
                call = ToolCall(f"c{self.said}", "read", f'{{"path": "{self._words(0)}"}}')
                self._say(Message("assistant", (call,)))
                result = Text(self._words(5 * n))
                self._say(Message("tool", (result,), answers=call.id, name="read"))
            case "answer" if self.story:
                self._call()
                self._say(Message("assistant", (Text(self._words(n)),)))
                self.state = self.graph.end(self.state)
                self._keep()
            case "remove" if self.state.messages:
                self._edit(n % len(self.state.messages), None)
            case "change" if self.state.messages:
                at = n % len(self.state.messages)
                words, message = self._words(n), self.state.messages[at]
                calls = [replace(call, arguments=f'"{words}"') for call in message.calls]
                self._edit(at, replace(message, parts=tuple(calls) or (Text(words),)))
            case "go back" if self.places:
                self.state, self.story = self.places[n % len(self.places)]
                self.is_back = True
            case "restart":
                self.graph.restart()

    def _words(self, n: int) -> str:
        self.said += 1
        return f"w{self.said}w " + "and so on " * n

    def _say(self, message: Message) -> None:
        message = replace(message, uid=f"m{self.said}")
        self.state = self.state.plus(message)
        self.story = (*self.story, marker_of(message))

    def _edit(self, at: int, other: Message | None) -> None:
        messages, gone = list(self.state.messages), marker_of(self.state.messages[at])
        messages[at : at + 1] = [other] if other else []
        self.state = replace(self.state, messages=tuple(messages))
        place = self.story.index(gone)
        new = (marker_of(other),) if other else ()
        self.story = (*self.story[:place], *new, *self.story[place + 1 :])

    def _call(self) -> None:
        before = self.graph.log()
        self.state = self.graph.call(self.state, joins=not self.is_back)
        self.is_back = False
        self._keep()
        assert self.graph.log()[: len(before)] == before
        assert self.graph.problems[-1] == ()
        assert self.graph.tokens[-1] <= self.graph.budget.limit
        shown = {m for message in self.graph.requests[-1] for m in MARKER.findall(text_of(message))}
        assert shown <= set(self.story)
        assert self.story[-1] in shown

    def _keep(self) -> None:
        self.places.append((self.state, self.story))
        assert tuple(map(marker_of, self.graph.said(self.graph.line))) == self.story


MARKER = re.compile(r"w\d+w")


def marker_of(message: Message) -> str:
    """Return the word that identifies a message."""
    (first, *_) = MARKER.findall(text_of(message))
    return str(first)


@given(st.lists(OPS, min_size=5, max_size=60), st.sampled_from([100_000, 4]))
def test_what_a_person_takes_back_is_gone_and_all_else_stays(ops: list[Op], newest: int) -> None:
    """Through rewinds, forks, removals and rewrites, over folds and restarts."""
    hands = Hands(Graph(newest=newest))
    hands.do("user", 3)
    for op, n in ops:
        hands.do(op, n)


class Crash(BaseException):
    """The process has died."""


def crashing(scenario: Scenario, crashes: frozenset[int]) -> tuple[Graph, int]:
    """Drive a scenario; the process dies at these writes, before or after them.

    Returns:
        The thread, and how many writes it took.
    """
    archive = WatchedArchive()
    graph = Graph(archive, budget=scenario.budget, tariff=scenario.tariff, newest=3)

    def happens() -> None:
        if archive.writes.count in crashes:
            raise Crash

    archive.writes.happens = happens
    state = State()
    for message in (*numbered(scenario.messages), None):
        while message is None or message.role == "assistant":
            try:
                state = graph.call(state)
            except Crash:
                graph.restart()
            except WindowExceededError:
                return graph, archive.writes.count
            else:
                break
        if message is not None:
            state = state.plus(message)
    return graph, archive.writes.count


@given(scenarios(), st.frozensets(st.integers(1, 60), min_size=1))
def test_a_crash_between_any_two_writes_changes_nothing(
    scenario: Scenario, crashes: frozenset[int]
) -> None:
    """Nothing is lost, nothing is there twice, and the requests are those of a calm run."""
    calm, _ = crashing(scenario, frozenset())
    torn, _ = crashing(scenario, crashes)

    assert torn.requests == calm.requests
    assert torn.log() == calm.log()
    assert torn.line == calm.line


@settings(max_examples=3)
@given(scenarios(hostile=False, most=8))
def test_no_write_of_a_thread_is_a_bad_moment_to_crash(scenario: Scenario) -> None:
    """One crash at each of them."""
    calm, writes = crashing(scenario, frozenset())
    for at in range(1, writes + 1):
        torn, _ = crashing(scenario, frozenset({at}))
        assert torn.requests == calm.requests
        assert torn.log() == calm.log()
        assert torn.line == calm.line


Parts = tuple[Text | ToolCall, ...]


@dataclass(slots=True)
class Actor:
    """One of two processes that drive a thread at once."""

    name: str
    graph: Graph
    newest: list[State]
    """The last one is the newest checkpoint."""
    state: State | None = None
    """Of the run under way."""
    said: int = 0

    def step(self, *, ends: bool) -> None:
        """Begin a run, or take it one model call further."""
        if self.state is None:
            self._put(self.newest[-1].plus(self._message("user", (Text(self._words()),))))
            return
        before = self.state
        after = self.graph.again(lambda: self.graph.call(before))
        assert self.graph.problems[-1] == ()
        if ends:
            self._put(after.plus(self._message("assistant", (Text(self._words()),))))
            last = self.state
            self._put(self.graph.again(lambda: self.graph.end(last)))
            self.state = None
            return
        words = self._words()
        call = ToolCall(words, "read", "{}")
        called = self._message("assistant", (call,))
        result = replace(self._message("tool", (Text(words + " and so on" * 30),)), answers=words)
        self._put(after.plus(called, result))

    def _put(self, state: State) -> None:
        self.state = state
        self.newest.append(state)

    def _words(self) -> str:
        self.said += 1
        return f"{self.name}{self.said}"

    def _message(self, role: Literal["user", "assistant", "tool"], parts: Parts) -> Message:
        return Message(role, parts, uid=f"{role}-{self.name}{self.said}")


MOVES = st.tuples(st.booleans(), st.booleans(), st.integers(0, 12))


@given(st.lists(MOVES, min_size=5, max_size=40))
def test_two_runs_of_one_thread_lose_nothing_of_each_other(
    moves: list[tuple[bool, bool, int]],
) -> None:
    """Either may be faster, at any write: the other continues from there."""
    archive, newest = WatchedArchive(), [State()]
    left, right = (Actor(name, Graph(archive), newest) for name in ("left", "right"))
    for is_left, ends, intrudes_at in moves:
        actor, other = (left, right) if is_left else (right, left)
        intrudes = [archive.writes.count + intrudes_at] if intrudes_at else []

        def happens(other: Actor = other, *, ends: bool = ends, at: list[int] = intrudes) -> None:
            if at and archive.writes.count >= at[0]:
                at.clear()
                other.step(ends=not ends)

        archive.writes.happens = happens
        actor.step(ends=ends)
    archive.writes.happens = None
    last = Graph(archive)
    last.call(newest[-1])

    log = last.log()
    assert len({message.uid for message in log}) == len(log)
    assert list(last.line) == list(range(len(log)))
    assert last.problems[-1] == ()
    spoken = {f"user-{a.name}{n}" for a in (left, right) for n in range(1, a.said + 1)}
    assert {m.uid for m in log if m.role == "user"} <= spoken


@given(scenarios(hostile=False, most=40), CHOICES)
def test_an_open_thread_holds_no_edit_that_its_journal_has(
    scenario: Scenario, choices: list[int]
) -> None:
    """Each fold has a record; a thread without end has folds without end."""
    graph = driven(scenario, [0], choices, 300)

    entered = [session for session in graph.sessions.values() if session.number is not None]
    assert not any(session.engine.history for session in entered)
