"""A thread is its log and its journal: restarts, crashes and hand edits change nothing else."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from tests.property.strategies import Scenario, scenarios
from tests.property.threading import Graph, State, numbered, text_of
from thalweg.entries import Message, Text, ToolCall
from thalweg.errors import WindowExceededError

CHOICES = st.lists(st.integers(0, 5), min_size=30, max_size=30)


def driven(
    scenario: Scenario, restarts: Sequence[int], pins: Sequence[int], state_tokens: int
) -> Graph:
    """Drive a scenario; restart before the requests that `restarts` has a 1 for."""
    graph = Graph(
        budget=scenario.budget, tariff=scenario.tariff, state_tokens=state_tokens
    )
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


@given(scenarios(), CHOICES, CHOICES, st.sampled_from([0, 300, 100_000]))
def test_a_thread_that_was_opened_again_goes_on_as_if_it_had_never_stopped(
    scenario: Scenario, restarts: list[int], pins: list[int], state_tokens: int
) -> None:
    """To the byte, whatever was folded, pinned, late, or had the id of another."""
    never = driven(scenario, [0], pins, state_tokens)
    sometimes = driven(scenario, restarts, pins, state_tokens)
    always = driven(scenario, [1], pins, state_tokens)

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
    """A thread, and a person who goes back, forks and edits; and what should come of it."""

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
                result = Text(self._words(12 * n))
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
    """Name the word by which a message is known."""
    (first, *_) = MARKER.findall(text_of(message))
    return str(first)


@given(st.lists(OPS, min_size=5, max_size=60))
def test_what_a_person_takes_back_is_gone_and_all_else_stays(ops: list[Op]) -> None:
    """Whoever rewinds, forks, removes and rewrites, over folds and restarts."""
    hands = Hands()
    hands.do("user", 3)
    for op, n in ops:
        hands.do(op, n)


@given(scenarios(hostile=False, most=40), CHOICES)
def test_an_open_thread_holds_no_edit_that_its_journal_has(
    scenario: Scenario, choices: list[int]
) -> None:
    """Each fold has a record; a thread without end has folds without end."""
    graph = driven(scenario, [0], choices, 300)

    entered = [session for session in graph.sessions.values() if session.number is not None]
    assert not any(session.engine.history for session in entered)
