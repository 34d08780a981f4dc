"""Threads, runs, states and assistants as LangGraph's API shows them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from thalweg_server.api.graph_runs import GraphRun, read_request
from thalweg_server.app.assistants import Assistant, graph_assistant
from thalweg_server.app.crons import Cron
from thalweg_server.app.graph_threads import GraphThread
from thalweg_server.app.views import moment
from thalweg_server.runs.base import RunRecord

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.types import StateSnapshot

View = dict[str, Any]
_STATUSES = {
    "queued": "pending",
    "running": "running",
    "completed": "success",
    "failed": "error",
    "cancelled": "interrupted",
    "interrupted": "interrupted",
}


def assistant_view(one: Assistant) -> View:
    """Show an assistant."""
    return {
        "assistant_id": one.id,
        "graph_id": one.graph,
        "name": one.name,
        "description": one.description,
        "config": dict(one.config),
        "context": one.context or {},
        "metadata": dict(one.metadata),
        "version": one.version,
        "created_at": one.created.isoformat(),
        "updated_at": one.updated.isoformat(),
    }


def run_view(run: RunRecord) -> View:
    """Show a run; one of `/api` is a run of the gateway's agent."""
    request = read_request(run.request)
    if not isinstance(request, GraphRun):
        request = GraphRun(graph="agent", assistant=graph_assistant("agent"))
    changed = run.ended or run.started or run.created
    return {
        "run_id": run.key.run,
        "thread_id": run.key.thread,
        "assistant_id": request.assistant,
        "created_at": run.created.isoformat(),
        "updated_at": changed.isoformat(),
        "status": _STATUSES[run.status],
        "metadata": {
            "graph_id": request.graph,
            "assistant_id": request.assistant,
            **request.metadata,
        },
        "kwargs": {
            "input": request.input,
            "command": request.command,
            "config": request.config,
            "context": request.context,
            "stream_mode": request.client.get("stream_mode", ["values"]),
            "subgraphs": request.subgraphs,
        },
        "multitask_strategy": request.client.get("multitask_strategy", "reject"),
    }


def cron_view(cron: Cron) -> View:
    """Show a cron."""
    record, new = cron.record, cron.new
    payload = new.model_dump(mode="json", exclude_unset=True)
    return {
        "cron_id": record.id,
        "assistant_id": new.assistant_id,
        "thread_id": record.thread or None,
        "user_id": record.owner,
        "schedule": new.schedule,
        "timezone": new.timezone,
        "end_time": payload.get("end_time"),
        "enabled": new.enabled,
        "on_run_completed": new.on_run_completed,
        "metadata": new.metadata or {},
        "payload": payload,
        "next_run_date": moment(record.due_ms).isoformat() if record.due_ms else None,
        "created_at": moment(record.created_ms).isoformat(),
        "updated_at": moment(record.updated_ms).isoformat(),
    }


def thread_view(thread: GraphThread, snapshot: "StateSnapshot | None" = None) -> View:
    """Show a thread, with the values of its newest state if that was read."""
    from thalweg_server.app.performing.graph_parts import jsonable  # noqa: PLC0415 (LangChain: seconds)

    row = thread.row
    tasks = snapshot.tasks if snapshot is not None else ()
    return {
        "thread_id": row.thread,
        "created_at": moment(row.created).isoformat(),
        "updated_at": moment(row.updated).isoformat(),
        "state_updated_at": moment(row.updated).isoformat(),
        "metadata": {**({"title": row.title} if row.title else {}), **thread.metadata},
        "status": thread.status,
        "config": {},
        "values": None if snapshot is None else jsonable(snapshot.values),
        "interrupts": {task.id: jsonable(task.interrupts) for task in tasks if task.interrupts},
        "error": None,
    }


def snapshot_view(snapshot: "StateSnapshot") -> View:
    """Show a state of a thread."""
    from thalweg_server.app.performing.graph_parts import jsonable  # noqa: PLC0415 (LangChain: seconds)

    return {
        "values": jsonable(snapshot.values),
        "next": list(snapshot.next),
        "tasks": [_task_view(task) for task in snapshot.tasks],
        "metadata": jsonable(_without_owner(snapshot.metadata or {})),
        "created_at": snapshot.created_at,
        "checkpoint": checkpoint_view(snapshot.config),
        "parent_checkpoint": None
        if snapshot.parent_config is None
        else checkpoint_view(snapshot.parent_config),
        "interrupts": jsonable(snapshot.interrupts),
        "checkpoint_id": snapshot.config["configurable"].get("checkpoint_id"),
        "parent_checkpoint_id": (snapshot.parent_config or {})
        .get("configurable", {})
        .get("checkpoint_id"),
    }


def checkpoint_view(config: "RunnableConfig") -> View:
    """Show which checkpoint a config names."""
    place = config["configurable"]
    return {
        "thread_id": place.get("thread_id"),
        "checkpoint_ns": place.get("checkpoint_ns", ""),
        "checkpoint_id": place.get("checkpoint_id"),
        "checkpoint_map": place.get("checkpoint_map"),
    }


def _task_view(task: Any) -> View:  # noqa: ANN401 (LangGraph's)
    from thalweg_server.app.performing.graph_parts import jsonable  # noqa: PLC0415 (LangChain: seconds)

    is_config = isinstance(task.state, dict)
    is_state = task.state is not None and not is_config
    return {
        "id": task.id,
        "name": task.name,
        "path": jsonable(task.path),
        "error": None if task.error is None else str(task.error),
        "interrupts": jsonable(task.interrupts),
        "checkpoint": checkpoint_view(task.state) if is_config else None,
        "state": snapshot_view(task.state) if is_state else None,
        "result": jsonable(task.result),
    }


def _without_owner(metadata: Mapping[str, Any]) -> View:
    return {key: value for key, value in metadata.items() if key != "owner"}
