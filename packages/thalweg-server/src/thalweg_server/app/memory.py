"""The memory of one owner, for calls of `thalweg_memory.Memory`."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from thalweg_memory import Memory, Scope

if TYPE_CHECKING:
    from thalweg_server.app.parts import AppParts

P = ParamSpec("P")
T = TypeVar("T")


class TenantMemory:
    """The memory of one owner, or of an agent with a memory of its own for that owner."""

    def __init__(self, owner: str, parts: "AppParts", agent: str = "") -> None:
        self._scope = Scope(owner, agent)
        self._parts = parts

    def of_agent(self, agent: str) -> "TenantMemory":
        """Return the memory of one of the owner's agents; empty for the one that all share."""
        return TenantMemory(self._scope.owner, self._parts, agent)

    async def ask(
        self, do: Callable[Concatenate[Memory, P], T], *given: P.args, **named: P.kwargs
    ) -> T:
        """Call a method of `Memory`, or another function of one, in a thread.

        Raises:
            MemoryOffError: It changes something, and memory is off or read-only.
            NoSuchFactError: It names a fact, and there is none.
        """
        memory = memory_of(self._scope, self._parts)
        return await asyncio.to_thread(do, memory, *given, **named)

    async def cached(self, name: str, make: Callable[[Memory], T]) -> T:
        """Return a value that is cached until the memory changes, by any process."""
        parts, scope = self._parts, self._scope

        def find(memory: Memory) -> T:
            version = parts.memories.version(scope)
            return parts.kept.get((scope, name), version, lambda: make(memory))

        return await self.ask(find)


def memory_of(scope: Scope, parts: "AppParts") -> Memory:
    """Return the memory of a scope, under the settings of the moment."""
    return Memory(parts.memories, scope, settings=parts.settings().memory)
