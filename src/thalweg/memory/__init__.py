"""The memory of every owner: facts, turns and a profile, kept, indexed and brought back.

Two rules: every statement is bound to one scope, which the caller's handle was made for; what
a commit did can be undone until it is forgotten, and what is forgotten is nowhere.
"""

from thalweg.facts.settings import MemorySettings
from thalweg.facts.values import Fact, FactId, Profile, Scope
from thalweg.memory.base import MemoryStore, Operation, Receipt, Selection
from thalweg.memory.handle import Memory
from thalweg.memory.opening import open_memory
from thalweg.memory.recalling import Recalled

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
