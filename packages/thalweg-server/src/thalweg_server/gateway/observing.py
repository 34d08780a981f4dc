"""Records of every request: its metrics, one log line, and headers that all responses have.

A line has the method, the path, the status and the time; never a query, a header or a body,
which contain secrets and people's texts.
"""

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thalweg_server.gateway.metrics import Metrics

ACCESS = logging.getLogger("thalweg.server.gateway.access")
_QUIET = frozenset({"/healthz", "/metrics"})
_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]
_NEVER_KEPT = (b"cache-control", b"no-store")


class RequestObserver:
    """ASGI middleware: the outermost, so that it sees every answer."""

    def __init__(self, application: ASGIApp, metrics: Metrics) -> None:
        self._application = application
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count and log one request."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        started_at = time.perf_counter()
        status, is_stream = 500, False

        async def seen(message: Message) -> None:
            nonlocal status, is_stream
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = message.setdefault("headers", [])
                names = {name for name, _ in headers}
                is_stream = (b"content-type", b"text/event-stream; charset=utf-8") in headers
                headers += [header for header in _HEADERS if header[0] not in names]
                if b"cache-control" not in names and scope["path"].startswith("/api/"):
                    headers.append(_NEVER_KEPT)
            await send(message)

        try:
            await self._application(scope, receive, seen)
        finally:
            seconds = time.perf_counter() - started_at
            operation = getattr(scope.get("route"), "operation_id", None) or "none"
            self._metrics.answered(operation, status, None if is_stream else seconds)
            level = logging.DEBUG if scope["path"] in _QUIET else logging.INFO
            if ACCESS.isEnabledFor(level):
                path = _printable(scope["path"])
                words = (scope["method"], path, status, 1_000 * seconds)
                ACCESS.log(level, "%s %s %d %.1f ms", *words)


def _printable(path: str) -> str:
    r"""Write a path on one line, however it was made to look.

    Example:
        >>> _printable("/a\nb")
        '/a\\nb'
    """
    return path if path.isprintable() else ascii(path)[1:-1]
