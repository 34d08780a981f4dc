"""The HTTP application: its routes, the admission of requests, and their records.

A request is admitted by its sender, the number of the owner's requests, and its body. Every request
is recorded in the metrics and in one log line, and all responses have the headers
`X-Content-Type-Options` and `Referrer-Policy`. A line has the method, the path, the status and the
time; never a query, a header or a body, which contain secrets and people's texts.
"""

import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from os import PathLike

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thalweg_server.api.paths import path_below_root
from thalweg_server.app import App, open_app
from thalweg_server.app.metrics import Metrics
from thalweg_server.gateway.access import Gateway
from thalweg_server.gateway.authentication import KEY_ID, OWNER, other_owner
from thalweg_server.gateway.bodies import bounded_body
from thalweg_server.gateway.budgets import Budgets
from thalweg_server.gateway.document import documents_itself
from thalweg_server.gateway.langgraph_api.assistants import assistants
from thalweg_server.gateway.langgraph_api.crons import crons
from thalweg_server.gateway.langgraph_api.runs import runs as graph_runs
from thalweg_server.gateway.langgraph_api.store import store
from thalweg_server.gateway.langgraph_api.thread_protocol import thread_protocol
from thalweg_server.gateway.langgraph_api.threads import threads as graph_threads
from thalweg_server.gateway.local_token import LocalToken
from thalweg_server.gateway.openai_api import openai
from thalweg_server.gateway.problems import GatewayRefusal, answers_problems, refuse
from thalweg_server.gateway.routes.catalogue import catalogue
from thalweg_server.gateway.routes.files import files
from thalweg_server.gateway.routes.health import health
from thalweg_server.gateway.routes.memory import facts, memory
from thalweg_server.gateway.routes.page import shows_its_page
from thalweg_server.gateway.routes.page_data import page_data
from thalweg_server.gateway.routes.runs import runs
from thalweg_server.gateway.routes.threads import threads
from thalweg_server.gateway.rules import CorsByRules, GatewayRules, rule_book
from thalweg_server.gateway.streams import Streams
from thalweg_server.settings import Settings

ACCESS = logging.getLogger("thalweg.server.gateway.access")
AUDIT = logging.getLogger("thalweg.audit")
"""Logs a line of JSON for each deletion, undoing and forgetting, and each read by an operator."""
_AUDITED = frozenset({"rewind_thread", "undo_compaction", "undo_memory", "forget_memory"})
READ_FOR = "thalweg.read_for"
"""Where in a request's scope the owner is noted whose data an operator reads."""
_QUIET = frozenset({"/healthz", "/livez", "/readyz", "/metrics"})
_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]
_PRIVATE = ("/api/", "/assistants", "/threads", "/runs", "/store", "/v1/")
"""Begin the paths whose answers belong to an owner."""
_NEVER_KEPT = (b"cache-control", b"no-store")


class RequestObserver:
    """ASGI middleware: the outermost, so that it sees every answer."""

    def __init__(self, application: ASGIApp, metrics: Metrics, root_path: str = "") -> None:
        self._root_path = root_path
        self._application = application
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count and log one request."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        started_at = time.perf_counter()
        scope["root_path"] = self._root_path or scope.get("root_path", "")
        route_path = path_below_root(scope)
        status, is_stream = 500, False

        async def seen(message: Message) -> None:
            nonlocal status, is_stream
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = message.setdefault("headers", [])
                names = {name for name, _ in headers}
                is_stream = (b"content-type", b"text/event-stream; charset=utf-8") in headers
                headers += [header for header in _HEADERS if header[0] not in names]
                if b"cache-control" not in names and route_path.startswith(_PRIVATE):
                    headers.append(_NEVER_KEPT)
            await send(message)

        try:
            await self._application(scope, receive, seen)
        finally:
            seconds = time.perf_counter() - started_at
            operation = getattr(scope.get("route"), "operation_id", None) or "none"
            self._metrics.answered(operation, status, None if is_stream else seconds)
            level = logging.DEBUG if route_path in _QUIET else logging.INFO
            self._audit(scope, operation, status)
            if ACCESS.isEnabledFor(level):
                path = _printable(scope["path"])
                words = (scope["method"], path, status, 1_000 * seconds)
                ACCESS.log(level, "%s %s %d %.1f ms", *words)

    def _audit(self, scope: Scope, operation: str, status: int) -> None:
        """Log who deleted, undid or forgot something, and what an operator read of others."""
        if OWNER in scope and (
            scope["method"] == "DELETE" or operation in _AUDITED or scope.get(READ_FOR)
        ):
            row = {
                "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "owner": scope[OWNER],
                "key": scope.get(KEY_ID, ""),
                "is_operator": bool(scope.get(READ_FOR)),
                "operation": operation,
                "path": scope["path"],
                "status": status,
            }
            AUDIT.info("%s", json.dumps(row))


