"""Threads of one owner as LangGraph's API has them: metadata, state and checkpoints."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv6Network, ip_address
from typing import TYPE_CHECKING, Any, Literal
from unicodedata import normalize
from urllib.parse import urlsplit
from uuid import uuid4

from thalweg.errors import AnswerError, BusyError, ConfigError
from thalweg_server.api.graph_runs import BUILT_IN, GraphRun, read_request
from thalweg_server.app.configured import Assistant, graph_assistant
from thalweg_server.app.parts import AppParts, TenantPart
from thalweg_server.app.registry import (
    THREAD_METADATA,
    ThreadFilter,
    ThreadRow,
    moment,
)
from thalweg_server.runs.base import RunRecord, Status, now_ms

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.types import StateSnapshot

    from thalweg_server.app.agents import Agent

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


class TenantGraphThreads(TenantPart):
    """The threads of one owner.

    Raises (all that name a thread):
        NoSuchThreadError: There is none.
    """

    def __init__(self, owner: str, parts: AppParts) -> None:
        super().__init__(owner, parts)
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
        newest = await self._parts.journal.unended_or_newest(self._owner)
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

        refusals = (InvalidUpdateError, EmptyChannelError)
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
        except (*refusals, *MESSAGE_ERRORS) as error:
            fix = "name the node in as_node, or change the values"
            raise AnswerError(f"{type(error).__name__}: {error}"[:500], fix) from None
        await self.merge(thread, {})  # its runs keep all checkpoints from now on
        await self.touch(thread)
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


MESSAGE_ERRORS = (AttributeError, KeyError, NotImplementedError, TypeError, ValueError)
"""Errors of LangChain's `convert_to_messages`."""


def _with_messages(values: Any) -> Any:  # noqa: ANN401 (any graph's)
    """Return an update with its messages as LangChain's objects, which every reducer takes."""
    if not isinstance(values, dict) or not isinstance(values.get("messages"), list):
        return values
    from langchain_core.messages import convert_to_messages  # noqa: PLC0415 (LangChain: seconds)

    return {**values, "messages": convert_to_messages(values["messages"])}


View = dict[str, Any]
STATUSES: Mapping[Status, str] = {
    "queued": "pending",
    "running": "running",
    "completed": "success",
    "failed": "error",
    "cancelled": "interrupted",
    "interrupted": "interrupted",
}
"""The statuses of runs, as this API has them."""


def assistant_view(one: Assistant) -> View:
    """Show an assistant."""
    return {
        "assistant_id": one.id,
        "graph_id": one.graph,
        "name": one.name,
        "description": one.description,
        "config": dict(one.config),
        "context": one.context or {},
        "metadata": dict(one.metadata),
        "version": one.version,
        "created_at": one.created.isoformat(),
        "updated_at": one.updated.isoformat(),
    }


def run_view(run: RunRecord) -> View:
    """Show a run; one of `/api` is a run of the gateway's agent."""
    request = read_request(run.request)
    if not isinstance(request, GraphRun):
        request = GraphRun(graph="agent", assistant=graph_assistant("agent"))
    changed = run.ended or run.started or run.created
    return {
        "run_id": run.key.run,
        "thread_id": run.key.thread,
        "assistant_id": request.assistant,
        "created_at": run.created.isoformat(),
        "updated_at": changed.isoformat(),
        "status": STATUSES[run.status],
        "metadata": {
            "graph_id": request.graph,
            "assistant_id": request.assistant,
            **request.metadata,
        },
        "kwargs": {
            "input": request.input,
            "command": request.command,
            "config": request.config,
            "context": request.context,
            "stream_mode": request.client.get("stream_mode", ["values"]),
            "subgraphs": request.subgraphs,
        },
        "multitask_strategy": request.client.get("multitask_strategy", "reject"),
    }


def thread_view(thread: GraphThread, snapshot: "StateSnapshot | None" = None) -> View:
    """Show a thread, with the values of its newest state if that was read."""
    from thalweg_server.app.streaming import jsonable  # noqa: PLC0415 (LangChain: seconds)

    row = thread.row
    tasks = snapshot.tasks if snapshot is not None else ()
    return {
        "thread_id": row.thread,
        "created_at": moment(row.created).isoformat(),
        "updated_at": moment(row.updated).isoformat(),
        "state_updated_at": moment(row.updated).isoformat(),
        "metadata": {**({"title": row.title} if row.title else {}), **thread.metadata},
        "status": thread.status,
        "config": {},
        "values": None if snapshot is None else jsonable(snapshot.values),
        "interrupts": {task.id: jsonable(task.interrupts) for task in tasks if task.interrupts},
        "error": None,
    }


def snapshot_view(snapshot: "StateSnapshot") -> View:
    """Show a state of a thread."""
    from thalweg_server.app.streaming import jsonable  # noqa: PLC0415 (LangChain: seconds)

    return {
        "values": jsonable(snapshot.values),
        "next": list(snapshot.next),
        "tasks": [_task_view(task) for task in snapshot.tasks],
        "metadata": jsonable(_without_owner(snapshot.metadata or {})),
        "created_at": snapshot.created_at,
        "checkpoint": checkpoint_view(snapshot.config),
        "parent_checkpoint": None
        if snapshot.parent_config is None
        else checkpoint_view(snapshot.parent_config),
        "interrupts": jsonable(snapshot.interrupts),
        "checkpoint_id": snapshot.config["configurable"].get("checkpoint_id"),
        "parent_checkpoint_id": (snapshot.parent_config or {})
        .get("configurable", {})
        .get("checkpoint_id"),
    }


