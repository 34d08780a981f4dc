"""The best schedule of compactions as a policy: our engine with knowledge of the future."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.arena.oracle.base import Oracle
from thalweg.engine.compaction.hard_limit import reduce_to_limit
from thalweg.engine.compaction.plan import plan_arrivals, plan_fold
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.compaction.policy import Policy
from thalweg.engine.edits import Edit, Reason

WHY: Reason = "a trigger of the policy"


@dataclass(frozen=True, slots=True)
class Scheduled(Policy):
    """Compact when and where an oracle decides, and otherwise only what would not fit."""

    oracle: Oracle

    def prepare(self, context: PlanningContext, *, cold: bool) -> Iterator[Sequence[Edit]]:
        """Yield edits before a model call, in batches; see `Policy.prepare`."""
        del cold
        if self.oracle.bounds_arrivals:
            yield plan_arrivals(context)
        due = next((f for f in self.oracle.folds if f.call == context.turn - 1), None)
        if due is not None:
            window = context.window
            cut = next(k for k, item in enumerate(window.items) if item.position == due.position)
            room = context.budget.record(context.fixed)
            fold = plan_fold(
                context, tail_tokens=window.tokens_from(cut), record_tokens=room, reason=WHY
            )
            if fold is not None:
                yield (fold,)
        yield from reduce_to_limit(context)