def _printable(path: str) -> str:
    r"""Write a path on one line, however it was made to look.

    Example:
        >>> _printable("/a\nb")
        '/a\\nb'
    """
    return path if path.isprintable() else ascii(path)[1:-1]


class Admission:
    """ASGI middleware: notes the owner of a request, or refuses it before a route runs."""

    def __init__(
        self, application: ASGIApp, rules: Callable[[], GatewayRules], budgets: Budgets
    ) -> None:
        self._application = application
        self._rules = rules
        self._budgets = budgets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it."""
        try:
            if scope["type"] == "http":
                receive = await self._admit(scope, receive)
            await self._application(scope, receive, send)
        except GatewayRefusal as refusal:
            await refuse(refusal, scope, receive, send)

    async def _admit(self, scope: Scope, receive: Receive) -> Receive:
        """Check a request in the order of cost: its body comes last."""
        rules = self._rules()
        if (lock := rules.lock_of(path_below_root(scope))) is not None:
            owner = await lock(scope)
            self._budgets.take_request(owner)
            scope[READ_FOR] = other_owner(scope)
            scope[OWNER] = scope[READ_FOR] or owner
        return await bounded_body(scope, receive, rules.bodies)


def create_app(
    app: App | Settings | str | PathLike[str] | None = None,
    *,
    owner: str | None = None,
    token: LocalToken | None = None,
) -> FastAPI:
    """Return the HTTP application over an `App`.

    Args:
        app: An open `App`, which this application does not close; or a closed one, settings, or the
            path of a `config.yaml` (by default the usual places), which is opened and closed with
            this application's lifespan.
        owner: The owner of everything, for an application that only its own process can reach: then
            callers do not authenticate. By default keys and tokens determine the owner.
        token: The token of callers on this machine if the settings have neither keys nor an OpenID
            provider; without it every process of the machine has access.
    """
    inside = open_app(app) if not isinstance(app, App) else app
    rules = rule_book(lambda: inside.settings.gateway, owner, token)
    metrics = inside.metrics
    budgets = Budgets(lambda owner: rules().limits_of(owner), metrics)
    streams = Streams(lambda: inside.settings.gateway.max_streams, metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if inside.is_open:
            yield
            return
        async with inside:
            yield

    application = FastAPI(
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=[
            Middleware(RequestObserver, metrics, inside.settings.gateway.root_path),
            Middleware(CorsByRules, rules),
            Middleware(Admission, rules, budgets),
        ],
    )
    application.state.gateway = Gateway(inside, streams, metrics, budgets, rules)
    answers_problems(application)
    own = (runs, threads, page_data, files, memory, facts, catalogue, health)
    graphs = (assistants, graph_threads, graph_runs, thread_protocol, crons, store)
    for router in (*own, *graphs, openai):
        application.include_router(router)
    documents_itself(application, lambda: rules().is_locked)
    shows_its_page(application)
    return application
