"""The application on a socket: bound with clear errors, and shut down without loss.

On SIGTERM or Ctrl-C it accepts no new requests, ends every stream so that clients connect to
another gateway, waits for active requests, and closes the application, whose runs another process
resumes.

A connection that sends the headers of a request too slowly is closed: uvicorn has a time limit for
idle connections between requests, and none for a request that has begun.
"""

import asyncio
import gc
import json
import logging
import os
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import Context
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from types import FrameType
from typing import ClassVar, ParamSpec, TypeVar

import uvicorn
from fastapi import FastAPI
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from thalweg.errors import ConfigError
from thalweg_server.app import App, open_app
from thalweg_server.app.metrics import make_metrics_folder, share_metrics
from thalweg_server.app.opening import Role
from thalweg_server.app.parts import CURRENT_RUN, trace_ids
from thalweg_server.gateway.access import Gateway
from thalweg_server.gateway.create import create_app
from thalweg_server.gateway.local_token import LocalToken, ensure_token
from thalweg_server.settings import Settings
from thalweg_server.settings.sections import HEADER_TIMEOUT_S

P = ParamSpec("P")
T = TypeVar("T")
_START_S = 30.0
"""A worker that exits with an error sooner after its start is not replaced."""
GRACE_S = 20
"""How long requests under way may take to finish."""
_ENDING = (signal.SIGINT, signal.SIGTERM)
_LOOK_S = 0.1
"""How often a gateway that waits for its runs looks for a second signal."""
_BACKLOG = 2_048
_KEPT_ALIVE_S = 30
_SWITCH_S = 0.001
"""How long the event loop waits for a thread that computes; 5 ms are usual."""
_THRESHOLDS = (5_000, 5, 25)
"""A pass takes a microsecond for each object that is new: the two small ones take 5 and 30 ms.

An active run is a thousand objects that live as long as it does, and a dozen more with each word:
by the interpreter's own thresholds all would be visited again and again. A run that ended leaves
50 KiB in cycles, most of them LangGraph's; they wait for the full pass, one in about 700 runs.
"""


