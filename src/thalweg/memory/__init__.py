"""The memory of every owner: facts, turns and a profile, kept, indexed and brought back.

Two rules: every statement is bound to one scope, which the caller's handle was made for; what
a commit did can be undone until it is forgotten, and what is forgotten is nowhere.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazily

if TYPE_CHECKING:
    from thalweg.memory.base import MemoryStore, Operation, Receipt, Selection
    from thalweg.memory.facts.recall.packing import Recalled
    from thalweg.memory.facts.settings import MemorySettings
    from thalweg.memory.facts.values import Fact, FactId, Profile, Scope
    from thalweg.memory.handle import Memory
    from thalweg.memory.opening import open_memory

__all__ = [
    "Fact",
    "FactId",
    "Memory",
    "MemorySettings",
    "MemoryStore",
    "Operation",
    "Profile",
    "Recalled",
    "Receipt",
    "Scope",
    "Selection",
    "open_memory",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Fact": "thalweg.memory.facts.values",
        "FactId": "thalweg.memory.facts.values",
        "Memory": "thalweg.memory.handle",
        "MemorySettings": "thalweg.memory.facts.settings",
        "MemoryStore": "thalweg.memory.base",
        "Operation": "thalweg.memory.base",
        "Profile": "thalweg.memory.facts.values",
        "Recalled": "thalweg.memory.facts.recall.packing",
        "Receipt": "thalweg.memory.base",
        "Scope": "thalweg.memory.facts.values",
        "Selection": "thalweg.memory.base",
        "open_memory": "thalweg.memory.opening",
    },
)
