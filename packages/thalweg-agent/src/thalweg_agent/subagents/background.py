"""Tasks that run elsewhere and outlive the run that started them.

Two rules: a status is one of `Status`, independent of a server's own words; a task that has
ended never runs again under the same run id.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NotRequired, Protocol, TypeGuard

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from typing_extensions import TypedDict

Status = Literal["pending", "running", "waiting", "success", "error", "timeout", "cancelled"]
"""`waiting`: for a person. All but the first two end a run."""
_STATUSES: Final[Mapping[str, Status]] = {
    "pending": "pending",
    "queued": "pending",
    "running": "running",
    "interrupted": "waiting",
    "success": "success",
    "completed": "success",
    "error": "error",
    "failed": "error",
    "timeout": "timeout",
    "cancelled": "cancelled",
}
"""Statuses by the words of an Agent Protocol server and of our gateway."""
ACTIVE: Final = frozenset({"pending", "running"})
LOOKS: Final = ("check_async_task", "list_async_tasks")
"""Tools that look at tasks: their result is the same as long as a task runs."""


class AsyncSubAgent(TypedDict):
    """A subagent that runs elsewhere: `client`, or `graph_id` with `url`."""

    name: str
    description: str
    graph_id: NotRequired[str]
    """The graph or assistant on a server that implements the Agent Protocol."""
    url: NotRequired[str]
    """Address of that server; by default the one of `langgraph_sdk`."""
    headers: NotRequired[dict[str, str]]
    client: NotRequired[Any]
    """A `ThalwegClient`: the subagent is the agent of that gateway, and its runs are durable."""


class AsyncTask(TypedDict):
    """A task in the state of the agent that started it."""

    task_id: str
    """Equal to `thread_id`."""
    agent_name: str
    thread_id: str
    run_id: str
    """The id of its newest run."""
    run_number: NotRequired[int]
    """How many runs came before the newest: one per update."""
    status: Status
    created_at: str
    """ISO 8601."""
    last_checked_at: NotRequired[str]
    last_updated_at: NotRequired[str]


class TaskEvent(TypedDict):
    """How a task ended or paused, in `additional_kwargs["task_event"]` of the notice."""

    task_id: str
    agent_name: str
    status: Status
    run_id: NotRequired[str]


@dataclass(frozen=True, slots=True)
class WakePlan:
    """How to handle the message of a wake that began a run."""

    notices: tuple[HumanMessage, ...]
    """Notices that remain in the thread."""
    repeated: HumanMessage | None = None
    """The newest message, if it repeats a notice."""
    is_answered: bool = False
    """Whether an earlier run has answered it, so that no model call is needed."""


def plan_wake(messages: Sequence[BaseMessage], tasks: Mapping[str, AsyncTask]) -> WakePlan | None:
    """Plan how to handle a notice; return `None` if the newest message of a thread is none.

    A process that was killed while it woke a thread causes the same wake in the next process.

    Args:
        messages: The thread, the newest message last.
        tasks: The tasks in the thread's state.
    """
    newest = messages[-1] if messages else None
    if not isinstance(newest, HumanMessage):
        return None
    named = [task for task in tasks.values() if notice_key(task) in newest.text]
    if not named:
        return None
    earlier = messages[:-1]
    last = earlier[-1] if earlier else None
    has_answered = isinstance(last, AIMessage) and not last.tool_calls
    if has_answered and all(task["status"] not in ACTIVE for task in named):
        return WakePlan((), newest, is_answered=True)
    known = [notices_of(earlier, notice_key(task)) for task in named]
    if all(known):
        return WakePlan(tuple(one for found in known for one in found), newest)
    return WakePlan((newest,))


def notice_key(task: AsyncTask) -> str:
    """Return the text that every notice about a task's newest run contains."""
    return f"task {task['task_id']} (run {task['run_id']})"


def notices_of(messages: Sequence[BaseMessage], key: str) -> list[HumanMessage]:
    """Return the user messages that contain a key of `notice_key`."""
    return [one for one in messages if isinstance(one, HumanMessage) and key in one.text]


