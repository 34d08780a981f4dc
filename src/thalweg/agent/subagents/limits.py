"""Limits of one run of a subagent."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from thalweg.agent.subagents.bounds import Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentLimits(Bounds):
    """Limits of one run of a subagent; `None` is unlimited.

    The first limit reached ends the run with a partial report.

    Example:
        >>> SubagentLimits(turns=20).lowered(turns=5).turns
        5
    """

    ARGUMENT: ClassVar = "limits"
    UNBOUNDED: ClassVar = "for no limit"
    FLOATS: ClassVar = frozenset({"seconds"})

    turns: int | None = 100
    """Model calls; the tool calls of the last one still run."""
    tokens: int | None = None
    """Tokens as its models report them, input and output, those of its own subagents too. Checked
    after each turn."""
    seconds: float | None = 3_600.0
    """Seconds from start to end. In async runs, work in progress is cancelled."""
    depth: int | None = 3
    """Most levels of nested subagents."""

    def lowered(self, *, turns: int = 0) -> Self:
        """Return limits with at most the turns that a call requests; 0 requests none."""
        if turns <= 0:
            return self
        return replace(self, turns=turns if self.turns is None else min(turns, self.turns))
