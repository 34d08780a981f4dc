"""`AsyncSubAgentMiddleware`: tasks in the background, on a server that keeps their runs."""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from os import PathLike
from typing import Annotated, Any, Final, NotRequired

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    hook_config,
)
from langchain.tools import ToolRuntime
from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from langgraph.types import Command
from langgraph_sdk import get_sync_client
from pydantic import BaseModel, Field

from thalweg.context.notes import is_note, note
from thalweg.context.ready_tools import ReadyTool
from thalweg.context.turn.additions import with_text
from thalweg.context.turn.effects import Flow, RequestChange, blocking_effect, sync_and_async
from thalweg.errors import ConfigError
from thalweg_agent.prompts import prompt
from thalweg_agent.subagents.background import (
    ACTIVE,
    AsyncSubAgent,
    AsyncTask,
    Remote,
    Status,
    TaskEvent,
    is_elsewhere,
    merge_tasks,
    notice_key,
    notices_of,
    plan_wake,
    remote_of,
)
from thalweg_agent.subagents.waker import Wake, Waker

__all__ = [
    "AsyncSubAgent",
    "AsyncSubAgentMiddleware",
    "AsyncSubAgentState",
    "AsyncTask",
    "TaskEvent",
]
_log = logging.getLogger("thalweg.subagents")
POLL_S: Final = 5.0
"""Seconds between two looks at a task that runs."""


class StartAsyncTaskSchema(BaseModel):
    """Arguments of `start_async_task`."""

    description: str = Field(description="The task, with all that the subagent has to know.")
    subagent_type: str = Field(description="The name of the subagent.")


class CheckAsyncTaskSchema(BaseModel):
    """Arguments of `check_async_task`."""

    task_id: str = Field(description="The id of the task, as start_async_task returned it.")


class UpdateAsyncTaskSchema(CheckAsyncTaskSchema):
    """Arguments of `update_async_task`."""

    message: str = Field(description="The further instructions.")


class CancelAsyncTaskSchema(CheckAsyncTaskSchema):
    """Arguments of `cancel_async_task`."""


class ListAsyncTasksSchema(BaseModel):
    """Arguments of `list_async_tasks`."""

    status_filter: Status | None = Field(None, description="Only tasks with this status.")


class AsyncSubAgentState(AgentState[Any]):
    """The middleware's part of an agent's state."""

    async_tasks: NotRequired[Annotated[dict[str, AsyncTask], merge_tasks]]


class AsyncSubAgentError(ConfigError, ValueError):
    """The specs of background subagents cannot be used."""


Update = dict[str, Any]