class Remote(Protocol):
    """A server that runs background subagents."""

    def create(self) -> str:
        """Create a thread and return its id."""
        ...

    def start(self, thread: str, text: str) -> str:
        """Start a run, replacing one under way, and return its id."""
        ...

    def status(self, thread: str, run: str) -> Status:
        """Return the status of a run."""
        ...

    def answer(self, thread: str) -> str:
        """Return the text of the last message of a thread; empty if it has none."""
        ...

    def problem(self, thread: str, run: str) -> str:
        """Return the error of a failed run as the server reports it; empty if it reports none."""
        ...

    def cancel(self, thread: str, run: str) -> None:
        """Cancel a run."""
        ...


class _AgentServer:
    """A server that implements the Agent Protocol, as LangGraph's does, by `langgraph_sdk`."""

    def __init__(self, client: Any, graph_id: str) -> None:  # noqa: ANN401  # langgraph_sdk's
        self._client = client
        self._graph_id = graph_id

    def create(self) -> str:
        return str(self._client.threads.create()["thread_id"])

    def start(self, thread: str, text: str) -> str:
        run = self._client.runs.create(
            thread_id=thread,
            assistant_id=self._graph_id,
            input={"messages": [{"role": "user", "content": text}]},
            multitask_strategy="interrupt",
        )
        return str(run["run_id"])

    def status(self, thread: str, run: str) -> Status:
        return status_of(str(self._client.runs.get(thread_id=thread, run_id=run)["status"]))

    def answer(self, thread: str) -> str:
        values = self._client.threads.get(thread_id=thread).get("values") or {}
        messages = values.get("messages") or [{}]
        content = messages[-1].get("content", "")
        if isinstance(content, str):
            return content
        return "".join(block.get("text", "") for block in content if isinstance(block, dict))

    def problem(self, thread: str, run: str) -> str:
        return str(self._client.runs.get(thread_id=thread, run_id=run).get("error") or "")

    def cancel(self, thread: str, run: str) -> None:
        self._client.runs.cancel(thread_id=thread, run_id=run)


class _DurableRuns:
    """Durable runs of a gateway, by a `ThalwegClient`: they survive their process."""

    def __init__(self, client: Any) -> None:  # noqa: ANN401  # a layer above this one
        self._client = client

    def create(self) -> str:
        return str(self._client.create_thread().id)

    def start(self, thread: str, text: str) -> str:
        return str(self._client.start_run(thread, text, if_busy="cancel").id)

    def status(self, thread: str, run: str) -> Status:
        return status_of(self._client.get_run(thread, run).status)

    def answer(self, thread: str) -> str:
        items = self._client.get_history(thread).items
        return str(items[-1].message.text) if items else ""

    def problem(self, thread: str, run: str) -> str:
        problem = self._client.get_run(thread, run).problem
        return "" if problem is None else str(problem.detail or problem.title)

    def cancel(self, thread: str, run: str) -> None:
        self._client.cancel_run(thread, run)


def remote_of(spec: AsyncSubAgent, connect: Callable[..., Any]) -> Remote:
    """Return the server that runs a subagent; `connect` makes a blocking client of one."""
    if "client" in spec:
        return _DurableRuns(spec["client"])
    client = connect(url=spec.get("url"), headers=spec.get("headers"))
    return _AgentServer(client, spec.get("graph_id", spec["name"]))


def is_elsewhere(spec: Mapping[str, Any]) -> TypeGuard[AsyncSubAgent]:
    """Return whether a subagent runs elsewhere: it has a client or a graph id."""
    return "client" in spec or "graph_id" in spec


def status_of(word: str) -> Status:
    """Return the status for a server's word; for an unsupported word, that of a run under way.

    Example:
        >>> status_of("completed"), status_of("dreaming")
        ('success', 'running')
    """
    return _STATUSES.get(word, "running")


def merge_tasks(
    known: Mapping[str, AsyncTask] | None, changed: Mapping[str, AsyncTask]
) -> dict[str, AsyncTask]:
    """Return the tasks with changed ones replaced, but for a look at a run that is not the newest.

    A call that updates a task and one that looks at it may be in the same answer of a model.
    """
    known = known or {}
    stale = {name for name, task in changed.items() if _is_older(task, known.get(name, task))}
    return {**known, **{name: task for name, task in changed.items() if name not in stale}}


def _is_older(task: AsyncTask, known: AsyncTask) -> bool:
    return task["run_id"] != known["run_id"] and _run_order(task) < _run_order(known)


def _run_order(task: AsyncTask) -> tuple[int, str]:
    # Clocks differ and are set back: times are for entries stored without a number.
    return task.get("run_number", 0), task.get("last_updated_at", "")
