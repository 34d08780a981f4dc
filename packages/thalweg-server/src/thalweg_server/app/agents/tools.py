"""Tools that settings name: imported by `use:`, or offered by servers of MCP."""

import asyncio
import inspect
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from thalweg.engine.extras import needs_extra
from thalweg.errors import ConfigError
from thalweg_server.app.agents.importing import import_named
from thalweg_server.settings.sections import McpServer, ToolSettings

PATIENCE_S = 30.0
"""Seconds to wait for the list of tools of an MCP server."""
PING_S = 15.0
"""How often it is seen whether a server still answers."""
AGAIN_S = 60.0
"""How long a server that could not be reached is let be."""
_log = logging.getLogger("thalweg.server.app")


def imported(settings: ToolSettings) -> BaseTool:
    """Make a tool of what `use:` names: a tool, a class of one, a function, or a maker of either.

    Raises:
        ConfigError: It cannot be imported, or is no tool.
    """
    where = f"tools.{settings.name}"
    settings = settings.ready()
    found = import_named(settings.use, where)
    arguments = settings.arguments()
    if isinstance(found, type) or (arguments and callable(found)):
        try:
            found = found(**arguments)
        except (TypeError, ValueError) as error:
            problem = f"{settings.use} cannot be made: {error}"
            raise ConfigError(where, problem, "check the options next to it") from error
    return _as_tool(found, settings)


def _as_tool(found: object, settings: ToolSettings) -> BaseTool:
    if isinstance(found, BaseTool):
        is_named = found.name == settings.name
        return found if is_named else found.model_copy(update={"name": settings.name})
    if inspect.iscoroutinefunction(found):
        return StructuredTool.from_function(coroutine=found, name=settings.name)
    if callable(found):
        return StructuredTool.from_function(found, name=settings.name)
    where, problem = f"tools.{settings.name}", f"{settings.use} is neither a tool nor a function"
    raise ConfigError(where, problem, "name a LangChain tool or a function")


class McpTools:
    """The tools of MCP servers: each is connected to once, when an agent is first built.

    If a server cannot be reached, or disconnects, its tools are missing and the run continues; the
    connection is retried.
    """

    def __init__(self) -> None:
        self._servers: dict[str, tuple[McpServer, _ToolConnection]] = {}
        self._lock = asyncio.Lock()
        self._tried_at = 0.0

    def is_due(self, servers: Mapping[str, McpServer]) -> bool:
        """Return whether missing tools of a server may be available by now."""
        if time.monotonic() - self._tried_at < AGAIN_S:
            return False
        there = {name for name, (_, one) in self._servers.items() if not one.has_ended}
        return any(server.enabled and name not in there for name, server in servers.items())

    async def of(self, servers: Mapping[str, McpServer]) -> list[BaseTool]:
        """Return the tools of the servers that can be reached; log the others.

        Raises:
            ConfigError: The extra `mcp` is not installed.
        """
        enabled = {name: server for name, server in servers.items() if server.enabled}
        async with self._lock:
            for name, (server, connection) in list(self._servers.items()):
                if enabled.get(name) != server or connection.has_ended:
                    await connection.close()
                    del self._servers[name]
            self._tried_at = time.monotonic()
            missing = [name for name in enabled if name not in self._servers]
            opened = await asyncio.gather(*(_connect(name, enabled[name]) for name in missing))
            for name, one in zip(missing, opened, strict=True):
                if one is not None:
                    self._servers[name] = (enabled[name], one)
            there = [connection for _, connection in self._servers.values()]
            return [tool for connection in there for tool in connection.tools]

    async def close(self) -> None:
        """End all connections."""
        async with self._lock:
            for _, connection in self._servers.values():
                await connection.close()
            self._servers.clear()


class _ToolConnection:
    """One connection; the task that opened it closes it, as its library wants."""

    def __init__(self, name: str, session: Callable[[], Any]) -> None:
        self._name = name
        self._session = session
        self._end = asyncio.Event()
        self._ready: asyncio.Future[Sequence[BaseTool]] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold(), name=f"thalweg-mcp-{name}")
        self.tools: Sequence[BaseTool] = ()

    @property
    def has_ended(self) -> bool:
        """Whether it broke."""
        return self._task.done()

    async def open(self) -> None:
        """Wait for its tools."""
        async with asyncio.timeout(PATIENCE_S):
            self.tools = await asyncio.shield(self._ready)

    async def _hold(self) -> None:
        from langchain_mcp_adapters.tools import load_mcp_tools  # noqa: PLC0415 (an extra)

        try:
            async with self._session() as session:
                self._ready.set_result(await load_mcp_tools(session, server_name=self._name))
                while not await self._ends():
                    async with asyncio.timeout(PATIENCE_S):
                        await session.send_ping()
        except Exception as error:  # noqa: BLE001 (a foreign server may raise anything)
            if self._ready.done():
                _log.warning(
                    "MCP server %s: the connection broke (%s)", self._name, _error_text(error)
                )
            else:
                self._ready.set_exception(error)

    async def _ends(self) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(PING_S):
                await self._end.wait()
        return self._end.is_set()

    async def close(self) -> None:
        """End it."""
        self._end.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.wait([self._task])
        self._task.cancel()
        if self._ready.done() and not self._ready.cancelled():
            self._ready.exception()  # seen


async def _connect(name: str, server: McpServer) -> _ToolConnection | None:
    with needs_extra("mcp_servers"):
        from langchain_mcp_adapters.client import MultiServerMCPClient  # noqa: PLC0415 (an extra)
    client = MultiServerMCPClient({name: _address(server.ready())})  # type: ignore[dict-item]  # one of four shapes
    connection = _ToolConnection(name, lambda: client.session(name))
    try:
        await connection.open()
    except Exception as error:  # noqa: BLE001 (a foreign server may raise anything)
        _log.warning("MCP server %s: its tools are missing (%s)", name, _error_text(error))
        await connection.close()
        return None
    return connection


def _address(server: McpServer) -> dict[str, Any]:
    if server.command:
        environment = {name: value.get_secret_value() for name, value in server.env.items()}
        command: dict[str, Any] = {"command": server.command, "args": list(server.args)}
        return {"transport": "stdio", **command, **({"env": environment} if environment else {})}
    headers = {name: value.get_secret_value() for name, value in server.headers.items()}
    transport = server.transport or "streamable_http"
    return {"transport": transport, "url": server.url, **({"headers": headers} if headers else {})}


def _error_text(error: BaseException) -> str:
    """Return the text of an error; of a group, that of its first error."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:300] if str(error) else type(error).__name__
