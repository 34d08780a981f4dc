"""The tool `task`: a call of a parent's model, from its arguments to the child's report."""

import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol
from uuid import uuid4

from langchain.tools import ToolRuntime
from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp, GraphRecursionError
from langgraph.types import Command
from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from thalweg.agent.subagents.events import Kind, tell
from thalweg.agent.subagents.joining import (
    brought_back,
    fork_task,
    forked,
    handed_down,
    new_artifacts,
)
from thalweg.agent.subagents.ledger import Status, Task, brief, iso, place_of
from thalweg.agent.subagents.progress import ACTIVE, Progress
from thalweg.agent.subagents.report import SubagentReport, account, answer_of, footer
from thalweg.agent.subagents.running import CONFIG, SubagentRun, arun_child, run_child
from thalweg.agent.subagents.specs import Spec
from thalweg.agent.tools.ready import ReadyTool
from thalweg.backends.concurrency.child_files import RunningSubagent, child_of
from thalweg.backends.concurrency.state_channel import GONE
from thalweg.backends.protocol import BackendProtocol
from thalweg.engine.compaction.plan import REPORT_CHARS
from thalweg.engine.prompts import prompt
from thalweg.middleware.turn.effects import Either, Flow, ToolResult, both
from thalweg.middleware.turn.thread_names import child_name

_log = logging.getLogger("thalweg.subagents")
TASK = "task"
DELEGATIONS = "thalweg_delegations"
"""Key of the state that counts the delegations of a run, where they are limited."""
FOLDER = "/subagents"
"""Folder in the parent's backend for reports that are too long for its context."""
SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY = "__deepagents_subagent_response_format"
"""Key of a config's `configurable` that asks for an answer in a form of its own."""
_FINISHED: dict[Status, Kind] = {
    "completed": "task_completed",
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


_ASKS = {
    name: prompt(f"task_{name}").render() for name in ("description", "prompt", "type", "turns")
}


class TaskToolSchema(BaseModel):
    """What a model may say when it hands out a task."""

    description: str = Field(description=_ASKS["description"])
    prompt: str = Field(default="", description=_ASKS["prompt"])
    subagent_type: str = Field(default="general-purpose", description=_ASKS["type"])
    max_turns: int = Field(default=0, ge=0, description=_ASKS["turns"])

    @model_validator(mode="before")
    @classmethod
    def _has_no_other_key(cls, given: object) -> object:
        # `extra="forbid"` would refuse what LangGraph adds to the model's arguments, and its error
        # would not explain where the instructions belong.
        if isinstance(given, Mapping):
            errors = [
                InitErrorDetails(type="value_error", loc=(key,), input=value, ctx={"error": why})
                for key, value in given.items()
                if key not in {*cls.model_fields, "runtime"}
                for why in [ValueError(prompt("task_unknown_argument").render(name=repr(key)))]
            ]
            if errors:
                raise ValidationError.from_exception_data(cls.__name__, errors)
        return given


class _Owner(Protocol):
    """What the tool has to know of the middleware that it belongs to."""

    specs: dict[str, Spec]
    private_state_keys: frozenset[str]
    max_delegations: int | None

    @property
    def writable(self) -> BackendProtocol | None: ...

    def runnable(self, spec: Spec, response_format: object = None) -> Runnable[Any, Any]: ...

    def sent_before(self, call_id: str) -> list[AnyMessage] | None: ...


def task_tool(house: _Owner, description: str) -> BaseTool:
    """Make the tool, sync and async, in both shapes of the call.

    A call is `task(description, subagent_type)`, or `task(description, prompt, subagent_type,
    max_turns)`, where the description only names the task.
    """

    def delegate(
        description: str,
        runtime: ToolRuntime[Any, Any],
        subagent_type: str = "general-purpose",
        prompt: str = "",
        max_turns: int = 0,
    ) -> Flow[ToolResult]:
        run = _prepare(house, runtime, description, prompt, subagent_type, max_turns)
        if isinstance(run, ToolMessage):
            return run
        try:
            with run.files as files:
                child = run.inside(files)
                yield Either(partial(run_child, child), partial(arun_child, child))
        except BaseException as error:  # noqa: BLE001 (a run's edge; what is no failure goes on)
            return run.died(error)
        return run.ended((yield from run.shortened(run.report())))

    task, atask = both(delegate)
    return ReadyTool(
        name=TASK,
        description=description,
        func=task,
        coroutine=atask,
        args_schema=TaskToolSchema,
    )


def _prepare(
    house: _Owner,
    runtime: ToolRuntime[Any, Any],
    description: str,
    instructions: str,
    wanted: str,
    max_turns: int,
) -> "Delegation | ToolMessage":
    """Return a child that is ready to run, or the result that explains why there is none.

    Raises:
        ValueError: The call has no id, or requests a response format that a compiled subagent
            lacks.
    """
    outer = ACTIVE.get()
    refuse = partial(_refusal, runtime.tool_call_id)
    if outer is not None and outer.is_fork:
        return refuse(prompt("task_fork_refused").render())
    spec = house.specs.get(wanted)
    if spec is None:
        names = ", ".join(f"`{name}`" for name in house.specs)
        return refuse(prompt("task_unknown_type").render(wanted=wanted, names=names))
    if not (description.strip() or instructions.strip()):
        return refuse(prompt("task_bare").render(name="description"))
    if not runtime.tool_call_id:
        msg = "Tool call ID is required for subagent invocation"
        raise ValueError(msg)
    progress = Progress(spec.limits.lowered(turns=max_turns), outer, is_fork=spec.is_fork)
    depths = [run.limits.depth for run in progress.chain() if run.limits.depth is not None]
    if depths and progress.depth > min(depths):
        return refuse(prompt("task_too_deep").render(depth=min(depths)))
    given = (runtime.config or {}).get("configurable", {})
    if house.max_delegations is not None and _place(runtime) > house.max_delegations:
        return refuse(prompt("task_too_many").render(most=house.max_delegations))
    child = house.runnable(spec, given.get(SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY))
    run = Delegation(house, spec, runtime, progress, child, description, instructions)
    run.begin()
    return run


def _place(runtime: ToolRuntime[Any, Any]) -> int:
    state = runtime.state
    messages, delegated = state.get("messages", []), state.get(DELEGATIONS, 0)
    return place_of(runtime.tool_call_id or "", messages, TASK, delegated)


def _refusal(call_id: str | None, text: str) -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id or "", name=TASK, status="error")


