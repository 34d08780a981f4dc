"""Writes of a subagent to the channels of its own graph, in the order in which they were applied.

A parent repeats these writes on its own state, so its reducers receive the child's writes, without
earlier ones. A stream of LangGraph has the writes of each task when the task ends. They are
in effect after the step, sorted by the task's path: nodes by name, then calls in their order. A
step that was interrupted is not applied; a resumed run streams the writes of its ended tasks again.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

from langchain_core.runnables import Runnable, RunnableBinding
from langgraph.channels import BaseChannel, BinaryOperatorAggregate, DeltaChannel, Topic
from langgraph.errors import EmptyChannelError
from langgraph.pregel import Pregel
from langgraph.types import Overwrite

Write = tuple[str, Any]
"""A channel's name, and a value written to it."""
Writes = list[Write]
_ABSENT: Final = object()
_ACCUMULATING: Final = (BinaryOperatorAggregate, DeltaChannel, Topic)
"""Channels that take several writes in one step."""
_OVERWRITE: Final = "__overwrite__"
"""Mark of an `Overwrite` that was serialized as JSON."""


def graph_of(runnable: Runnable[Any, Any]) -> Pregel[Any, Any, Any, Any] | None:
    """Return the graph that a runnable is, bound arguments aside; `None` for any other runnable."""
    bound: object = runnable
    while isinstance(bound, RunnableBinding):
        bound = bound.bound
    return bound if isinstance(bound, Pregel) else None


@dataclass(slots=True)
class ChildWrites:
    """Writes of a subagent to the keys that it shares with its parent.

    Args:
        child: The subagent.
        is_shared: Whether a key of its state is shared.
        before: The state that it began with.
        is_resumed: Whether its run resumes: the stream then begins with its state.
    """

    child: Runnable[Any, Any]
    is_shared: Callable[[str], bool]
    before: Mapping[str, Any]
    is_resumed: bool = False
    applied: Writes = field(default_factory=list)
    """Writes of completed steps."""
    _ended: list[tuple[str | None, str, Writes]] = field(default_factory=list)
    """Id and name of each ended task of the running step, and its writes."""
    _begun: dict[str, tuple[str, bool]] = field(default_factory=dict)
    """Tasks of the running step by id, in the graph's order: name, and whether it is a call."""
    _update: Any = None
    """The newest update, whose task is named by the next item of the stream."""

    def see(self, kind: str, item: Any) -> None:  # noqa: ANN401 (any graph's)
        """Process an item of the graph's stream, in the modes `updates`, `tasks` and `values`."""
        if not isinstance(item, Mapping):
            return
        if kind == "updates":
            if "__metadata__" in item:  # of a task that ended before the run was interrupted
                self._end(None, item)
            else:
                self._update = item
        elif kind == "tasks" and "triggers" in item:
            self._begun[item["id"]] = item["name"], "__pregel_push" in item["triggers"]
        elif kind == "tasks":
            update, self._update = self._update, None
            # The result of a function that a node calls is no write.
            if update is not None and "__return__" not in (item.get("result") or {}):
                self._end(item["id"], update)
        elif kind == "values" and "__interrupt__" not in item:
            self._apply()
            if self.is_resumed:
                self.is_resumed = False
                self._catch_up(item)

    def _end(self, task: str | None, update: Mapping[str, Any]) -> None:
        graph = graph_of(self.child)
        for name, written in update.items():
            if graph is None or name not in graph.nodes:
                continue
            parts = written if isinstance(written, list) else [written]
            shared: Writes = [
                write
                for part in parts
                if isinstance(part, Mapping)
                for write in part.items()
                if self.is_shared(write[0])
            ]
            self._ended.append((task, name, shared))

    def _apply(self) -> None:
        """Take the writes of a completed step, in the order of its tasks."""
        if self._ended:
            order = {task: place for place, task in enumerate(self._begun)}
            known = {task for task, *_ in self._ended}
            rest = {
                name: iter([uid for uid, (of, _) in self._begun.items() if of == name])
                for _, name, _ in self._ended
            }
            placed = []
            for uid, name, writes in self._ended:
                task = uid or next((each for each in rest[name] if each not in known), "")
                is_call = self._begun.get(task, (name, False))[1]
                place = order.get(task, len(order)) if is_call else 0
                placed.append(((is_call, "" if is_call else name, place), writes))
            placed.sort(key=lambda each: each[0])
            self.applied += [write for _, writes in placed for write in writes]
        self._ended.clear()
        self._begun.clear()

    def _catch_up(self, state: Mapping[str, Any]) -> None:
        """Add the writes from before the run was killed, derived from the resulting state alone."""
        graph = graph_of(self.child)
        for key, value in state.items():
            if self.is_shared(key) and graph is not None:
                channel = graph.channels.get(key)
                channel = channel if isinstance(channel, BaseChannel) else None
                before = self.before.get(key, _value(channel))
                if not is_same(value, before):
                    self.applied.append((key, change(before, value, channel, or_replace=True)))

    def from_result(
        self, result: Mapping[str, Any], channels: Mapping[str, BaseChannel[Any, Any, Any]]
    ) -> Writes:
        """Return the writes of a runnable that streams none: its result without its input.

        Args:
            result: Its result.
            channels: The channels of its parent's graph, whose reducers verify the difference.
        """
        writes: Writes = []
        for key, value in result.items():
            if self.is_shared(key):
                before = self.before.get(key, _ABSENT)
                if not is_same(value, before):
                    writes.append((key, change(before, value, channels.get(key))))
        return writes


