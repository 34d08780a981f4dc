"""Assistants of one owner: the graphs that are served, and configs of them that clients store."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4, uuid5

from thalweg.errors import NoSuchAssistantError
from thalweg_server.api.graph_runs import BUILT_IN
from thalweg_server.app.agents.graph_definitions import graph_definitions
from thalweg_server.app.runs import now_ms
from thalweg_server.app.views import moment

if TYPE_CHECKING:
    from thalweg_server.app.documents import Document
    from thalweg_server.app.parts import AppParts

KIND = "assistant"
_NEVER = moment(0)


@dataclass(frozen=True, slots=True)
class Assistant:
    """A graph with a config."""

    id: str
    graph: str
    name: str
    description: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    context: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1
    created: datetime = _NEVER
    updated: datetime = _NEVER


class TenantAssistants:
    """The assistants of one owner.

    Raises (all that name an assistant):
        NoSuchAssistantError: There is none.
    """

    def __init__(self, owner: str, parts: "AppParts") -> None:
        self._owner = owner
        self._parts = parts
        self._documents = parts.registry.documents

    async def graphs(self) -> dict[str, str]:
        """Return the ids of the graphs with their descriptions, that of the gateway first."""
        own = await asyncio.to_thread(graph_definitions, self._parts.settings())
        return {BUILT_IN: ""} | {name: one.description for name, one in own.items()}

    async def list(self) -> Sequence[Assistant]:
        """Return all assistants: one for each graph, then those that the owner stored."""
        graphs = await self.graphs()
        stored = await asyncio.to_thread(self._documents.list, self._owner, KIND)
        own = sorted(map(_read, stored), key=lambda one: one.created)
        return [_of_graph(*graph) for graph in graphs.items()] + own

    async def get(self, id_: str) -> Assistant:
        """Return an assistant by its id, or that of a graph by the graph's id."""
        for graph in (await self.graphs()).items():
            if id_ in {graph[0], graph_assistant(graph[0])}:
                return _of_graph(*graph)
        found = await asyncio.to_thread(self._documents.get, self._owner, KIND, id_)
        if found is None:
            raise NoSuchAssistantError(id_)
        return _read(found)

    async def create(self, new: Assistant) -> Assistant:
        """Store an assistant; one without an id gets one."""
        if new.graph not in await self.graphs():
            raise NoSuchAssistantError(new.graph)
        new = replace(new, id=new.id or str(uuid4()))
        return await self._put(new, [])

    async def update(self, id_: str, fields: Mapping[str, Any]) -> Assistant:
        """Store a new version of an assistant; `metadata` is merged."""
        before = await self._own(id_)
        metadata = {**before.metadata, **(fields.get("metadata") or {})}
        versions = await self.versions(id_)
        version = max(one.version for one in versions) + 1
        new = replace(before, **{**fields, "metadata": metadata, "version": version})
        return await self._put(new, versions)

    async def versions(self, id_: str) -> Sequence[Assistant]:
        """Return the versions of an assistant, the newest first."""
        found = await asyncio.to_thread(self._documents.get, self._owner, KIND, id_)
        if found is None:
            return [await self.get(id_)]
        return [_parse(body, found) for body in found.body["versions"]]

    async def select(self, id_: str, version: int) -> Assistant:
        """Make an earlier version the one that runs use."""
        versions = await self.versions(id_)
        await self._own(id_)
        for one in versions:
            if one.version == version:
                return await self._put(one, versions, is_new=False)
        raise NoSuchAssistantError(id_)

    async def delete(self, id_: str) -> None:
        """Delete an assistant; its threads remain."""
        await self._own(id_)
        await asyncio.to_thread(self._documents.delete, self._owner, KIND, id_)

    async def _own(self, id_: str) -> Assistant:
        found = await asyncio.to_thread(self._documents.get, self._owner, KIND, id_)
        if found is None:  # that of a graph belongs to the settings
            raise NoSuchAssistantError(id_)
        return _read(found)

    async def _put(
        self, new: Assistant, versions: Sequence[Assistant], *, is_new: bool = True
    ) -> Assistant:
        every = [new, *versions] if is_new else versions
        body = {**_body(new), "versions": [_body(one) for one in every]}
        put = self._documents.put
        return _read(await asyncio.to_thread(put, self._owner, KIND, new.id, body, now_ms()))


def graph_assistant(graph: str) -> str:
    """Return the id of the assistant that a graph has without being stored.

    Example:
        >>> graph_assistant("agent")
        'fe096781-5601-53d2-b2f6-0d3403f7e9ca'
    """
    return str(uuid5(_NAMESPACE, graph))


_NAMESPACE = UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")  # LangGraph's: the id is the same there
_FIELDS = ("id", "graph", "name", "description", "config", "context", "metadata", "version")


def _of_graph(graph: str, description: str) -> Assistant:
    return Assistant(
        graph_assistant(graph), graph, graph, description or None, metadata={"created_by": "system"}
    )


def _body(one: Assistant) -> dict[str, Any]:
    return {name: getattr(one, name) for name in _FIELDS}


def _read(found: "Document") -> Assistant:
    return _parse(found.body, found)


def _parse(body: Mapping[str, Any], found: "Document") -> Assistant:
    fields = {name: body[name] for name in _FIELDS}
    return Assistant(**fields, created=moment(found.created), updated=moment(found.updated))
