"""The snapshot of an engine as of its last compaction, without its live messages."""

from dataclasses import dataclass, field

from thalweg.engine.compaction.structured_summary import Quote, Record
from thalweg.engine.edits import Fold, Rewrite
from thalweg.engine.entries import ToolUse


@dataclass(frozen=True, slots=True)
class EngineSnapshot:
    """All state, besides the live messages, that an engine needs to continue."""

    fold: Fold | None = None
    record: Record = field(default_factory=Record)
    pins: tuple[Quote, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    """Edits of live messages."""
    systems: int = 0
    """Number of system messages at the beginning of the thread: they are never compacted."""
    used: tuple[str, ...] = ()
    """Recorded ids of calls that live calls could not use, since older ones had them."""
    waiting: tuple[tuple[str, ToolUse], ...] = ()
    """Compacted calls without a result at that time: the recorded id, and the call."""
    stripped: tuple[int, ...] = ()
    """Positions of live messages that are shown without their signed reasoning."""
