"""The memory of the user in an agent's runs.

Begin with `middleware.py`; `recall.py` chooses what a run is shown, `capture.py` what is stored.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg_memory.middleware.middleware import MemoryMiddleware, MemoryState

__all__ = [
    "MemoryMiddleware",
    "MemoryState",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "MemoryMiddleware": "thalweg_memory.middleware.middleware",
        "MemoryState": "thalweg_memory.middleware.middleware",
    },
)
