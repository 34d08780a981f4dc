"""Memory: the document of it, its facts, its history, and how to forget."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import TypeAdapter

from thalweg.client.caller import Caller
from thalweg.client.calls import Answer, GatewayRequest, path_of
from thalweg.client.runs import MemoryMode
from thalweg.memory.facts.values import Category
from thalweg.server.api.memory import Commit, Commits, Facts, FactView, Forgotten, Recall

_DOCUMENT: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
_COMMIT: TypeAdapter[Commit | None] = TypeAdapter(Commit | None)
_MODE: TypeAdapter[dict[Literal["mode"], MemoryMode]] = TypeAdapter(
    dict[Literal["mode"], MemoryMode]
)
_FACT = "/api/memory/facts/{}"
_UNDO = "/api/memory/history/{}/undo"
_LONG_S = 600.0
"""A large document takes its time."""


class MemoryCalls(Caller):
    """What a client does with memory: that of its agent, or the one that all agents share."""

    async def _recalled(
        self, call: GatewayRequest, shape: type[Answer] | TypeAdapter[Answer]
    ) -> Answer:
        """Make a request about the memory of the client's agent."""
        return await self._ask(replace(call, query={**call.query, "agent": self._agent}), shape)

    async def get_memory(self) -> dict[str, Any]:
        """Return the memory: `userContext`, `history`, `facts`."""
        return await self._recalled(GatewayRequest("GET", "/api/memory"), _DOCUMENT)

    async def reload_memory(self) -> dict[str, Any]:
        """Reload memory from its store, and return it."""
        return await self._recalled(
            GatewayRequest("POST", "/api/memory/reload", again=True), _DOCUMENT
        )

    async def get_memory_config(self) -> dict[str, Any]:
        """Return memory's settings: `enabled`, `max_facts` and the others."""
        return await self._recalled(GatewayRequest("GET", "/api/memory/config"), _DOCUMENT)

    async def get_memory_status(self) -> dict[str, Any]:
        """Return memory's settings as `config`, and the memory as `data`."""
        return await self._recalled(GatewayRequest("GET", "/api/memory/status"), _DOCUMENT)

    async def clear_memory(self) -> Commit | None:
        """Remember nothing any more; the commit can be undone. `None`: nothing was remembered."""
        return await self._recalled(GatewayRequest("DELETE", "/api/memory"), _COMMIT)

    async def export_memory(self, *, shape: Literal["seeds", "full"] = "seeds") -> dict[str, Any]:
        """Return memory as a document: in DeerFlow's shape, or with all fields."""
        return await self._recalled(
            GatewayRequest("GET", "/api/memory/export", {"shape": shape}), _DOCUMENT
        )

    async def import_memory(self, document: Mapping[str, Any]) -> Commit | None:
        """Import a document into memory. `None`: it contains nothing new."""
        call = GatewayRequest("POST", "/api/memory/import", body=document, wait_s=_LONG_S)
        return await self._recalled(call, _COMMIT)

    async def list_facts(self, *, status: str | None = None) -> Facts:
        """List facts, the newest first: those of one status, or all that hold."""
        return await self._recalled(
            GatewayRequest("GET", "/api/memory/facts", {"status": status}), Facts
        )

    async def add_fact(
        self, content: str, *, category: Category | None = None, confidence: float = 1.0
    ) -> FactView:
        """Remember a fact.

        Raises:
            FactRefusedError: It may not be remembered.
        """
        fact = {"content": content, "category": category, "confidence": confidence}
        return await self._recalled(
            GatewayRequest("POST", "/api/memory/facts", body=fact), FactView
        )

    async def get_fact(self, fact: str) -> FactView:
        """Return a fact, with its source.

        Raises:
            NoSuchFactError: There is none with that id.
        """
        return await self._recalled(GatewayRequest("GET", path_of(_FACT, fact)), FactView)

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
        return await self._recalled(
            GatewayRequest("PATCH", path_of(_FACT, fact), body=change), FactView
        )

    async def delete_fact(self, fact: str) -> Commit:
        """Delete a fact; the commit can be undone. Raises as `get_fact`."""
        return await self._recalled(GatewayRequest("DELETE", path_of(_FACT, fact)), Commit)

    async def review_fact(self, fact: str, *, accept: bool) -> FactView:
        """Accept or reject a fact that waits for review. Raises as `get_fact`."""
        call = GatewayRequest("POST", path_of(_FACT + "/review", fact), body={"accept": accept})
        return await self._recalled(call, FactView)

    async def search_memory(self, words: str) -> Recall:
        """Return what an agent would be shown for these words."""
        return await self._recalled(
            GatewayRequest("GET", "/api/memory/search", {"q": words}), Recall
        )

    async def explain_memory(self, words: str) -> Recall:
        """Return all candidates for these words, and why each is shown or not."""
        return await self._recalled(
            GatewayRequest("GET", "/api/memory/explain", {"q": words}), Recall
        )

    async def memory_history(self, *, limit: int | None = None) -> Commits:
        """List changes of memory, the newest first."""
        return await self._recalled(
            GatewayRequest("GET", "/api/memory/history", {"limit": limit}), Commits
        )

    async def undo_memory(self, operation: int) -> Commit:
        """Take back one change.

        Raises:
            NoSuchOperationError: There is none with that number.
        """
        return await self._recalled(GatewayRequest("POST", path_of(_UNDO, operation)), Commit)

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
        return await self._recalled(
            GatewayRequest("POST", "/api/memory/forget", body=body), Forgotten
        )

    async def set_memory_mode(self, thread: str, mode: MemoryMode) -> MemoryMode:
        """Set what memory may do in a thread; return the effective mode."""
        call = GatewayRequest("PUT", path_of("/api/threads/{}/memory", thread), body={"mode": mode})
        return (await self._recalled(call, _MODE))["mode"]
