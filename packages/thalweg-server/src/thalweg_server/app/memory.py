"""The memory of one owner, and every manual change of it."""

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, get_args

from thalweg_memory import Fact, Memory, Scope
from thalweg_memory.facts.values import Mode, Status
from thalweg_memory.handle import documents_of
from thalweg_server.api.memory import (
    Commit,
    Commits,
    FactChange,
    Facts,
    FactView,
    Forget,
    Forgotten,
    MemoryDocument,
    NewFact,
    Recall,
    Review,
)
from thalweg_server.app.memory_views import (
    commit_view,
    fact_view,
    forgotten_view,
    recall_view,
    whole,
)

if TYPE_CHECKING:
    from thalweg_server.app.parts import AppParts

P = ParamSpec("P")
T = TypeVar("T")
_STATUSES: tuple[Status, ...] = get_args(Status)


class TenantMemory:
    """The memory of one owner, or of an agent with a memory of its own for that owner.

    Raises (all that change something):
        MemoryOffError: Memory is off or read-only.

    Raises (all that name a fact):
        NoSuchFactError: There is none.
    """

    def __init__(self, owner: str, parts: "AppParts", agent: str = "") -> None:
        self._scope = Scope(owner, agent)
        self._parts = parts

    def of_agent(self, agent: str) -> "TenantMemory":
        """Return the memory of one of the owner's agents; empty for the one that all share."""
        return TenantMemory(self._scope.owner, self._parts, agent)

    async def document(self) -> MemoryDocument:
        """Return the memory in DeerFlow's shape."""
        return await self._known(
            "document", lambda memory: MemoryDocument.model_validate_json(memory.export())
        )

    async def reload(self) -> MemoryDocument:
        """Import manual edits of the document (`storage: json`).

        Raises:
            DocumentError: The document cannot be read; nothing was changed.
        """
        if documents_of(self._parts.memories) is not None:
            await self._ask(Memory.reload)
        return await self.document()

    async def config(self) -> dict[str, Any]:
        """Return the settings of memory, DeerFlow's keys at the top level."""
        return self._parts.settings().memory.model_dump(mode="json")

    async def status(self) -> dict[str, Any]:
        """Return settings and document together: `{config, data}`."""
        return {"config": await self.config(), "data": await self.export()}

    async def clear(self) -> Commit | None:
        """Remove everything; this can be undone. Return `None` if there was nothing."""
        done = await self._ask(Memory.clear)
        return None if done is None else commit_view(done)

    async def export(self, shape: Literal["seeds", "full"] = "seeds") -> dict[str, Any]:
        """Write the memory as a document."""
        text = await self._ask(Memory.export)
        if shape == "seeds":
            document: dict[str, Any] = json.loads(text)
            return document
        return whole(text, await self._ask(Memory.facts, *_STATUSES))

    async def import_(self, document: dict[str, Any]) -> Commit | None:
        """Import a document; return `None` if it contains nothing new.

        Raises:
            DocumentError: It cannot be parsed; nothing was changed.
        """
        text = json.dumps(document, ensure_ascii=False)
        done = await self._ask(Memory.import_, text, where="the document")
        return None if done is None else commit_view(done)

    async def facts(self, status: Status | None = None) -> Facts:
        """Return facts of a status, newest first; the valid ones by default."""

        def listed(memory: Memory) -> Facts:
            found = memory.facts(*((status,) if status else ()))
            return Facts(items=tuple(map(fact_view, reversed(found))))

        return await self._known(f"facts {status}", listed)

    async def add(self, new: NewFact) -> FactView:
        """Remember a statement on the user's own word.

        Raises:
            FactRefusedError: It may not be remembered.
        """
        category, confidence = new.category or "knowledge", new.confidence
        return fact_view(
            await self._ask(Memory.remember, new.content, category=category, confidence=confidence)
        )

    async def fact(self, id_: str) -> FactView:
        """Return one fact of any status, with its evidence."""
        return fact_view(await self._ask(Memory.fact, id_))

    async def edit(self, id_: str, change: FactChange) -> FactView:
        """Edit a fact; the history keeps its former text.

        Raises:
            FactRefusedError: The new content is not allowed.
        """
        edited = await self._ask(
            Memory.edit,
            id_,
            content=change.content,
            category=change.category,
            confidence=change.confidence,
        )
        return fact_view(edited)

    async def delete(self, id_: str) -> Commit:
        """Take a fact out; it can be undone."""

        def delete(memory: Memory) -> Commit:
            done = memory.delete(id_)
            newest = memory.history(limit=1)[0] if done is None else done
            return commit_view(newest)

        return await self._ask(delete)

    async def review(self, id_: str, review: Review) -> FactView:
        """Accept or reject a fact that waits for the user's word.

        Raises:
            NoSuchFactError: No such fact waits.
        """

        def decide(memory: Memory) -> Fact:
            fact = memory.fact(id_)
            (memory.accept if review.accept else memory.reject)(id_)
            there = memory.facts(*_STATUSES)
            return next((one for one in there if one.id == id_), fact)

        return fact_view(await self._ask(decide))

    async def search(self, q: str) -> Recall:
        """Return the facts that a run about these words would receive."""
        return recall_view(q, await self._ask(Memory.search, q))

    async def explain(self, q: str) -> Recall:
        """Return all candidates for these words, and why each would be shown or not."""
        return recall_view(q, await self._ask(Memory.explain, q))

    async def history(self, limit: int = 50) -> Commits:
        """List changes, newest first."""
        done = await self._ask(Memory.history, limit=limit)
        return Commits(items=tuple(map(commit_view, done)))

    async def undo(self, operation: int) -> Commit:
        """Put back what one change replaced.

        Raises:
            NoSuchOperationError: There is none.
        """
        return commit_view(await self._ask(Memory.undo, operation))

    async def forget(self, what: Forget) -> Forgotten:
        """Delete for good; works where memory is off, too.

        Raises:
            ConfigError: Nothing is named.
            NoSuchFactError: A fact that is named is not there.
        """
        receipt = await self._ask(
            Memory.forget,
            *what.facts,
            threads=what.threads,
            query=what.words,
            everything=what.everything,
        )
        return forgotten_view(receipt)

    async def set_mode(self, thread: str, mode: Mode) -> Mode:
        """Set what memory does with a thread: `on`, `read_only`, `incognito` or `off`."""
        await self._ask(Memory.set_mode, thread, mode)
        return mode

    async def _known(self, name: str, make: Callable[[Memory], T]) -> T:
        """Return a value that is cached until the memory changes, by any process."""
        parts, scope = self._parts, self._scope

        def find(memory: Memory) -> T:
            version = parts.memories.version(scope)
            return parts.kept.get((scope, name), version, lambda: make(memory))

        return await self._ask(find)

    async def _ask(
        self, do: Callable[Concatenate[Memory, P], T], *given: P.args, **named: P.kwargs
    ) -> T:
        memory = memory_of(self._scope, self._parts)
        return await asyncio.to_thread(do, memory, *given, **named)


def memory_of(scope: Scope, parts: "AppParts") -> Memory:
    """Return the memory of a scope, under the settings of the moment."""
    return Memory(parts.memories, scope, settings=parts.settings().memory)
