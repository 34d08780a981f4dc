"""The memory of every owner: facts, turns and a profile, kept, indexed and brought back.

Two rules: every statement is bound to one scope, which the caller's handle was made for; what
a commit did can be undone until it is forgotten, and what is forgotten is nowhere.
"""

from thalweg.memory.base import MemoryStore
from thalweg.memory.handle import Memory
from thalweg.memory.opening import open_memory

__all__ = ["Memory", "MemoryStore", "open_memory"]