class AsyncSubAgentMiddleware(RequestChange, AgentMiddleware[AsyncSubAgentState, Any, Any]):
    """Add tools that start tasks in the background, check, update, cancel and list them.

    A task is a thread with runs on a server, and in the state `async_tasks` of its parent. When it
    ends, or waits for a person, its parent gets a message: before the next model call of a run
    under way, and else through `wake`. A thread whose run was cut off, or waits for a person, is
    not woken: that run reports the task when it is resumed.

    Args:
        async_subagents: The subagents.
        system_prompt: Text for the system prompt, which is followed by the list of subagents.
        wake: Called with the parent's thread id and the message when a task ends after the parent's
            run has ended, to start a run with that message: `lambda thread, text:
            agent.invoke({"messages": text}, config_of(thread))`. It runs on a thread of the
            middleware, eight at a time, and is retried with backoff if it raises. `None`: the next
            run of the parent reports the task.
        poll_s: Seconds between two checks of a task.
        wake_store: A SQLite file with the threads to wake: after a crash the next process that
            opens the file wakes them, 4 seconds after the crash at the earliest. Several processes
            of one machine may share it. `None`: they are in this process alone. Create such a
            middleware once in a process, not for each request.

    A thread is notified of a task once: if a process crashed between the wake and its record in the
    file, the repeated message is removed before the model is called.

    Raises:
        ConfigError: There is no subagent, two have one name, one has no address, or `wake_store` is
            set without `wake` (also a `ValueError`), or is no usable database.
        StorageError: Another process has locked `wake_store`.
    """

    state_schema = AsyncSubAgentState

    def __init__(
        self,
        *,
        async_subagents: Sequence[AsyncSubAgent],
        system_prompt: str | None = None,
        wake: Wake | None = None,
        poll_s: float = POLL_S,
        wake_store: str | PathLike[str] | None = None,
    ) -> None:
        super().__init__()
        self._specs = _checked(async_subagents)
        if wake is None and wake_store is not None:
            fix = "pass wake, too: it starts a run of the parent's thread"
            raise AsyncSubAgentError("wake_store", "no function resumes a thread", fix)
        self._remotes: dict[str, Remote] = {}
        self._looked: dict[str, float] = {}
        self._poll_s = poll_s
        listed = "\n".join(f"- {one['name']}: {one['description']}" for one in async_subagents)
        self.system_prompt = f"{system_prompt}\n\n{listed}" if system_prompt else None
        self.tools = [
            self._tool(
                "start_async_task", "async_start", StartAsyncTaskSchema, self._start, agents=listed
            ),
            self._tool("check_async_task", "async_check", CheckAsyncTaskSchema, self._check),
            self._tool("update_async_task", "async_update", UpdateAsyncTaskSchema, self._update),
            self._tool("cancel_async_task", "async_cancel", CancelAsyncTaskSchema, self._cancel),
            self._tool("list_async_tasks", "async_list", ListAsyncTasksSchema, self._list),
        ]
        self._waker: Waker | None = None
        if wake is not None:
            self._waker = Waker(wake_store, wake, self._looked_quietly, self._written, poll_s)
            self._waker.start()

    def close(self) -> None:
        """Stop waking threads; the next process on the same `wake_store` continues."""
        if self._waker is not None:
            self._waker.close()

    def _tool(
        self,
        name: str,
        words: str,
        schema: type[BaseModel],
        make: Callable[..., tuple[str, Update]],
        **variables: str,
    ) -> BaseTool:
        def blocking(runtime: ToolRuntime[Any, Any], **given: Any) -> Command[Any]:  # noqa: ANN401
            try:
                text, changed = make(runtime.state.get("async_tasks") or {}, **given)
                status = "success"
            except _RefusedError as refused:
                text, changed, status = str(refused), {}, "error"
            except Exception as problem:  # noqa: BLE001  # whatever a client of a server raises
                text, changed, status = _failed(problem), {}, "error"
            if self._waker is not None and (thread := _thread_of(runtime.config)):
                self._waker.expect(thread, changed)
            message = ToolMessage(text, name=name, tool_call_id=runtime.tool_call_id, status=status)
            return Command(update={"messages": [message], "async_tasks": changed})

        async def awaited(runtime: ToolRuntime[Any, Any], **given: Any) -> Command[Any]:  # noqa: ANN401
            return await asyncio.to_thread(blocking, runtime, **given)

        description = prompt(words).render(**variables)
        return ReadyTool(
            name=name,
            description=description,
            args_schema=schema,
            func=blocking,
            coroutine=awaited,
        )

    def _remote(self, name: str) -> Remote:
        if name not in self._remotes:
            self._remotes[name] = remote_of(self._specs[name], get_sync_client)
        return self._remotes[name]

    def _start(
        self, tasks: Mapping[str, AsyncTask], description: str, subagent_type: str
    ) -> tuple[str, Update]:
        del tasks
        if subagent_type not in self._specs:
            known = ", ".join(f"`{name}`" for name in self._specs)
            raise _refused("async_unknown_type", name=subagent_type, known=known)
        remote = self._remote(subagent_type)
        thread = remote.create()
        now = _now()
        task = AsyncTask(
            task_id=thread,
            agent_name=subagent_type,
            thread_id=thread,
            run_id=remote.start(thread, description),
            status="running",
            created_at=now,
            last_checked_at=now,
            last_updated_at=now,
        )
        return prompt("async_started").render(agent=subagent_type, task=thread), {thread: task}

    def _check(self, tasks: Mapping[str, AsyncTask], task_id: str) -> tuple[str, Update]:
        task = self._looked_at(_known(tasks, task_id))
        found = {"status": task["status"], "task_id": task_id, **self._outcome(task)}
        return json.dumps(found, ensure_ascii=False), {task_id: task}

    def _update(
        self, tasks: Mapping[str, AsyncTask], task_id: str, message: str
    ) -> tuple[str, Update]:
        task = _known(tasks, task_id)
        run = self._remote(task["agent_name"]).start(task["thread_id"], message)
        changed: AsyncTask = {
            **task,
            "run_id": run,
            "run_number": task.get("run_number", 0) + 1,
            "status": "running",
            "last_updated_at": _now(),
        }
        return prompt("async_updated").render(task=task_id), {task_id: changed}

    def _cancel(self, tasks: Mapping[str, AsyncTask], task_id: str) -> tuple[str, Update]:
        task = _known(tasks, task_id)
        self._remote(task["agent_name"]).cancel(task["thread_id"], task["run_id"])
        cancelled: AsyncTask = {**task, "status": "cancelled", "last_updated_at": _now()}
        return prompt("async_cancelled").render(task=task_id), {task_id: cancelled}

    def _list(
        self, tasks: Mapping[str, AsyncTask], status_filter: Status | None = None
    ) -> tuple[str, Update]:
        now = {name: self._polled(task) for name, task in tasks.items()}
        rows = [
            f"- {name}: {task['agent_name']}, {task['status']}"
            for name, task in now.items()
            if status_filter in {None, task["status"]}
        ]
        return "\n".join([f"{len(rows)} tracked task(s)", *rows]), now

    def _looked_at(self, task: AsyncTask) -> AsyncTask:
        if task["status"] not in ACTIVE:
            return task
        status = self._remote(task["agent_name"]).status(task["thread_id"], task["run_id"])
        return {**task, "status": status, "last_checked_at": _now()}

    def _outcome(self, task: AsyncTask) -> dict[str, str]:
        remote, thread = self._remote(task["agent_name"]), task["thread_id"]
        match task["status"]:
            case "success":
                return {"result": remote.answer(thread)}
            case "error" | "timeout" as status:
                return {"error": remote.problem(thread, task["run_id"]) or status}
            case _:
                return {}

    def change_request(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Add the text for the system prompt, if there is one."""
        return with_text(request, self.system_prompt) if self.system_prompt else request

    @hook_config(can_jump_to=["end"])
    def before_agent(
        self,
        state: AsyncSubAgentState,
        runtime: Runtime[Any],
        config: RunnableConfig | None = None,
    ) -> dict[str, Any] | None:
        """Take over the tasks of the thread, and check the message of a wake that began the run."""
        del runtime
        if self._waker is None:
            return None
        if thread := _thread_of(config):
            self._waker.run_started(thread)
        plan = plan_wake(state["messages"], state.get("async_tasks") or {})
        if plan is None:
            return None
        changed: list[BaseMessage] = [_as_note(one) for one in plan.notices if not is_note(one)]
        if plan.repeated is not None:
            changed.append(RemoveMessage(id=str(plan.repeated.id)))
        return {"messages": changed, **({"jump_to": "end"} if plan.is_answered else {})}

    def _poll(
        self, state: AsyncSubAgentState, runtime: Runtime[Any]
    ) -> Flow[dict[str, Any] | None]:
        """Report the tasks that ended since the last check."""
        del runtime
        if not (active := _active(state)):
            return None
        polled = yield blocking_effect(lambda: [*map(self._polled, active.values())])
        ended = [task for task in polled if task["status"] not in ACTIVE]
        if not ended:
            return None
        unknown = [one for one in ended if not notices_of(state["messages"], notice_key(one))]
        return {
            "messages": [self._notice(task) for task in unknown],
            "async_tasks": {task["task_id"]: task for task in ended},
        }

    before_model, abefore_model = sync_and_async(_poll)

    def after_agent(
        self,
        state: AsyncSubAgentState,
        runtime: Runtime[Any],
        config: RunnableConfig | None = None,
    ) -> None:
        """Hand the tasks that outlast this run to the component that wakes the thread."""
        del runtime
        thread, tasks = _thread_of(config), state.get("async_tasks") or {}
        if self._waker is not None and thread and tasks:
            self._waker.run_ended(thread, tasks)

    def _polled(self, task: AsyncTask) -> AsyncTask:
        """Look at a task, but not more often than agreed."""
        now = datetime.now(UTC).timestamp()
        if now - self._looked.get(task["task_id"], 0.0) < self._poll_s:
            return task
        self._looked[task["task_id"]] = now
        return self._looked_quietly(task)

    def _looked_quietly(self, task: AsyncTask) -> AsyncTask:
        try:
            return self._looked_at(task)
        except Exception as problem:  # noqa: BLE001  # whatever a client of a server raises
            _log.warning("task %s cannot be checked: %s", task["task_id"], problem)
            return task

    def _written(self, tasks: Sequence[AsyncTask]) -> str:
        return "\n\n".join(self._notice(task).text for task in tasks)

    def _notice(self, task: AsyncTask) -> HumanMessage:
        try:
            answer = next(iter(self._outcome(task).values()), "")
        except Exception as problem:  # noqa: BLE001  # whatever a client of a server raises
            answer = _failed(problem)
        text = prompt("async_notice").render(
            agent=task["agent_name"], key=notice_key(task), status=task["status"], answer=answer
        )
        event = TaskEvent(
            task_id=task["task_id"],
            agent_name=task["agent_name"],
            status=task["status"],
            run_id=task["run_id"],
        )
        notice = note(text.strip())
        notice.additional_kwargs["task_event"] = event
        return notice


def _as_note(message: HumanMessage) -> HumanMessage:
    kwargs = {**message.additional_kwargs, **note("").additional_kwargs}
    return message.model_copy(update={"additional_kwargs": kwargs})


class _RefusedError(Exception):
    """A call that is not executed; the model gets the reason."""


def _refused(words: str, **variables: str) -> _RefusedError:
    return _RefusedError(prompt(words).render(**variables))


def _failed(problem: Exception) -> str:
    return prompt("async_failed").render(problem=f"{type(problem).__name__}: {problem}")


def _known(tasks: Mapping[str, AsyncTask], task_id: str) -> AsyncTask:
    if task_id not in tasks:
        raise _refused("async_unknown_task", task=task_id)
    return tasks[task_id]


def _checked(specs: Sequence[AsyncSubAgent]) -> dict[str, AsyncSubAgent]:
    if not specs:
        what = "At least one async subagent must be given"
        raise AsyncSubAgentError(what, "there is no server to run it", "give async_subagents")
    named = {spec["name"]: spec for spec in specs}
    if len(named) < len(specs):
        names = ", ".join(spec["name"] for spec in specs)
        what = "Duplicate async subagent names"
        raise AsyncSubAgentError(what, names, "name each differently")
    for spec in specs:
        if not is_elsewhere(spec):
            problem = f"{spec['name']!r} has no address"
            fix = "pass 'client', a ThalwegClient, or 'graph_id' and 'url'"
            raise AsyncSubAgentError("async_subagents", problem, fix)
    return named


def _active(state: Mapping[str, Any]) -> dict[str, AsyncTask]:
    tasks: Mapping[str, AsyncTask] = state.get("async_tasks") or {}
    return {name: task for name, task in tasks.items() if task["status"] in ACTIVE}


def _thread_of(config: RunnableConfig | None) -> str:
    return str((config or {}).get("configurable", {}).get("thread_id", ""))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