def checkpoint_view(config: "RunnableConfig") -> View:
    """Show which checkpoint a config names."""
    place = config["configurable"]
    return {
        "thread_id": place.get("thread_id"),
        "checkpoint_ns": place.get("checkpoint_ns", ""),
        "checkpoint_id": place.get("checkpoint_id"),
        "checkpoint_map": place.get("checkpoint_map"),
    }


def _task_view(task: Any) -> View:  # noqa: ANN401 (LangGraph's)
    from thalweg_server.app.streaming import jsonable  # noqa: PLC0415 (LangChain: seconds)

    is_config = isinstance(task.state, dict)
    is_state = task.state is not None and not is_config
    return {
        "id": task.id,
        "name": task.name,
        "path": jsonable(task.path),
        "error": None if task.error is None else str(task.error),
        "interrupts": jsonable(task.interrupts),
        "checkpoint": checkpoint_view(task.state) if is_config else None,
        "state": snapshot_view(task.state) if is_state else None,
        "result": jsonable(task.result),
    }


def _without_owner(metadata: Mapping[str, Any]) -> View:
    return {key: value for key, value in metadata.items() if key != "owner"}


_LOCAL_NAMES = (".localhost", ".local", ".internal", ".lan", ".home.arpa")
_TRANSLATED = (IPv6Network("64:ff9b::/96"), IPv6Network("2002::/16"))
"""Addresses of NAT64 and 6to4, which hold one of IPv4."""


def check_media_urls(values: object) -> None:
    """Validate the addresses in the content of the messages in an input or an update of a graph.

    Args:
        values: As JSON has them: an object, a message, a list of either, pairs of channel and
            value, or nodes with their inputs.

    Raises:
        ConfigError: One is invalid, not of `https`, `http` or `data`, or on a private network.
    """
    for url in _urls([*_contents(values)]):
        fix = "send the content itself as a data: URL, or set gateway.private_urls"
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
        except ValueError:
            raise ConfigError("content", "an address is invalid", fix) from None
        if parts.scheme == "data":
            continue
        if parts.scheme not in {"http", "https"}:
            raise ConfigError("content", f"an address has the scheme {parts.scheme[:20]!a}", fix)
        if {*"@%"} & {*parts.netloc} or {*"\\ "} & {*url} or not url.isprintable():
            problem = (
                "an address has a user, a % in its host, a backslash, a space or a control code"
            )
            raise ConfigError("content", problem, fix)
        if is_private(host):
            raise ConfigError("content", "an address is on a private network", fix)


def _contents(values: object, *, is_messages: bool = False) -> Iterator[object]:
    """Yield the content of each message, and nothing else: arguments of tools are not fetched."""
    match values:
        case ["messages", messages] if not is_messages:
            yield from _contents(messages, is_messages=True)
        case [str(), content] if is_messages:
            yield content
        case list():
            for one in values:
                yield from _contents(one, is_messages=is_messages)
        case Mapping():
            if "role" in values or "type" in values:
                yield values.get("content")
            if isinstance(kwargs := values.get("kwargs"), Mapping):
                yield kwargs.get("content")
            yield from _contents(values.get("messages"), is_messages=True)
            if "node" in values:
                yield from _contents(values.get("input"))


def _urls(content: object) -> Iterator[str]:
    if isinstance(content, Mapping):
        for key, value in content.items():
            if isinstance(value, str):
                if str(key).lower().endswith(("url", "uri")):
                    yield value
            elif key not in {"args", "input"}:  # of a call of a tool
                yield from _urls(value)
    elif isinstance(content, list | tuple):
        for one in content:
            yield from _urls(one)


def webhook_host(url: str, hosts: Collection[str]) -> str:
    """Return the host of a webhook's address; nothing is resolved.

    Args:
        url: The address.
        hosts: Hosts that may be on private networks.

    Raises:
        ConfigError: It is not an address of HTTP, or its host is on a private network by its name.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        host.encode("idna")
        _ = parts.port  # raises ValueError if it is out of range
    except ValueError as error:
        problem = f"it is not an address: {error}"
        raise ConfigError("webhook", problem, "send a whole URL") from None
    if parts.scheme not in {"http", "https"} or not host or not url.isprintable():
        raise ConfigError("webhook", "it is not an address of http or https", "send a whole URL")
    if host not in hosts and is_private(host):
        problem = f"{host} is on a private network"
        raise ConfigError("webhook", problem, "add it to gateway.webhook_hosts")
    return host


def is_private(host: str) -> bool:
    """Return whether a host is on a private network, by its name; nothing is resolved.

    Example:
        >>> [
        ...     is_private(host)
        ...     for host in (
        ...         "127.1",
        ...         "0x7f000001",
        ...         "::1",
        ...         "db.internal",
        ...         "64:ff9b::7f00:1",
        ...         "①②⑦。1",
        ...     )
        ... ]
        [True, True, True, True, True, True]
        >>> [is_private(host) for host in ("8.8.8.8", "example.org", "2606:4700::1111")]
        [False, False, False]
    """
    name = normalize("NFKC", host).replace("。", ".").rstrip(".").lower()
    try:
        packed = (
            socket.inet_aton(name) if ":" not in name else socket.inet_pton(socket.AF_INET6, name)
        )
    except OSError:
        return ":" in name or "." not in name or name.endswith(_LOCAL_NAMES)
    address = ip_address(packed)
    mapped = getattr(address, "ipv4_mapped", None)
    is_translated = any(address in network for network in _TRANSLATED)
    return is_translated or not (mapped or address).is_global
