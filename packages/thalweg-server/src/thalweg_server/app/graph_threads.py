"""Threads of one owner as LangGraph's API has them: metadata, state, checkpoints."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from thalweg.errors import AnswerError, BusyError
from thalweg_server.api.graph_runs import BUILT_IN
from thalweg_server.app.finding import Finder, ThreadFilter
from thalweg_server.app.media_urls import check_media_urls
from thalweg_server.app.registry import THREAD_METADATA, ThreadRow
from thalweg_server.app.runs import now_ms
from thalweg_server.runs.base import RunRecord

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.types import StateSnapshot

    from thalweg_server.app.agents.agents import Agent
    from thalweg_server.app.parts import AppParts

ThreadStatus = Literal["idle", "busy", "interrupted", "error"]
MOST_THREADS = 100_000
"""Threads that one search looks at."""
_PRIVATE = "thalweg_"
"""Begins the names of the channels in which the context engine notes where it is."""


@dataclass(frozen=True, slots=True)
class GraphThread:
    """A thread with its metadata."""

    row: ThreadRow
    metadata: Mapping[str, Any]
    status: ThreadStatus


def status_of(newest: RunRecord | None) -> ThreadStatus:
    """Return the status of a thread by its newest run."""
    if newest is None:
        return "idle"
    statuses: dict[str, ThreadStatus] = {
        "queued": "busy",
        "running": "busy",
        "interrupted": "interrupted",
        "failed": "error",
    }
    return statuses.get(newest.status, "idle")


class TenantGraphThreads:
    """The threads of one owner.

    Raises (all that name a thread):
        NoSuchThreadError: There is none.
    """

    def __init__(self, owner: str, parts: "AppParts") -> None:
        self._owner = owner
        self._parts = parts
        self._finder = Finder(owner, parts.archive, parts.registry)
        self._documents = parts.registry.documents

    async def create(self, thread: str | None, metadata: Mapping[str, Any]) -> GraphThread:
        """Make a thread.

        Raises:
            ThreadExistsError: There is one with that id.
        """
        registry, id_ = self._parts.registry, thread or str(uuid4())
        await asyncio.to_thread(self._finder.adopt)
        await asyncio.to_thread(registry.create, self._owner, id_, "", now_ms())
        await self.merge(id_, metadata)  # also if it is empty: it marks a thread of this API
        return await self.get(id_)

    async def get(self, thread: str) -> GraphThread:
        """Return one thread."""
        row = await asyncio.to_thread(self._finder.get, thread)
        found = await asyncio.to_thread(self._documents.get, self._owner, THREAD_METADATA, thread)
        journal = self._parts.journal
        runs = await journal.unended(self._owner, thread)
        runs = runs or await journal.list(self._owner, thread, limit=1)
        return GraphThread(row, found.body if found else {}, status_of(runs[0] if runs else None))

    async def list(self) -> Sequence[GraphThread]:
        """Return all threads, the one that was used last first."""
        found = await asyncio.to_thread(self._finder.find, ThreadFilter(), MOST_THREADS)
        rows = [one.row for one in found]
        every = await asyncio.to_thread(self._documents.list, self._owner, THREAD_METADATA)
        metadata = {one.name: one.body for one in every}
        newest = await self._parts.journal.newest(self._owner)
        return [
            GraphThread(row, metadata.get(row.thread, {}), status_of(newest.get(row.thread)))
            for row in rows
        ]

    async def merge(self, thread: str, metadata: Mapping[str, Any]) -> None:
        """Add fields to the metadata of a thread."""
        change: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda old: {**old, **metadata}  # noqa: E731
        await asyncio.to_thread(
            self._documents.change, self._owner, THREAD_METADATA, thread, change, now_ms()
        )

    async def snapshot(
        self,
        thread: str,
        checkpoint: str | None = None,
        namespace: str = "",
        *,
        subgraphs: bool = False,
    ) -> "StateSnapshot":
        """Return the state of a thread at a checkpoint, by default the newest."""
        graph, config = await self._graph(thread, checkpoint, namespace)
        return await graph.aget_state(config, subgraphs=subgraphs)

    async def history(
        self,
        thread: str,
        *,
        limit: int,
        before: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        namespace: str = "",
    ) -> "Sequence[StateSnapshot]":
        """Return the states of a thread, the newest first.

        Args:
            thread: The thread.
            limit: How many at most.
            before: The checkpoint after which the list continues.
            metadata: Fields that the metadata of a checkpoint has.
            namespace: The subgraph.
        """
        graph, config = await self._graph(thread, None, namespace)
        earlier: RunnableConfig | None = None
        if before is not None:
            place = {**config["configurable"], "checkpoint_id": before}
            earlier = {"configurable": place}
        found: AsyncIterator[StateSnapshot] = graph.aget_state_history(
            config, filter=dict(metadata) if metadata else None, before=earlier, limit=limit
        )
        return [snapshot async for snapshot in found]

    def check_values(self, values: object) -> None:
        """Validate the addresses in the messages of an update; see `check_media_urls`.

        Raises:
            ConfigError: One is not allowed.
        """
        if not self._parts.settings().gateway.private_urls:
            check_media_urls(values)

    async def update(
        self,
        thread: str,
        values: Any,  # noqa: ANN401 (any graph's)
        *,
        node: str | None = None,
        checkpoint: str | None = None,
        namespace: str = "",
    ) -> "RunnableConfig":
        """Change the state of a thread as a node of its graph would.

        Returns:
            The config of the new checkpoint.

        Raises:
            BusyError: A run of the thread has not ended.
            AnswerError: The graph refuses the values.
            ConfigError: See `check_values`.
        """
        from langgraph.constants import START  # noqa: PLC0415 (LangGraph: seconds)
        from langgraph.errors import (  # noqa: PLC0415 (the same)
            EmptyChannelError,
            InvalidUpdateError,
        )

        if unended := await self._parts.journal.unended(self._owner, thread):
            raise BusyError(thread, unended[0].key.run)
        self.check_values(values)
        graph, config = await self._graph(thread, checkpoint, namespace)
        if node is None and (await graph.aget_state(config)).created_at is None:
            node = START
        update = [one for one in values if one] if isinstance(values, list) else [values]
        try:
            for one in update:
                config = await graph.aupdate_state(config, _with_messages(one), as_node=node)
        except (InvalidUpdateError, EmptyChannelError, ValueError, TypeError) as error:
            fix = "name the node in as_node, or change the values"
            raise AnswerError(f"{type(error).__name__}: {error}"[:500], fix) from None
        await self.merge(thread, {})  # its runs keep all checkpoints from now on
        return config

    async def restore(self, thread: str, checkpoint: str) -> None:
        """Make the state at a checkpoint the newest of its thread."""
        graph, config = await self._graph(thread, checkpoint)
        await graph.aupdate_state(config, None, as_node="__copy__")

    async def copy(self, thread: str) -> GraphThread:
        """Make a thread with the newest state and the metadata of another one."""
        source = await self.get(thread)
        made = await self.create(None, source.metadata)
        snapshot = await self.snapshot(thread)
        values = snapshot.values
        if isinstance(values, dict):
            values = {key: one for key, one in values.items() if not key.startswith(_PRIVATE)}
        if snapshot.created_at is not None and values:
            from langgraph.constants import START  # noqa: PLC0415 (LangGraph: seconds)

            await self.update(made.row.thread, values, node=START)
        return made

    async def graph_id(self, thread: str) -> str:
        """Return the graph of a thread: that of its newest run, or of its metadata."""
        graph = (await self.get(thread)).metadata.get("graph_id")
        return graph if isinstance(graph, str) else BUILT_IN

    async def _graph(
        self, thread: str, checkpoint: str | None, namespace: str = ""
    ) -> "tuple[Agent, RunnableConfig]":
        """Return the graph of a thread over its checkpoints, and the config of a checkpoint."""
        place = {"thread_id": thread, "owner": self._owner, "checkpoint_ns": namespace}
        if checkpoint is not None:
            place["checkpoint_id"] = checkpoint
        config: RunnableConfig = {"configurable": place}
        name = await self.graph_id(thread)
        agents = await self._parts.agents()
        graph = await agents.graph(self._parts.settings(), name, config)
        saver = self._parts.checkpoints.of(self._owner)
        return graph.copy({"checkpointer": saver}), config


def _with_messages(values: Any) -> Any:  # noqa: ANN401 (any graph's)
    """Return an update with its messages as LangChain's objects, which every reducer takes."""
    if not isinstance(values, dict) or not isinstance(values.get("messages"), list):
        return values
    from langchain_core.messages import convert_to_messages  # noqa: PLC0415 (LangChain: seconds)

    return {**values, "messages": convert_to_messages(values["messages"])}
