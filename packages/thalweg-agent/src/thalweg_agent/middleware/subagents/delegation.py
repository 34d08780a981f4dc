"""One call of the tool `task`: the subagent's run, its events, and its report.

Events are emitted to LangGraph's custom stream, to `logging` (the logger is `thalweg.subagents`)
and to OpenTelemetry. No event contains text of a task or a report; the log has their first lines at
DEBUG.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, Protocol
from uuid import uuid4
from weakref import WeakKeyDictionary

from langchain.tools import ToolRuntime
from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.runnables import Runnable
from langgraph.errors import GraphBubbleUp, GraphRecursionError
from langgraph.types import Command

from thalweg.context.turn.effects import Flow, SyncOrAsync
from thalweg.context.turn.threads import child_name
from thalweg.engine.tracing import trace
from thalweg.engine.undocumented import loop_of
from thalweg_agent.backends.concurrency.child_files import RunningSubagent, child_of
from thalweg_agent.backends.concurrency.state_channel import GONE
from thalweg_agent.prompts import prompt
from thalweg_agent.subagents.child_writes import ChildWrites, Writes, shows_writes
from thalweg_agent.subagents.joining import (
    by_key,
    fork_task,
    forked,
    is_shared,
    isolated,
    new_artifacts,
)
from thalweg_agent.subagents.ledger import Status, Task, brief, iso
from thalweg_agent.subagents.parent_step import ParentStep
from thalweg_agent.subagents.progress import Progress
from thalweg_agent.subagents.report import SubagentReport, account, answer_of, footer, silence
from thalweg_agent.subagents.running import CONFIG, SubagentRun
from thalweg_agent.subagents.specs import Spec

_log = logging.getLogger("thalweg.subagents")
Kind = Literal[
    "task_started",
    "task_running",
    "task_completed",
    "task_failed",
    "task_cancelled",
    "task_timed_out",
]
"""Type of an event; the last four end a task."""
Write = Callable[[Any], None]
"""Writes to the custom stream of the parent's run."""
TASK = "task"
SENT: WeakKeyDictionary[Any, Mapping[str, list[AnyMessage]]] = WeakKeyDictionary()
"""The messages sent to the model before a fork's call, by the loop of the run and the call: no
other run reads them, and no stream or checkpoint has them."""
_FINISHED: dict[Status, Kind] = {
    "completed": "task_completed",
    "completed without an answer": "task_completed",
    "partial": "task_completed",
    "timed_out": "task_timed_out",
    "failed": "task_failed",
    "cancelled": "task_cancelled",
}
_NO_MESSAGES = (
    "CompiledSubAgent must return a state containing a 'messages' key. Custom StateGraphs used "
    "with CompiledSubAgent should include 'messages' in their state schema to communicate results "
    "back to the main agent."
)


def emit(write: Write, kind: Kind, task_id: str, subagent: str, **more: Any) -> None:  # noqa: ANN401
    """Emit one event to the stream, the log and the trace."""
    event = {"type": kind, "task_id": task_id, "subagent": subagent, **more}
    write(event)
    level = logging.DEBUG if kind == "task_running" else logging.INFO
    if kind in {"task_failed", "task_timed_out"}:
        level = logging.WARNING
    if _log.isEnabledFor(level):
        _log.log(level, "%s", sentence(event), extra={"thalweg": event})
    trace(event)


def sentence(event: dict[str, Any]) -> str:
    """Render an event as one line for a person."""
    happened = str(event["type"]).removeprefix("task_").replace("_", " ")
    text = f"subagent {event['subagent']}, task {event['task_id']}: {happened}"
    if event["type"] == "task_started" and event.get("thread"):
        text += f" in thread {event['thread']}"
    if "turn" in event:
        most = f"/{event['turn_limit']}" if event["turn_limit"] else ""
        text += f", turn {event['turn']}{most}, {event['tokens']} tokens, {event['seconds']} s"
    if event.get("tool"):
        text += f", last tool {event['tool']}"
    if event.get("artifacts"):
        text += f", artifacts: {', '.join(event['artifacts'])}"
    return text


class TaskOwner(Protocol):
    """Attributes and methods of the owning middleware that the tool needs."""

    specs: dict[str, Spec]
    private_state_keys: frozenset[str]
    max_delegations: int | None

    def runnable(self, spec: Spec, response_format: object = None) -> Runnable[Any, Any]:
        """Return the runnable of a subagent."""