@dataclass(slots=True)
class Delegation:
    """One call of the tool: the child's run and what is made of it."""

    house: _Owner
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
    """What the parent's state has to learn of them."""
    _began: float = field(default_factory=time.monotonic)
    _began_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        state, private = self.runtime.state, self.house.private_state_keys
        task = self.instructions or self.description
        if not self.spec.is_fork:
            self.inputs = handed_down(state, task, private)
        else:
            sent = self.house.sent_before(self.call_id)
            is_ours = self.spec.runnable is None
            self.inputs = forked(state, sent, task, None if is_ours else private)
        self.progress.knows(self.inputs["messages"])
        self.thread = child_name(self.runtime.config or {})
        self.files = child_of(name=self.spec.name, call_id=self.call_id)

    @property
    def call_id(self) -> str:
        """The id of the call, which names the task."""
        return self.runtime.tool_call_id or ""

    @property
    def task(self) -> str:
        """The last message of the child's input."""
        task = self.instructions or self.description
        return fork_task(task) if self.spec.is_fork else task

    def inside(self, files: RunningSubagent) -> SubagentRun:
        """Return the run of the child with its part of the files."""
        config = files.config(CONFIG)
        return SubagentRun(self.child, self.inputs, config, self.progress, self.tell_turn)

    def begin(self) -> None:
        """Emit that it begins; after a crash or an interrupt, that it resumes."""
        given = (self.runtime.config or {}).get("configurable", {})
        self._tell("task_started", resumed=bool(given.get("__pregel_resuming")))

    def tell_turn(self) -> None:
        """Emit that the child has completed a turn."""
        self._tell("task_running", tool=self.progress.last_tool, **self._figures())

    def _figures(self) -> dict[str, Any]:
        return {
            "turn": self.progress.turns,
            "tokens": self.progress.tokens,
            "seconds": self._seconds(),
        }

    def _seconds(self) -> float:
        return round(time.monotonic() - self._began, 3)

    def _tell(self, kind: Kind, **more: Any) -> None:  # noqa: ANN401 (plain values)
        write = self.runtime.stream_writer
        tell(write, kind, self.call_id, self.spec.name, thread=self.thread, **more)

    def report(self) -> SubagentReport:
        """Return the report of a run that ended or reached a limit.

        Raises:
            ValueError: A runnable returned something else than a state with messages.
        """
        limit, values = self.progress.stopped, self.progress.values
        if limit is None and (not isinstance(values, Mapping) or "messages" not in values):
            raise ValueError(_NO_MESSAGES)
        values = values or {}
        files = self._files(values.get("files"))
        status: Status = "completed"
        if limit is not None:
            status = "timed_out" if limit == "seconds" else "partial"
            body = account(self.progress, files)
            told = {"subagent": self.spec.name, "limit": self._limit(limit), "body": body}
            answer = prompt("task_partial").render(**told)
        else:
            answer, is_json = answer_of(values, self.task)
            if not answer:
                body = account(self.progress, files)
                answer = prompt("task_silent").render(subagent=self.spec.name, body=body)
            elif not is_json:
                answer += footer(self.progress, files)
        return self._made(status, answer, files=files, limit=limit)

    def _made(self, status: Status, answer: str, **more: Any) -> SubagentReport:  # noqa: ANN401
        had = self.runtime.state.get("artifacts")
        return SubagentReport(
            self.spec.name,
            self.call_id,
            status,
            answer + self.files.notices(),
            artifacts=tuple(new_artifacts(self.progress.values or {}, had)),
            turns=self.progress.turns,
            tokens=self.progress.tokens,
            seconds=self._seconds(),
            thread=self.thread,
            **more,
        )

    def _limit(self, name: str) -> str:
        most = getattr(self.progress.limits, name, None)
        return name if most is None else f"{most:g} {name[:-1] if most == 1 else name}"

    def _gist(self, report: SubagentReport) -> str:
        """Return the outcome for the ledger; for a stopped run, its position and the cause."""
        if report.limit is None:
            return report.answer
        said = self.progress.texts[-1] if self.progress.texts else f"{report.turns} turns taken"
        return f"stopped at {self._limit(report.limit)}: {said}"

    def _files(self, files: object) -> tuple[str, ...]:
        """Take over what it changed in the files, and name them: its tools may know of more.

        Args:
            files: Those of its last state, where it came to one.
        """
        given = self.inputs.get("files")
        after = files if isinstance(files, Mapping) else None
        self.changes = self.files.update(after, given=given)
        changed = dict(self.changes.get("files", {}))
        gone = changed.pop(GONE, {})
        return tuple(dict.fromkeys([*self.progress.files, *changed, *gone]))

    def shortened(self, report: SubagentReport) -> Flow[SubagentReport]:
        """Return a report whose answer is the beginning of a long one, which is kept in a file.

        A parent with a context engine gets the full answer: the engine shows an excerpt with a
        reference. It is also returned in full where the file cannot be written.
        """
        backend = self.house.writable
        has_engine = self.runtime.state.get("thalweg_turn") is not None
        if backend is None or has_engine or len(report.answer) <= REPORT_CHARS:
            return report
        name = "".join(c if c.isalnum() or c in "-_" else "_" for c in self.call_id)
        path = f"{FOLDER}/{name}-{self._began_at:%Y%m%dT%H%M%S%f}.md"
        asked = path, report.answer
        written = yield Either(partial(backend.write, *asked), partial(backend.awrite, *asked))
        if written.error is not None:
            return report
        where = prompt("task_cut").render(path=path)
        return replace(report, answer=f"{report.answer[:REPORT_CHARS]}\n\n{where}")

    def ended(self, report: SubagentReport) -> Command[Any]:
        """Return the parent's update: the report, and the child's changes of the state."""
        values = self.progress.values or {}
        update = brought_back(values, self.inputs, self.house.private_state_keys) | self.changes
        if report.artifacts:
            update["artifacts"] = [*report.artifacts]
        self._tell(_FINISHED[report.status], status=report.status, **self._figures())
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
            "started_at": iso(self._began_at),
            "ended_at": iso(datetime.now(UTC)),
            "report": brief(self._gist(report)),
            "report_id": str(message.id),
        }
        if self.thread is not None:
            entry["thread"] = self.thread
        tasks = {self.call_id: entry}
        return Command(update={**update, "messages": [message], "tasks": tasks})

    def died(self, error: BaseException) -> Command[Any]:
        """Make a report of what a child raised, if it is the child's own failure.

        Raises:
            BaseException: It is LangGraph's way out of a step, or the run's cancellation.
        """
        if isinstance(error, GraphRecursionError):
            self.progress.stopped = "steps (recursion_limit)"
            return self.ended(self.report())
        if isinstance(error, GraphBubbleUp) or not isinstance(error, Exception):
            if not isinstance(error, GraphBubbleUp):
                with suppress(RuntimeError):  # the loop that streams may be closed
                    self._tell("task_cancelled", **self._figures())
            raise error
        _log.warning("subagent %s, task %s failed", self.spec.name, self.call_id, exc_info=error)
        kind = type(error).__name__
        answer = prompt("task_failed").render(subagent=self.spec.name, kind=kind)
        files = self._files(None)
        answer += footer(self.progress, files)
        report = self._made("failed", answer, files=files, error=f"{kind}: {error}"[:500])
        return self.ended(report)
