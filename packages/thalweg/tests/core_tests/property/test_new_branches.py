"""Conversations that restart in one thread, with runs of the earlier ones still in progress."""

import re
from dataclasses import dataclass, field, replace
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from core_tests.property.threading import Graph, State, WatchedArchive, text_of
from thalweg.engine.entries import Message, Text, ToolCall

CONVERSATION = re.compile(r"c(\d+)-")
"""What each message names."""


@dataclass(slots=True)
class Run:
    """A process with a run of one conversation."""

    graph: Graph
    conversation: int
    newest: list[State]
    """The checkpoints of the conversation; the last one is the newest."""
    name: str
    state: State | None = None
    said: int = 0

    def step(self, *, ends: bool) -> None:
        """Begin a run, or take it one model call further."""
        if self.state is None:
            self._put(self.newest[-1].plus(self._message("user")))
            return
        before = self.state
        after = self.graph.again(lambda: self.graph.call(before))
        sent = " ".join(map(text_of, self.graph.requests[-1]))
        assert {*CONVERSATION.findall(sent)} == {str(self.conversation)}
        if ends:
            last = after.plus(self._message("assistant"))
            self._put(self.graph.again(lambda: self.graph.end(last)))
            self.state = None
            return
        called = self._message("assistant")
        call = ToolCall(called.uid, "read", f'"{called.text}"')
        result = replace(self._message("tool"), answers=call.id)
        self._put(after.plus(replace(called, parts=(call,)), result))

    def _put(self, state: State) -> None:
        self.state = state
        self.newest.append(state)

    def _message(self, role: Literal["user", "assistant", "tool"]) -> Message:
        self.said += 1
        words = f"c{self.conversation}-{self.name}{self.said}" + " and so on" * (self.said % 40)
        return Message(role, (Text(words),), uid=f"{role}-{words[:20]}")


@dataclass(slots=True)
class Thread:
    """One log; the checkpoints of each conversation that began in it, and its runs."""

    archive: WatchedArchive = field(default_factory=WatchedArchive)
    checkpoints: list[list[State]] = field(default_factory=lambda: [[State()]])
    runs: list[Run] = field(default_factory=list)

    def begin(self) -> None:
        """Begin a run of the newest conversation, in a process of its own."""
        number = len(self.checkpoints) - 1
        run = Run(Graph(self.archive), number, self.checkpoints[-1], f"r{len(self.runs)}-")
        self.runs.append(run)
        run.step(ends=False)

    def delete(self) -> None:
        """Delete the checkpoints; the runs in progress continue."""
        self.checkpoints.append([State()])


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["begin", "go on", "go on", "go on", "delete"]),
        st.integers(0, 5),
        st.booleans(),
        st.integers(0, 8),
    ),
    min_size=4,
    max_size=30,
)


@given(STEPS)
def test_no_run_is_sent_a_word_of_another_conversation(
    steps: list[tuple[str, int, bool, int]],
) -> None:
    """Regardless of who logs first, at any write, and though all would join what others logged."""
    thread = Thread()
    thread.begin()
    for step, which, ends, intrudes_at in steps:
        if step == "delete":
            thread.delete()
            thread.begin()
            continue
        if step == "begin":
            thread.begin()
            continue
        run, other = (thread.runs[(which + k) % len(thread.runs)] for k in (0, 1))
        intrudes = [thread.archive.writes.count + intrudes_at] if intrudes_at else []

        def happens(other: Run = other, *, ends: bool = ends, at: list[int] = intrudes) -> None:
            if at and thread.archive.writes.count >= at[0]:
                at.clear()
                other.step(ends=not ends)

        thread.archive.writes.happens = happens if other is not run else None
        run.step(ends=ends)
        thread.archive.writes.happens = None
    for run in thread.runs:
        run.step(ends=True)
    uids = [message.uid for message in thread.archive.messages(run.graph.key)]
    assert len(set(uids)) == len(uids)