def shows_writes(child: Runnable[Any, Any]) -> bool:
    """Return whether a runnable streams its writes by key: a graph whose state has keys."""
    graph = graph_of(child)
    return graph is not None and not isinstance(graph.output_channels, str)


def change(
    before: Any,  # noqa: ANN401 (any state's)
    after: Any,  # noqa: ANN401
    channel: BaseChannel[Any, Any, Any] | None,
    *,
    or_replace: bool = False,
) -> Any:  # noqa: ANN401
    """Return a write that turns one value of a channel into another.

    Each candidate (the appended, added or changed part, and the new value itself) is verified with
    the channel's own reducer.

    Args:
        before: The value before.
        after: The value after.
        channel: The channel; `None` if unknown.
        or_replace: Whether to return an `Overwrite` of the new value if no candidate is right. If
            false, the new value is returned as a write of its own, which removes nothing.
    """
    if not isinstance(channel, _ACCUMULATING):
        return after
    for candidate in _candidates(before, after):
        try:
            folded = _folded(channel, before, candidate)
        except Exception:  # noqa: BLE001,S112 (a reducer of the user's, with a value it never had)
            continue
        if is_same(folded, after):
            return candidate
    return Overwrite(after) if or_replace and not isinstance(channel, Topic) else after


def _candidates(before: Any, after: Any) -> Iterator[Any]:  # noqa: ANN401
    match before, after:
        case (list() | tuple() | str(), list() | tuple() | str()) if type(before) is type(after):
            if is_same(after[: len(before)], before):
                yield after[len(before) :]
        case dict(), dict():
            changed = {k: v for k, v in after.items() if not is_same(v, before.get(k, _ABSENT))}
            yield changed | {key: None for key in before if key not in after}
        case (set() | frozenset(), set() | frozenset()):
            yield after - before
        case (int() | float() | complex(), int() | float() | complex()):
            yield after - before
    yield after


def _folded(channel: BaseChannel[Any, Any, Any], before: Any, write: Any) -> Any:  # noqa: ANN401
    # Copies: a reducer may change its arguments.
    made = channel.copy() if before is _ABSENT else channel.from_checkpoint(deepcopy(before))
    made.update([deepcopy(write)])
    return made.get()


def _value(channel: BaseChannel[Any, Any, Any] | None) -> Any:  # noqa: ANN401
    """Return the value of a channel before any write."""
    try:
        if isinstance(channel, DeltaChannel):
            return channel.from_checkpoint(None).get()
        return _ABSENT if channel is None else channel.get()
    except EmptyChannelError:
        return _ABSENT


def for_one_step(writes: list[Any], channel: BaseChannel[Any, Any, Any] | None) -> list[Any]:
    """Return writes of several steps as writes of one step, with the same result.

    A channel that accumulates receives all writes of a step, any other only the last; of writes
    with an `Overwrite`, only that one is kept.
    """
    if not isinstance(channel, _ACCUMULATING):
        return writes[-1:]
    last = max((k for k, write in enumerate(writes) if is_overwrite(write)), default=None)
    if last is None:
        return writes
    if last == len(writes) - 1:
        return writes[-1:]
    folded = channel.copy()
    for write in writes[last:]:
        folded.update([deepcopy(write)])
    return [Overwrite(folded.get())]


def is_overwrite(write: object) -> bool:
    """Return whether a write replaces a channel's value, in any form that LangGraph accepts."""
    if isinstance(write, Mapping):
        return write.keys() == {_OVERWRITE} or (
            write.get("type") == _OVERWRITE and "value" in write
        )
    return isinstance(write, Overwrite)


def accumulates(channel: BaseChannel[Any, Any, Any] | None) -> bool:
    """Return whether a channel takes several writes in one step."""
    return isinstance(channel, _ACCUMULATING)


def is_same(value: object, before: object) -> bool:
    """Return whether two values are equal; arrays, whose comparison is an array, are not."""
    return value is before or (value == before) is True
