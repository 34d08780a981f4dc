"""Memory in an agent's runs: files of notes, and the memory of its user.

Begin with `middleware.py`; `of_user.py` shows memory when a run begins and updates it at its end.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazily

if TYPE_CHECKING:
    from thalweg.middleware.memory.middleware import (
        MEMORY_SYSTEM_PROMPT,
        MemoryMiddleware,
        MemoryState,
    )

__all__ = [
    "MEMORY_SYSTEM_PROMPT",
    "MemoryMiddleware",
    "MemoryState",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "MEMORY_SYSTEM_PROMPT": "thalweg.middleware.memory.middleware",
        "MemoryMiddleware": "thalweg.middleware.memory.middleware",
        "MemoryState": "thalweg.middleware.memory.middleware",
    },
)
