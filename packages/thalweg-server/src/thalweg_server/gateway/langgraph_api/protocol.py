"""Rows of a run's journal as events of LangGraph's thread protocol: a pure function of the rows.

Any process gives an event the same number: the microsecond in which its run was started, by the
clock of the database, and then one more for each event of the run. Runs of a thread follow one
another, and no run makes an event in less than a microsecond, so numbers of a thread increase.

Source: https://docs.langchain.com/langsmith/agent-server-event-streaming
"""

import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import Field, field_validator

from thalweg_server.api.graph_runs import BUILT_IN, Body, GraphRun, read_request
from thalweg_server.app.runs import TenantGraphRuns
from thalweg_server.gateway.langgraph_api.frames import Namespace, StreamView, error_of
from thalweg_server.gateway.langgraph_api.message_events import MessageEvents, ThreadEvent
from thalweg_server.gateway.streams import Frame
from thalweg_server.runs.base import Event, RunRecord

MODES = ("values", "messages", "tools", "custom", "lifecycle")
"""The stream modes of a run that the protocol starts."""
CHANNELS = frozenset({*MODES, "updates", "checkpoints", "tasks", "input"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class EventFilter(Body):
    """Which events of a thread a client subscribes to."""

    channels: tuple[str, ...] = Field(min_length=1)
    namespaces: tuple[Namespace, ...] | None = None
    """The beginnings of namespaces; all by default."""
    depth: int | None = Field(default=None, ge=0)
    """Segments that a namespace has after such a beginning at most."""
    since: int | None = Field(default=None, ge=0, lt=1 << 53)
    """The number of the last event that the client has."""

    @field_validator("channels")
    @classmethod
    def _check_channels(cls, channels: tuple[str, ...]) -> tuple[str, ...]:
        for one in channels:
            if one not in CHANNELS and not re.match("custom:.", one):
                known = ", ".join(sorted(CHANNELS))
                problem = f"there is no channel {one!r}; name some of {known}, custom:NAME"
                raise ValueError(problem)
        return channels

    def matches(self, event: ThreadEvent) -> bool:
        """Return whether an event is subscribed to."""
        if event.method.removesuffix(".requested") not in self.channels:
            return False
        return not self.namespaces or any(
            _begins(event.namespace, start)
            and (self.depth is None or len(event.namespace) - len(start) <= self.depth)
            for start in self.namespaces
        )


def _begins(namespace: Namespace, start: Namespace) -> bool:
    """Return whether a namespace begins with another; a segment may omit its task."""
    return len(namespace) >= len(start) and all(
        given in {segment, segment.partition(":")[0]}
        for segment, given in zip(namespace, start, strict=False)
    )


class RunEvents:
    """The events of one run.

    Args:
        run: The run, after it was started.
    """

    def __init__(self, run: RunRecord) -> None:
        self.run = run
        self._number = number_before(run)
        self._timestamp = self._number // 1_000
        self._view = StreamView(run.key.run, ())
        request = read_request(run.request)
        self._graph = request.graph if isinstance(request, GraphRun) else BUILT_IN
        self._writing = MessageEvents()
        self._subgraphs: dict[Namespace, str] = {}
        """The names of those that started and have not ended."""
        self._started: set[Namespace] = set()
        self._requested: set[str] = set()
        """The ids of the interrupts whose requests were made."""

    def frames(self, row: Event, wanted: EventFilter) -> Iterator[Frame]:
        """Yield the events of a row that match a filter and follow its `since`."""
        for event in self._events(row):
            self._number += 1
            if self._number > (wanted.since or 0) and wanted.matches(event):
                yield self._frame(event)

    def close(self) -> None:
        """End the messages that are being written, and drop their events."""
        for _ in self._writing.finish():
            pass

    def _frame(self, event: ThreadEvent) -> Frame:
        id_ = f"{self.run.key.run}:{self._number}"
        if event.method in {"lifecycle", "input.requested"}:
            id_ = f"synth:{id_}"  # the client reads the run from such an id
        params = {"namespace": event.namespace, "timestamp": self._timestamp, "data": event.data}
        if event.node:
            params["node"] = event.node
        whole = {
            "type": "event",
            "event_id": id_,
            "seq": self._number,
            "method": event.method,
            "params": params,
        }
        return Frame(str(self._number), event.method, json.dumps(whole, ensure_ascii=False))

    def _events(self, row: Event) -> Iterator[ThreadEvent]:
        match row.type:
            case "run.started":
                yield self._status("running")
            case "run.resumed":
                yield from self._writing.fail("the run was resumed by another process")
            case "graph":
                data = json.loads(row.data)
                yield from self._emitted(data["mode"], tuple(data["namespace"]), data)
            case "run.interrupted" | "run.cancelled":
                yield from self._requests((), json.loads(row.data).get("questions", ()))
                yield from self._end("interrupted")
            case "run.completed":
                yield from self._end("completed")
            case "run.failed":
                error = error_of(json.loads(row.data)["problem"])["message"]
                yield from self._end("failed", error=error)
            case _:
                pass

    def _emitted(
        self, mode: str, namespace: Namespace, row: Mapping[str, Any]
    ) -> Iterator[ThreadEvent]:
        data = row["data"]
        match mode:
            case "messages":
                yield from self._writing.take(namespace, row)
            case "values" if isinstance(data, dict):
                state = self._view.state(namespace, data)
                yield from self._requests(namespace, state.pop("__interrupt__", None) or ())
                if state:
                    yield ThreadEvent("values", namespace, state)
            case "lifecycle":
                yield from self._subgraph(tuple(data["namespace"]), data)
            case "custom":
                yield ThreadEvent("custom", namespace, {"payload": data})
            case "tools":
                yield ThreadEvent("tools", namespace, data)
                yield from self._writing.result(namespace, data)
            case _ if mode in CHANNELS:
                yield ThreadEvent(mode, namespace, data)
            case _:
                pass

    def _requests(
        self, namespace: Namespace, interrupts: Iterable[Mapping[str, Any]]
    ) -> Iterator[ThreadEvent]:
        for one in interrupts:
            if one["id"] not in self._requested:
                self._requested.add(one["id"])
                value = one["value"]
                data = {"interrupt_id": one["id"], "payload": value, "value": value}
                yield ThreadEvent("input.requested", namespace, data)

    def _subgraph(self, namespace: Namespace, data: Mapping[str, Any]) -> Iterator[ThreadEvent]:
        name = data["graph_name"]
        if data["event"] != "started":
            if self._subgraphs.pop(namespace, None) is not None:
                about = {"event": data["event"], "graph_name": name}
                yield ThreadEvent("lifecycle", namespace, about)
        elif namespace not in self._started:  # another attempt starts it again
            self._started.add(namespace)
            self._subgraphs[namespace] = name
            yield ThreadEvent("lifecycle", namespace, data)

    def _end(self, status: str, **about: str) -> Iterator[ThreadEvent]:
        yield from self._writing.finish()
        for namespace in sorted(self._subgraphs, key=len, reverse=True):
            data = {"event": status, "graph_name": self._subgraphs[namespace]}
            yield ThreadEvent("lifecycle", namespace, data)
        yield self._status(status, **about)

    def _status(self, status: str, **about: str) -> ThreadEvent:
        return ThreadEvent("lifecycle", (), {"event": status, "graph_name": self._graph, **about})


def number_before(run: RunRecord) -> int:
    """Return the number before the first event of a run."""
    return ((run.started or run.created) - _EPOCH) // _MICROSECOND


async def event_frames(
    runs: TenantGraphRuns, thread: str, wanted: EventFilter
) -> AsyncIterator[Frame]:
    """Yield the events of a thread that match a filter and follow its `since`, without end."""
    since = _EPOCH + (wanted.since or 0) * _MICROSECOND
    view: RunEvents | None = None
    try:
        async with aclosing(runs.follow_thread(thread, since=since)) as rows:  # type: ignore[type-var]  # a generator
            async for run, row in rows:
                if view is None or view.run.key != run.key:
                    if view is not None:
                        view.close()
                    view = RunEvents(run if run.started else await runs.get(thread, run.key.run))
                for frame in view.frames(row, wanted):
                    yield frame
                if row.is_end:
                    view = None  # with it, the state of its run
    finally:
        if view is not None:
            view.close()
