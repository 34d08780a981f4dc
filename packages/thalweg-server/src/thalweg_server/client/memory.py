"""Memory: the document of it, its facts, its history, and how to forget."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import TypeAdapter

from thalweg_memory.facts.values import Category
from thalweg_server.api.memory import Commit, Commits, Facts, FactView, Forgotten, Recall
from thalweg_server.client.caller import Caller
from thalweg_server.client.calls import LONG_S, Answer
from thalweg_server.client.runs import MemoryMode

_DOCUMENT: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
_COMMIT: TypeAdapter[Commit | None] = TypeAdapter(Commit | None)
_MODE: TypeAdapter[dict[Literal["mode"], MemoryMode]] = TypeAdapter(
    dict[Literal["mode"], MemoryMode]
)
_FACT = "/facts/{}"


class MemoryCalls(Caller):
    """Client calls for memory: that of its agent, or the one that all agents share."""

    async def _memory(
        self,
        shape: type[Answer] | TypeAdapter[Answer],
        method: str,
        path: str = "",
        *names: object,
        query: Mapping[str, object] | None = None,
        **options: Any,  # noqa: ANN401 (other fields of `GatewayRequest`)
    ) -> Answer:
        """Send a request about the memory of the client's agent, of a path below `/api/memory`."""
        query, path = {**(query or {}), "agent": self._agent}, f"/api/memory{path}"
        return await self._ask(shape, method, path, *names, query=query, **options)

    async def get_memory(self) -> dict[str, Any]:
        """Return the memory: `userContext`, `history`, `facts`."""
        return await self._memory(_DOCUMENT, "GET")

    async def reload_memory(self) -> dict[str, Any]:
        """Reload memory from its store, and return it."""
        return await self._memory(_DOCUMENT, "POST", "/reload", again=True)

    async def get_memory_config(self) -> dict[str, Any]:
        """Return memory's settings: `enabled`, `max_facts` and the others."""
        return await self._memory(_DOCUMENT, "GET", "/config")

    async def get_memory_status(self) -> dict[str, Any]:
        """Return memory's settings as `config`, and the memory as `data`."""
        return await self._memory(_DOCUMENT, "GET", "/status")

    async def clear_memory(self) -> Commit | None:
        """Remember nothing any more; the commit can be undone. `None`: nothing was remembered."""
        return await self._memory(_COMMIT, "DELETE")

    async def export_memory(self, *, shape: Literal["seeds", "full"] = "seeds") -> dict[str, Any]:
        """Return memory as a document: in DeerFlow's shape, or with all fields."""
        return await self._memory(_DOCUMENT, "GET", "/export", query={"shape": shape})

    async def import_memory(self, document: Mapping[str, Any]) -> Commit | None:
        """Import a document into memory. `None`: it contains nothing new."""
        return await self._memory(_COMMIT, "POST", "/import", body=document, wait_s=LONG_S)

    async def list_facts(self, *, status: str | None = None) -> Facts:
        """List facts, the newest first: those of one status, or all that hold."""
        return await self._memory(Facts, "GET", "/facts", query={"status": status})

    async def add_fact(
        self, content: str, *, category: Category | None = None, confidence: float = 1.0
    ) -> FactView:
        """Remember a fact.

        Raises:
            FactRefusedError: It may not be remembered.
        """
        fact = {"content": content, "category": category, "confidence": confidence}
        return await self._memory(FactView, "POST", "/facts", body=fact)

    async def get_fact(self, fact: str) -> FactView:
        """Return a fact, with its source.

        Raises:
            NoSuchFactError: There is none with that id.
        """
        return await self._memory(FactView, "GET", _FACT, fact)

    async def edit_fact(
        self,
        fact: str,
        *,
        content: str | None = None,
        category: Category | None = None,
        confidence: float | None = None,
    ) -> FactView:
        """Change a fact; other fields are kept. Raises as `get_fact` and `add_fact`."""
        change = {"content": content, "category": category, "confidence": confidence}
        return await self._memory(FactView, "PATCH", _FACT, fact, body=change)

    async def delete_fact(self, fact: str) -> Commit:
        """Delete a fact; the commit can be undone. Raises as `get_fact`."""
        return await self._memory(Commit, "DELETE", _FACT, fact)

    async def review_fact(self, fact: str, *, accept: bool) -> FactView:
        """Accept or reject a fact that waits for review. Raises as `get_fact`."""
        path, body = f"{_FACT}/review", {"accept": accept}
        return await self._memory(FactView, "POST", path, fact, body=body)

    async def search_memory(self, words: str) -> Recall:
        """Return the facts that an agent would receive for these words."""
        return await self._memory(Recall, "GET", "/search", query={"q": words})

    async def explain_memory(self, words: str) -> Recall:
        """Return all candidates for these words, and why each is shown or not."""
        return await self._memory(Recall, "GET", "/explain", query={"q": words})

    async def memory_history(self, *, limit: int | None = None) -> Commits:
        """List changes of memory, the newest first."""
        return await self._memory(Commits, "GET", "/history", query={"limit": limit})

    async def undo_memory(self, operation: int) -> Commit:
        """Take back one change.

        Raises:
            NoSuchOperationError: There is none with that number.
        """
        return await self._memory(Commit, "POST", "/history/{}/undo", operation)

    async def forget_memory(
        self,
        *,
        facts: Sequence[str] = (),
        words: str = "",
        threads: Sequence[str] = (),
        everything: bool = False,
    ) -> Forgotten:
        """Delete permanently: facts, everything with some words, what threads taught, or all."""
        body = {
            "facts": list(facts),
            "words": words,
            "threads": list(threads),
            "everything": everything,
        }
        return await self._memory(Forgotten, "POST", "/forget", body=body)

    async def set_memory_mode(self, thread: str, mode: MemoryMode) -> MemoryMode:
        """Set what memory may do in a thread; return the effective mode."""
        path, query = "/api/threads/{}/memory", {"agent": self._agent}
        answer = await self._ask(_MODE, "PUT", path, thread, query=query, body={"mode": mode})
        return answer["mode"]
