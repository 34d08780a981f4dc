"""The step of a parent's graph in which subagents run concurrently, and their writes to it.

A key that takes one value per step gets that of the later call (`LaterValue`), else that of the
first task to end: LangGraph would end the run if two tasks wrote it.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final
from uuid import uuid4
from weakref import WeakKeyDictionary

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.channels import BaseChannel, LastValue

from thalweg.engine.undocumented import REPLAY_KEY, RESUMING_KEY, SEND_KEY, loop_of
from thalweg_agent.prompts import prompt
from thalweg_agent.subagents.child_writes import Writes, accumulates, is_overwrite, is_same

NOTE: Final = "__thalweg_writes"
"""Name of notes among the writes of a step; no channel has it."""


class LaterValue(LastValue[Any]):
    """Stores the last value; of several written in one step, that of the later tool call.

    `create_deep_agent` stores keys without a reducer so. With `create_agent`, annotate a key that
    several subagents may write at once.

    Example:
        >>> from typing import Annotated, NotRequired
        >>> from langchain.agents import AgentState
        >>> class Draft(AgentState):
        ...     title: NotRequired[Annotated[str, LaterValue]]
    """

    __slots__ = ()

    def update(self, values: Sequence[Any]) -> bool:
        """Store the last of several values."""
        return super().update(values[-1:])


@dataclass(eq=False, slots=True)
class RunningTask:
    """A task of a step."""

    call_id: str
    single: dict[str, Any] = field(default_factory=dict)
    """Values of keys that take one write per step."""
    over: "Future[None]" = field(default_factory=Future)
    """Done when the task's subagent has ended, or was interrupted."""


@dataclass(slots=True)
class _Step:
    number: int
    tasks: dict[str, RunningTask] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    """The call whose value a key without `LaterValue` keeps."""


_STEPS: WeakKeyDictionary[Any, _Step] = WeakKeyDictionary()
"""The running step of each graph that has subagents, by its loop."""
_LOCK = Lock()


class ParentStep:
    """A task's part in the step of its parent.

    Args:
        configurable: That of the tool call.
        call_id: The id of the call.
        messages: The parent's messages; the newest answer has the calls of the step.
    """

    def __init__(
        self, configurable: Mapping[str, Any], call_id: str, messages: Sequence[AnyMessage]
    ) -> None:
        self._configurable = configurable
        self._loop = loop_of(configurable)
        self._task = RunningTask(call_id)
        answer = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
        calls = answer.tool_calls if answer else []
        self._order = {str(call["id"]): place for place, call in enumerate(calls)}
        self.is_resumed = bool(configurable.get(RESUMING_KEY)) and not configurable.get(REPLAY_KEY)
        with _LOCK:
            self._step = self._joined()
            self._step.tasks[call_id] = self._task

    def _joined(self) -> _Step:
        if self._loop is None:
            return _Step(0)
        step = _STEPS.get(self._loop)
        if step is None or step.number != self._loop.step:
            step = _STEPS[self._loop] = _Step(self._loop.step)
        return step

    @property
    def channels(self) -> Mapping[str, BaseChannel[Any, Any, Any]] | None:
        """The channels of the parent's graph; `None` outside of a graph."""
        return None if self._loop is None else self._loop.channels

    def note(self) -> tuple[Writes, Mapping[str, Any]]:
        """Return the task's writes from before it was interrupted, and the keys' values then."""
        pending = self._loop.checkpoint_pending_writes if self.is_resumed and self._loop else ()
        notes = [note for _, name, note in list(pending) if name == NOTE]
        own = [note for note in notes if note["call_id"] == self._task.call_id]
        if not own:
            return [], {}
        newest = max(own, key=lambda note: len(note["writes"]))
        return [(key, value) for key, value in newest["writes"]], newest["values"]

    def leave_note(self, writes: Writes, values: Mapping[str, Any]) -> None:
        """Store the writes of an interrupted task next to the step's checkpoint."""
        if self._loop is not None and writes:
            own = {key: values[key] for key, _ in writes if key in values}
            note = {"call_id": self._task.call_id, "writes": [[*w] for w in writes], "values": own}
            self._loop.put_writes(str(uuid4()), [(NOTE, note)])

    def write(self, writes: Mapping[str, list[Any]]) -> dict[str, Any]:
        """Make the task's changes of the parent's state.

        Args:
            writes: Writes by key, as of one step.

        Returns:
            Those with one write per key, for the result of the call. Others are sent to their
            channels: a result has one value per key.
        """
        made: dict[str, Any] = {}
        channels = self.channels
        with _LOCK:
            for key, values in writes.items():
                channel = None if channels is None else channels.get(key)
                several = accumulates(channel)
                if not several or is_overwrite(values[-1]):
                    self._task.single[key] = values[-1]
                    if not isinstance(channel, LaterValue) and not self._keeps(key):
                        continue
                if len(values) == 1 or SEND_KEY not in self._configurable:
                    made[key] = values[-1]
                else:
                    self._configurable[SEND_KEY]([(key, value) for value in values])
        return made

    def _keeps(self, key: str) -> bool:
        """Return whether a key without `LaterValue` keeps this task's value."""
        if key not in self._step.kept:
            earlier = next(iter(self._written_before(key)), self._task.call_id)
            self._step.kept[key] = earlier
        return self._step.kept[key] == self._task.call_id

    def _written_before(self, key: str) -> dict[str, Any]:
        """Return the values that ended calls of this step wrote to a key, by the call."""
        found: dict[str, Any] = {}
        for task in list(self._loop.tasks.values()) if self._loop is not None else ():
            written = list(task.writes)
            values = [value for name, value in written if name == key]
            calls = [call for name, value in written for call in _answered(name, value)]
            if values and self._task.call_id not in calls:
                found[calls[0] if calls else task.name] = values[-1]
        return found

    def leave(self) -> None:
        """Mark the task's subagent as ended; may be called again."""
        if not self._task.over.done():
            self._task.over.set_result(None)

    def running(self) -> list["Future[None]"]:
        """Return the ends of other tasks of this step that run now, if a conflict is possible."""
        if not self._task.single:
            return []
        with _LOCK:
            others = [task.over for task in self._step.tasks.values() if task is not self._task]
        return [over for over in others if not over.done()]

    def conflicts(self) -> list[str]:
        """Return a line for each key that another task of the step wrote, with the value kept."""
        lines = []
        with _LOCK:
            for key, own in self._task.single.items():
                written = self._written_before(key) | {
                    uid: task.single[key]
                    for uid, task in self._step.tasks.items()
                    if key in task.single
                }
                others = [uid for uid in written if uid != self._task.call_id]
                if all(is_same(written[uid], own) for uid in others):
                    continue
                later = max(written, key=lambda uid: self._order.get(uid, -1))
                kept = self._step.kept.get(key, later)
                of = "this call" if kept == self._task.call_id else f"call {kept}"
                line = prompt("task_key_conflict")
                lines.append(line.render(key=key, others=", ".join(others), kept=of))
        return lines


def _answered(name: str, value: object) -> Iterator[str]:
    for message in value if name == "messages" and isinstance(value, list) else ():
        if isinstance(message, ToolMessage):
            yield message.tool_call_id