@dataclass(slots=True)
class Delegation:
    """One call of the tool: the child's run and its report."""

    middleware: TaskOwner
    spec: Spec
    runtime: ToolRuntime[Any, Any]
    progress: Progress
    child: Runnable[Any, Any]
    description: str
    instructions: str
    inputs: dict[str, Any] = field(init=False)
    thread: str | None = field(init=False)
    files: RunningSubagent = field(init=False)
    """Its part in the files of its parent's run."""
    changes: dict[str, Any] = field(init=False)
    """Update of the parent's state with its changes of files."""
    step: ParentStep = field(init=False)
    child_writes: ChildWrites = field(init=False)
    state_update: dict[str, Any] = field(default_factory=dict)
    """Its changes of other keys of the parent's state."""
    failure: Exception | None = None
    """The child's own failure, if it failed."""
    _started: float = field(default_factory=time.monotonic)
    _started_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        state, private = self.runtime.state, self.middleware.private_state_keys
        configurable = (self.runtime.config or {}).get("configurable", {})
        task = self.instructions or self.description
        if not self.spec.is_fork:
            self.inputs = isolated(state, task, private)
        else:
            loop = loop_of(configurable)
            sent = None if loop is None else SENT.get(loop, {}).get(self.call_id)
            is_own = self.spec.runnable is None
            self.inputs = forked(state, sent, task, None if is_own else private)
        self.progress.knows(self.inputs["messages"])
        self.thread = child_name(self.runtime.config or {})
        self.files = child_of(name=self.spec.name, call_id=self.call_id)
        self.step = ParentStep(configurable, self.call_id, state.get("messages", []))
        written, values = self.step.note()
        before = {**self.inputs, **values}
        resumed = self.step.is_resumed
        self.child_writes = ChildWrites(self.child, self._is_shared, before, resumed, written)

    def _is_shared(self, key: str) -> bool:
        if key == "files":  # live files are shared as they change
            return not self.files.is_live
        return is_shared(key, self.middleware.private_state_keys)

    @property
    def call_id(self) -> str:
        """The id of the call, which names the task."""
        return self.runtime.tool_call_id or ""

    @property
    def task(self) -> str:
        """The last message of the child's input."""
        task = self.instructions or self.description
        return fork_task(task) if self.spec.is_fork else task

    def child_run(self, files: RunningSubagent) -> SubagentRun:
        """Return the run of the child with its part of the files."""
        config, writes = files.config(CONFIG), self.child_writes
        return SubagentRun(self.child, self.inputs, config, self.progress, writes, self.emit_turn)

    def begin(self) -> None:
        """Emit that it begins; after a crash or an interrupt, that it resumes."""
        self._emit("task_started", resumed=self.step.is_resumed)
        self._log_content("task", self.description or self.instructions)

    def emit_turn(self) -> None:
        """Emit that the child has completed a turn."""
        self._emit("task_running", tool=self.progress.last_tool, **self._figures())

    def _figures(self) -> dict[str, Any]:
        return {
            "turn": self.progress.turns,
            "turn_limit": self.progress.limits.turns,
            "tokens": self.progress.tokens,
            "seconds": self._seconds(),
        }

    def _seconds(self) -> float:
        return round(time.monotonic() - self._started, 3)

    def _emit(self, kind: Kind, **more: Any) -> None:  # noqa: ANN401 (plain values)
        write = self.runtime.stream_writer
        emit(write, kind, self.call_id, self.spec.name, thread=self.thread, **more)

    def _log_content(self, what: str, text: str) -> None:
        if _log.isEnabledFor(logging.DEBUG):
            line = brief(text)
            _log.debug("subagent %s, task %s: %s: %s", self.spec.name, self.call_id, what, line)

    def apply_writes(self) -> None:
        """Make the child's changes of the parent's state: those of the steps that it completed."""
        writes: Writes = list(self.child_writes.applied)
        if not shows_writes(self.child) and isinstance(self.progress.values, Mapping):
            writes = self.child_writes.from_result(self.progress.values, self.step.channels or {})
        self.state_update = self.step.write(by_key(writes, self.step.channels))
        self.step.leave()

    def wait_for_concurrent_tasks(self) -> Flow[None]:
        """Wait for concurrent tasks that could write a key that this one wrote.

        The step does not end before them, and each report can name the value that is kept.
        """
        if running := self.step.running():
            yield SyncOrAsync(partial(wait, running), partial(_all_done, running))

    def report(self) -> SubagentReport:
        """Return the report of a run that ended, failed or reached a limit.

        Raises:
            ValueError: A runnable returned something else than a state with messages.
        """
        if self.failure is not None:
            return self._report_of_failure(self.failure)
        limit, values = self.progress.stopped, self.progress.values
        if limit is None and (not isinstance(values, Mapping) or "messages" not in values):
            raise ValueError(_NO_MESSAGES)
        values = values or {}
        files = self._collect_file_changes(values.get("files"))
        status: Status = "completed"
        is_json = False
        if limit is not None:
            status = "timed_out" if limit == "seconds" else "partial"
            body = account(self.progress, files)
            variables = {"subagent": self.spec.name, "limit": self._limit(limit), "body": body}
            answer = prompt("task_partial").render(**variables)
        else:
            answer, is_json = answer_of(values, self.task)
            answer = answer or self.spec.given.get("no_answer", "")
            if not answer:
                status = "completed without an answer"
                body, why = account(self.progress, files), silence(values["messages"])
                answer = prompt("task_silent").render(subagent=self.spec.name, why=why, body=body)
            elif not is_json:
                answer += footer(self.progress, files)
        return self._build_report(status, answer, is_json=is_json, files=files, limit=limit)

    def _build_report(
        self,
        status: Status,
        answer: str,
        *,
        is_json: bool = False,
        **more: Any,  # noqa: ANN401
    ) -> SubagentReport:
        earlier_artifacts = self.runtime.state.get("artifacts")
        conflicts = self.step.conflicts()
        lines = "" if is_json or not conflicts else "\n\n" + "\n".join(conflicts)
        return SubagentReport(
            self.spec.name,
            self.call_id,
            status,
            answer + lines + self.files.notices(),
            denied=dict(self.progress.denied),
            conflicts=tuple(conflicts),
            artifacts=tuple(new_artifacts(self.progress.values or {}, earlier_artifacts)),
            turns=self.progress.turns,
            tokens=self.progress.tokens,
            seconds=self._seconds(),
            thread=self.thread,
            **more,
        )

    def _limit(self, name: str) -> str:
        most = getattr(self.progress.limits, name, None)
        return name if most is None else f"{most:g} {name[:-1] if most == 1 else name}"

    def _outcome(self, report: SubagentReport) -> str:
        """Return the outcome for the ledger; for a stopped run, its position and the cause."""
        if report.limit is None:
            return report.answer
        position = self.progress.texts[-1] if self.progress.texts else f"{report.turns} turns taken"
        return f"stopped at {self._limit(report.limit)}: {position}"

    def _collect_file_changes(self, files: object) -> tuple[str, ...]:
        """Take over its changes of files, and return the paths, with those that its tools reported.

        Args:
            files: Those of its last state, if it reached one.
        """
        given = self.inputs.get("files")
        after = files if isinstance(files, Mapping) else None
        self.changes = self.files.update(after, given=given)
        changed = dict(self.changes.get("files", {}))
        gone = changed.pop(GONE, {})
        return tuple(dict.fromkeys([*self.progress.files, *changed, *gone]))

    def finish(self, report: SubagentReport) -> Command[Any]:
        """Return the parent's update: the report, and the child's changes of the state."""
        artifacts = {"artifacts": [*report.artifacts]} if report.artifacts else {}
        update = self.state_update | (self.changes if self.files.is_live else {}) | artifacts
        denied = {"denied": [*report.denied]} if report.denied else {}
        figures = self._figures() | denied | artifacts
        self._emit(_FINISHED[report.status], status=report.status, **figures)
        self._log_content("final output", report.answer)
        message = ToolMessage(
            report.answer,
            tool_call_id=self.call_id,
            name=TASK,
            id=str(uuid4()),
            artifact=report.plain(),
            status="error" if report.status == "failed" else "success",
        )
        entry: Task = {
            "status": report.status,
            "subagent": self.spec.name,
            "description": brief(self.description or self.instructions),
            "started_at": iso(self._started_at),
            "ended_at": iso(datetime.now(UTC)),
            "report": brief(self._outcome(report)),
            "report_id": str(message.id),
        }
        if self.thread is not None:
            entry["thread"] = self.thread
        tasks = {self.call_id: entry}
        return Command(update={**update, "messages": [message], "tasks": tasks})

    def record_failure(self, error: BaseException) -> None:
        """Record the exception of a child, if it is the child's own failure.

        Raises:
            BaseException: It is LangGraph's exit from a step, or the run's cancellation.
        """
        if isinstance(error, GraphRecursionError):
            self.progress.stopped = "steps (recursion_limit)"
            return
        if isinstance(error, GraphBubbleUp) or not isinstance(error, Exception):
            if isinstance(error, GraphBubbleUp):
                self.step.leave_note(self.child_writes.applied, self.progress.values or {})
            else:
                with suppress(RuntimeError):  # the loop that streams may be closed
                    self._emit("task_cancelled", **self._figures())
            raise error
        _log.warning("subagent %s, task %s failed", self.spec.name, self.call_id, exc_info=error)
        self.failure = error

    def _report_of_failure(self, error: Exception) -> SubagentReport:
        kind = type(error).__name__
        answer = prompt("task_failed").render(subagent=self.spec.name, kind=kind)
        files = self._collect_file_changes(None)
        answer += footer(self.progress, files)
        return self._build_report("failed", answer, files=files, error=f"{kind}: {error}"[:500])


async def _all_done(futures: Sequence["Future[None]"]) -> None:
    # A cancelled wait cancels no future of another task.
    await asyncio.gather(*(asyncio.shield(asyncio.wrap_future(each)) for each in futures))
