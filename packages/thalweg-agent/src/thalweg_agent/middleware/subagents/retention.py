"""`SubagentRetentionMiddleware`: threads of subagents that ended long ago are deleted."""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from thalweg.archive import ThreadKey
from thalweg.context.arguments import Owner
from thalweg.context.middleware import ContextMiddleware
from thalweg.context.turn.effects import Flow, blocking_effect, sync_and_async
from thalweg.context.turn.thread_deletion import thread_deletion
from thalweg.context.turn.threads import owner_of, thread_name
from thalweg.engine.undocumented import SAVER_KEY
from thalweg_agent.middleware.subagents.middleware import SubAgentState
from thalweg_agent.subagents.ledger import Task, iso, plain
from thalweg_agent.subagents.retention import Retention, plan_pruning

_log = logging.getLogger("thalweg.subagents")


class SubagentRetentionMiddleware(AgentMiddleware[SubAgentState, Any, Any]):
    """Delete threads of subagents when a run of their parent's thread ends.

    A thread is deleted from the archive with its journal, its stored texts and the threads of its
    own subagents, and from the checkpointer with its checkpoints, when its task has ended, its
    retention has passed, and the archive has its report in the parent's thread. The ledger entry
    then has `pruned_at` in place of `thread`. A checkpointer that is neither LangGraph's nor has
    `adelete_namespaces` keeps the checkpoints until the parent's thread is deleted: a warning
    names it.

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
        given = config or {}
        over, name = self._over(state), thread_name(given, state)
        if not over or name is None:
            return None
        now = datetime.now(UTC)
        owner, configurable = owner_of(self._owner, given), given.get("configurable", {})
        archive, key = self._context.archive, ThreadKey(owner, name)
        reports = [task["report_id"] for task in over.values()]
        kept: Mapping[str, Any] = yield blocking_effect(partial(archive.positions, key, reports))
        pruned = {call: task for call, task in over.items() if kept.get(task["report_id"])}
        if not pruned:
            return None
        names = [task["thread"] for task in pruned.values()]
        thread_id, saver = str(configurable["thread_id"]), configurable.get(SAVER_KEY) or None
        deletion = yield from thread_deletion(thread_id, saver, archive, owner, names)
        _log.info(
            "thread %s: deleted the threads of %d subagents that had ended", name, len(pruned)
        )
        for remains in deletion.left:
            _log.warning("thread %s: not deleted: %s", name, remains)
        return {"tasks": {call: _pruned(task, now) for call, task in pruned.items()}}

    after_agent, aafter_agent = sync_and_async(_prune)

    def _over(self, state: SubAgentState) -> Mapping[str, Task]:
        return plan_pruning(plain(state.get("tasks")), self.retention, datetime.now(UTC))


def _pruned(task: Task, now: datetime) -> Task:
    noted: Task = {**task, "pruned_at": iso(now)}
    noted.pop("thread")
    return noted
