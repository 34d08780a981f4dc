"""`SubagentRetentionMiddleware`: threads of subagents that ended long ago are deleted."""

import asyncio
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from thalweg.archive import ThreadKey
from thalweg.context.arguments import Owner, owner_of
from thalweg.context.middleware import ContextMiddleware
from thalweg.context.turn.effects import Flow, SyncOrAsync, sync_and_async
from thalweg.context.turn.thread_names import thread_name
from thalweg_agent.middleware.subagents.middleware import SubAgentState
from thalweg_agent.subagents.ledger import Task, iso, plain
from thalweg_agent.subagents.retention import Retention, plan_pruning

_log = logging.getLogger("thalweg.subagents")


class SubagentRetentionMiddleware(AgentMiddleware[SubAgentState, Any, Any]):
    """Delete threads of subagents when a run of their parent's thread ends.

    A thread is deleted from the archive with its journal, its stored texts and the threads of its
    own subagents, when its task has ended, its retention has passed, and the archive has its report
    in the parent's thread. The ledger entry then has `pruned_at` in place of `thread`. LangGraph's
    checkpoints of a subagent are part of its parent's thread in the checkpointer, and are deleted
    with that.

    Args:
        context: The middleware whose archive holds the threads.
        retention: Age or number to keep: a `Retention`, or `{"days": 30, "threads": 100}`.
        owner: The owner of the threads, as for `context`.

    Raises:
        SpecError: `retention` is invalid.
    """

    state_schema = SubAgentState

    def __init__(
        self,
        context: ContextMiddleware,
        retention: Retention | Mapping[str, Any],
        *,
        owner: Owner = "local",
    ) -> None:
        super().__init__()
        self._context = context
        self._owner = owner
        self.retention = Retention.of(retention)

    def _prune(
        self, state: SubAgentState, runtime: Runtime[Any], config: RunnableConfig | None = None
    ) -> Flow[dict[str, Any] | None]:
        """Delete expired threads and record it in the ledger; if none expired, start no thread."""
        del runtime
        over, name = self._over(state), thread_name(config or {}, state)
        if not over or name is None:
            return None
        now = datetime.now(UTC)
        work = partial(self._delete, ThreadKey(owner_of(self._owner, config or {}), name), over)
        pruned: dict[str, Task] = yield SyncOrAsync(work, partial(asyncio.to_thread, work))
        if not pruned:
            return None
        _log.info(
            "thread %s: deleted the threads of %d subagents that had ended", name, len(pruned)
        )
        return {"tasks": {call: _pruned(task, now) for call, task in pruned.items()}}

    after_agent, aafter_agent = sync_and_async(_prune)

    def _over(self, state: SubAgentState) -> Mapping[str, Task]:
        return plan_pruning(plain(state.get("tasks")), self.retention, datetime.now(UTC))

    def _delete(self, parent: ThreadKey, over: Mapping[str, Task]) -> dict[str, Task]:
        archive = self._context.archive
        kept = archive.positions(parent, [task["report_id"] for task in over.values()])
        pruned = {call: task for call, task in over.items() if kept.get(task["report_id"])}
        gone = {task["thread"] for task in pruned.values()}
        for thread in archive.threads(parent.owner) if gone else ():
            if thread in gone or any(thread.startswith(f"{one}|") for one in gone):
                archive.delete(ThreadKey(parent.owner, thread))
        if gone:
            archive.prune()
        return pruned


def _pruned(task: Task, now: datetime) -> Task:
    noted: Task = {**task, "pruned_at": iso(now)}
    noted.pop("thread")
    return noted
