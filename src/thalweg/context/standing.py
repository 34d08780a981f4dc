"""What an engine knows beside its live messages, as of its last fold."""

from dataclasses import dataclass, field

from thalweg.context.edits import Fold, Rewrite
from thalweg.context.fold import Quote, Record
from thalweg.entries import ToolUse


@dataclass(frozen=True, slots=True)
class Standing:
    """All that an engine needs, beside the live messages, to go on where another one stood."""

    fold: Fold | None = None
    record: Record = field(default_factory=Record)
    pins: tuple[Quote, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    """Edits of live messages."""
    systems: int = 0
    """How many system messages the thread begins with: they are never folded."""
    used: tuple[str, ...] = ()
    """Ids of calls, as recorded, that live calls could not have: older ones had them."""
    waiting: tuple[tuple[str, ToolUse], ...] = ()
    """Folded calls that had no result when the fold was made: the id as recorded, and the call."""
    stripped: tuple[int, ...] = ()
    """Positions of live messages that are shown without their signed reasoning."""