class HeadersInTime(H11Protocol):
    """Closes a connection whose headers do not arrive in `limit_s` seconds.

    The time runs from the opening of the connection, or from the first byte of a further request.
    """

    limit_s: ClassVar[float]
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Open the connection, and start the timeout of its headers.

        See `asyncio.Protocol.connection_made`.
        """
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Process data, and update the timeout; see `asyncio.Protocol.data_received`."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timeout, and close the connection; see `asyncio.Protocol.connection_lost`."""
        self._stop()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if not self._awaits_headers():
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.limit_s, self._close)

    def _awaits_headers(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        self._timer = None
        if self._awaits_headers() and not self.transport.is_closing():
            self.transport.close()


def within(seconds: float) -> type[asyncio.Protocol]:
    """Return the protocol with a limit of so many seconds, for `uvicorn.Config(http=…)`."""
    return type("HeadersInTime", (HeadersInTime,), {"limit_s": seconds})


def bound(host: str, port: int) -> socket.socket:
    """Take an address.

    Args:
        host: A name or an address.
        port: 0 takes a free one.

    Raises:
        ConfigError: It cannot be taken.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        fix = "use an address of this machine: 127.0.0.1, or 0.0.0.0 for all"
        problem = f"{host!r} is no address ({error.strerror})"
        raise ConfigError("--host", problem, fix) from None
    family, kind, protocol, _, address = found[0]
    # The protocol is named: asyncio sends small answers at once (TCP_NODELAY) on these alone.
    taken = socket.socket(family, kind, protocol or socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(address)
        taken.listen(_BACKLOG)
    except PermissionError:
        taken.close()
        fix = "choose one above 1023: --port 8001"
        raise ConfigError("--port", f"port {port} is reserved for the system", fix) from None
    except OSError as error:
        taken.close()
        problem = f"{host}:{port} cannot be taken ({(error.strerror or '').lower()})"
        fix = f"stop the program that listens there, or choose another: --port {port + 1}"
        raise ConfigError("--port", problem, fix) from None
    taken.setblocking(False)  # noqa: FBT003 (its own way)
    return taken


def address_of(taken: socket.socket) -> str:
    """Return the URL of a socket for a browser.

    Example:
        >>> with bound("127.0.0.1", 0) as taken:
        ...     address_of(taken) == f"http://127.0.0.1:{taken.getsockname()[1]}"
        True
    """
    host, port = taken.getsockname()[:2]
    if host in {"0.0.0.0", "::"}:  # noqa: S104 (it is compared, and not bound)
        host = socket.gethostname()
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


async def serve(
    settings: Settings | str | PathLike[str] | None,
    taken: socket.socket | None,
    ready: Callable[[App, LocalToken | None], None],
    *,
    is_tokenless: bool = False,
    role: Role = "all",
) -> None:
    """Open an application, serve it until a signal comes, and close it.

    Args:
        settings: As for `open_app`.
        taken: The address; `None` for a worker.
        ready: Called once requests are accepted, with the token of this machine's callers if they
            need one.
        is_tokenless: Whether every process of this machine has access if there are no keys.
        role: See `open_app`.

    Raises:
        ThalwegError: The application cannot be opened.
    """
    async with open_app(settings, is_eager=True, role=role) as app:
        await asyncio.to_thread(_audit_to, app.home / "audit.jsonl")
        if taken is None:
            pauses_less()
            ready(app, None)
            await _until_signal()
            await app.parts.runs.drain(app.settings.gateway.drain_s)
            return
        token = None if is_tokenless else await asyncio.to_thread(ensure_token, app.home)
        pauses_less()
        server = GatewayServer(
            create_app(app, token=token),
            lambda: ready(app, token if app.settings.gateway.local_token else None),
            header_timeout_s=app.settings.gateway.header_timeout_s,
        )
        await server.serve([taken])


async def _until_signal() -> None:
    stopped = asyncio.Event()
    for each in _ENDING:
        asyncio.get_running_loop().add_signal_handler(each, stopped.set)
    await stopped.wait()


def start_workers(count: int, metrics: Path) -> int:
    """Fork worker processes, and return in each of them its number from 0.

    This process waits for them: it replaces one that crashes, passes SIGTERM on to them, and exits
    after the last one.

    Args:
        count: How many.
        metrics: A folder for the metrics that they share, which is emptied.

    Raises:
        SystemExit: In the first process, with the exit code of a worker that cannot start.
    """
    workers: dict[int, tuple[int, float]] = {}
    code: int | None = None

    def stop(*_: object) -> None:
        nonlocal code
        code = code or 0
        for worker in workers:
            os.kill(worker, signal.SIGTERM)

    make_metrics_folder(metrics)
    before = {each: signal.signal(each, stop) for each in _ENDING}
    starting: list[int] = [*range(count)]
    while starting or workers:
        for number in starting:
            worker = os.fork()
            if not worker:
                for each, handler in before.items():
                    signal.signal(each, handler)
                share_metrics(metrics, number)
                return number
            workers[worker] = number, time.monotonic()
        worker, status = os.wait()
        starting = []
        number, started_at = workers.pop(worker)
        mark_process_dead(number, str(metrics))  # type: ignore[no-untyped-call]
        worker_code = os.waitstatus_to_exitcode(status)
        if code is None and worker_code > 0 and time.monotonic() - started_at < _START_S:
            stop()
            code = worker_code
        elif code is None:
            starting = [number]
    shutil.rmtree(metrics, ignore_errors=True)
    raise SystemExit(code)


def _audit_to(file: Path) -> None:
    """Append the audit log to a file that others cannot read."""
    file.touch(mode=0o600)
    handler = logging.FileHandler(file, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(message)s"))
    audit = logging.getLogger("thalweg.audit")
    audit.setLevel(logging.INFO)
    audit.addHandler(handler)


def pauses_less() -> None:
    """Reduce pauses of streams by garbage collection; for a process that does nothing else.

    Objects that exist now are excluded from garbage collection. New objects are collected less
    often: with many active runs, a full collection takes long.
    """
    sys.setswitchinterval(_SWITCH_S)
    trace_in_loop()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


def trace_in_loop() -> None:
    """Make LangSmith use a thread only if it traces; applies to the whole process.

    LangChain wraps each middleware of a model call in a trace; its two ends are run in a thread
    even while tracing is off: 14 trips for a call of an agent with seven middlewares.
    """
    from langsmith import set_runtime_overrides  # noqa: PLC0415 (LangChain's, imported with it)

    set_runtime_overrides(aio_to_thread=_traced)


async def _traced(
    default: Callable[..., Awaitable[T]],
    context: Context,
    trace: Callable[P, T],
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    from langsmith.utils import tracing_is_enabled  # noqa: PLC0415 (as above)

    if context.run(tracing_is_enabled):
        return await default(context, trace, *args, **kwargs)
    return context.run(trace, *args, **kwargs)


class GatewayServer(uvicorn.Server):
    """A server that ends its streams before it waits for running requests."""

    def __init__(
        self,
        application: FastAPI,
        ready: Callable[[], None] = lambda: None,
        *,
        header_timeout_s: float = HEADER_TIMEOUT_S,
    ) -> None:
        """Prepare it.

        Args:
            application: Made by `create_app`.
            ready: Called once requests are taken.
            header_timeout_s: See `GatewaySettings.header_timeout_s`.
        """
        super().__init__(
            uvicorn.Config(
                application,
                access_log=False,  # the application has a line of its own, without queries
                lifespan="off",
                log_config=None,
                server_header=False,
                timeout_graceful_shutdown=GRACE_S,
                timeout_keep_alive=_KEPT_ALIVE_S,
                http=within(header_timeout_s),
                ws="none",
            )
        )
        self._gateway: Gateway = application.state.gateway
        self._ready = ready
        self._is_hurried = False

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """See `uvicorn.Server.capture_signals`; a signal is not raised again when all is over."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.signal(each, self.handle_exit) for each in _ENDING}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the server, and report that it is ready; see `uvicorn.Server.startup`."""
        await super().startup(sockets)
        if self.started and not self.should_exit:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop to start runs; a second signal ends the wait for runs, too."""
        self._is_hurried = self._gateway.budgets.is_stopping
        self._gateway.budgets.is_stopping = True
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let runs end, end all streams, and shut down; see `uvicorn.Server.shutdown`."""
        self._gateway.budgets.is_stopping = True
        if drain_s := self._gateway.rules().settings.drain_s:
            draining = asyncio.create_task(self._gateway.app.parts.runs.drain(drain_s))
            while not draining.done() and not self._is_hurried:
                await asyncio.wait([draining], timeout=_LOOK_S)
            draining.cancel()
        self._gateway.streams.closing.set()
        await super().shutdown(sockets)


class JsonLines(logging.Formatter):
    """Writes a log record as a line of JSON, with the ids of its run and its trace."""

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter.format`."""
        row = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if run := CURRENT_RUN.get():
            row["run"] = run
        if record.exc_info:
            row["error"] = self.formatException(record.exc_info)
        return json.dumps(row | trace_ids(), ensure_ascii=False)


def logs(level: str = "info", *, as_json: bool = False) -> None:
    """Log the gateway's lines to stderr, and warnings of other loggers."""
    logging.basicConfig(format="%(asctime)s %(levelname)-7s %(message)s", level=logging.WARNING)
    if as_json:
        logging.getLogger().handlers[0].setFormatter(JsonLines())
    logging.getLogger("thalweg").setLevel(level.upper())
    # A bug is logged once, by the gateway, under the number that the answer names.
    logging.getLogger("uvicorn.error").addFilter(
        lambda record: not str(record.msg).startswith("Exception in ASGI application")
    )
