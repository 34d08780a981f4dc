"""Edits after a compaction: no snapshot of an engine ends a thread (I55)."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from core_tests.property.threading import Graph, State, text_of
from thalweg.engine.entries import Message, Text, ToolCall, stored_form
from thalweg.engine.window.budget import Budget
from thalweg.errors import WindowExceededError

ODD = ("", "half an emoji \ud83d", "caf\udce9", "\x00", "\ufeff", "\U0001f600", "\ud83d\ude00")
MARKER = re.compile(r"w\d+w")
CHANGES = ("edit", "remove", "replace", "resend", "cut")
STEP = st.tuples(
    st.sampled_from(["user", "tool", "tool", "answer", "pin"]),
    st.integers(0, 60),
    st.sampled_from(ODD),
)


@dataclass
class Thread:
    """A thread whose messages have a marker each, and its state as a checkpointer returns it."""

    graph: Graph
    numbers: int = 0

    def text(self, size: int, odd: str) -> str:
        """Return a text with a new marker."""
        self.numbers += 1
        return f"w{self.numbers}w {odd} " + "and so on " * size

    def add(self, state: State, message: Message) -> State:
        """Add a message to a state, under an id of its own."""
        return state.plus(replace(message, uid=f"m{self.numbers}"))

    def step(self, state: State, kind: str, size: int, odd: str) -> State:
        """Add a request, or an exchange of a call and its result, or an answer."""
        if kind == "user" or not state.messages:
            return self.add(state, Message("user", (Text(self.text(5 + size, odd)),)))
        state = self.call(state, size % 3 if kind == "pin" else None)
        if kind in {"answer", "pin"}:
            return self.add(state, Message("assistant", (Text(self.text(5 + size, odd)),)))
        arguments = json.dumps({"path": self.text(0, odd)}, ensure_ascii=False)
        call = ToolCall(f"c{self.numbers}{odd}", "read", arguments)
        state = self.add(state, Message("assistant", (call,)))
        parts = (Text(self.text(40 + size * 4, odd)),)
        return self.add(state, Message("tool", parts, answers=call.id, name="read"))

    def call(self, state: State, pin: int | None = None) -> State:
        """Make a request, pin words; return the state as a checkpointer reads it back."""
        state = self.graph.call(state, joins=False, pin=pin)
        assert self.graph.problems[-1] == ()
        assert self.graph.tokens[-1] <= self.graph.budget.limit
        return replace(state, messages=tuple(map(stored_form, state.messages)))

    def check(self, story: Sequence[str]) -> None:
        """Check that the thread has exactly these messages, each once, and sends no others."""
        said = self.graph.said(self.graph.line)
        assert [marker_of(message) for message in said] == [*story]
        sent = {m for message in self.graph.requests[-1] for m in MARKER.findall(text_of(message))}
        assert sent <= set(story)
        assert story[-1] in sent


def marker_of(message: Message) -> str:
    """Return the marker of a message."""
    return str(MARKER.findall(text_of(message))[0])


def changed(thread: Thread, state: State, at: int, how: str) -> State:
    """Change a state as a person does, from one of its messages on."""
    messages = list(state.messages)
    old = messages[at]
    text = thread.text(at, ODD[at % len(ODD)])
    parts = (*(replace(c, arguments=json.dumps({"path": text})) for c in old.calls),)
    new = replace(old, parts=parts or (Text(text),), origin=None)
    match how:
        case "edit":
            messages[at] = new
        case "remove":
            del messages[at]
        case "replace":
            messages[at] = replace(new, uid=f"m{thread.numbers}")
        case "resend":
            messages[at:] = [replace(new, uid=f"m{thread.numbers}")]
        case "cut":
            messages[at:] = []
    return replace(state, messages=tuple(messages))


@settings(max_examples=4)
@given(
    st.lists(STEP, min_size=8, max_size=24),
    st.integers(0, 3),
    st.sampled_from([1_200, 2_000, 4_000]),
    st.sampled_from([100_000, 5]),
)
def test_every_message_can_be_changed_after_a_compaction(
    steps: list[tuple[str, int, str]], first: int, window: int, newest: int
) -> None:
    """Of every fourth message: nothing that was removed is sent, all else is in the thread once."""
    thread = Thread(Graph(newest=newest, budget=Budget(window=window, max_output=0)))
    state = State()
    try:
        for kind, size, odd in steps:
            state = thread.step(state, kind, size, odd)
        state = thread.call(state)
        before = story_of(thread, state)
        for at in range(first, len(state.messages), 4):
            for how in CHANGES:
                other = changed(thread, state, at, how)
                after = [marker_of(message) for message in other.messages]
                remain = {m.uid for m in other.messages} & {m.uid for m in state.messages}
                story = [*before[: len(before) - len(state.messages)], *after] if remain else after
                request = Message("user", (Text(thread.text(3, "")),))
                other = thread.call(thread.add(other, request))
                thread.check([*story, marker_of(request)])
                thread.graph.restart()
                answer = Message("assistant", (Text(thread.text(3, "\ud83d")),))
                other = thread.call(thread.add(other, answer))
                thread.check([*story, marker_of(request), marker_of(answer)])
    except WindowExceededError:
        return


def story_of(thread: Thread, state: State) -> list[str]:
    """Return the markers of all messages in the thread at a state."""
    assert state.mark is not None
    page = thread.graph.pages()[state.mark]
    return [marker_of(message) for message in thread.graph.said(page.line)]
