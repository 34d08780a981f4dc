"""The memory of every owner: facts, turns and a profile, stored, indexed and recalled.

Two rules: every statement is bound to one scope, for which the caller's handle was made; the
effects of a commit can be undone until it is forgotten, and forgotten content is stored nowhere.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg_memory.facts.recall.rendering import Recalled
    from thalweg_memory.facts.settings import MemorySettings
    from thalweg_memory.facts.values import Fact, FactId, Profile, Scope
    from thalweg_memory.handle import Memory, open_memory
    from thalweg_memory.middleware.middleware import MemoryMiddleware
    from thalweg_memory.recalling import format_memory_for_injection
    from thalweg_memory.store.records import Operation, Receipt, Selection
    from thalweg_memory.store.tables import MemoryStore

__all__ = [
    "Fact",
    "FactId",
    "Memory",
    "MemoryMiddleware",
    "MemorySettings",
    "MemoryStore",
    "Operation",
    "Profile",
    "Recalled",
    "Receipt",
    "Scope",
    "Selection",
    "format_memory_for_injection",
    "open_memory",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Fact": "thalweg_memory.facts.values",
        "FactId": "thalweg_memory.facts.values",
        "Memory": "thalweg_memory.handle",
        "MemoryMiddleware": "thalweg_memory.middleware.middleware",
        "MemorySettings": "thalweg_memory.facts.settings",
        "MemoryStore": "thalweg_memory.store.tables",
        "Operation": "thalweg_memory.store.records",
        "Profile": "thalweg_memory.facts.values",
        "Recalled": "thalweg_memory.facts.recall.rendering",
        "Receipt": "thalweg_memory.store.records",
        "Scope": "thalweg_memory.facts.values",
        "Selection": "thalweg_memory.store.records",
        "format_memory_for_injection": "thalweg_memory.recalling",
        "open_memory": "thalweg_memory.handle",
    },
)
