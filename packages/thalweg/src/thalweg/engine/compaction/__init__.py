"""When a thread is compacted, and which edits do it.

Pure. Begin with `policy.py` (when), then `plan.py` (which edits) and `structured_summary.py` (what
replaces the messages).
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg.engine.compaction.policy import RentOrBuy, Thresholds

__all__ = ["RentOrBuy", "Thresholds"]

__getattr__, __dir__ = lazy_exports(
    __name__, dict.fromkeys(__all__, "thalweg.engine.compaction.policy")
)
