"""HTTP/1.1 on the loopback: reads bodies, writes answers and streams, and fails as ordered."""

import json
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from threading import Event, Lock
from typing import cast

from strict_llm.exchange import Object
from strict_llm.faults import InjectedFault

_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class ScriptedResponse:
    """The response to send."""

    status: int
    body: Object = field(default_factory=dict)
    events: tuple[tuple[str, Object | str], ...] = ()
    """Server-sent events instead of the body, if there are any."""
    headers: Mapping[str, str] = field(default_factory=dict)
    fault: InjectedFault | None = None
    """A silence or a cut."""

    def chunks(self) -> list[bytes]:
        """Write it as the pieces that a fault may come between."""
        if self.events:
            return [_written(name, data) for name, data in self.events]
        whole = json.dumps(self.body, ensure_ascii=False).encode("utf-8", "replace")
        at = round(len(whole) * self.fault.after) if self.fault is not None else 0
        return [whole[:at], whole[at:]]


def _written(name: str, data: Object | str) -> bytes:
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {text}\n\n".encode("utf-8", "replace")


Respond = Callable[[str, Mapping[str, str], int, bytes], ScriptedResponse]
"""Answers a POST: path, headers (names in lower case), length of the body, and the body,
which is empty if it is too large."""


class LoopbackServer(ThreadingHTTPServer):
    """A server that closes every connection when it is closed itself."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(
        self,
        respond: Respond,
        most_bytes: Callable[[str], int],
        failed: Callable[[BaseException], None],
    ) -> None:
        super().__init__(("127.0.0.1", 0), _LoopbackHandler)
        self.respond = respond
        self.most_bytes = most_bytes
        self.closing = Event()
        self._failed = failed
        self._open: set[socket.socket] = set()
        self._lock = Lock()

    def server_bind(self) -> None:
        """Bind without asking for a host name, which may take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def get_request(self) -> tuple[socket.socket, tuple[str, int]]:
        """Accept a connection and remember it."""
        connection, address = super().get_request()
        with self._lock:
            self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: object) -> None:
        """Close a connection and forget it."""
        connection = cast("socket.socket", request)  # all that get_request gives
        with self._lock:
            self._open.discard(connection)
        super().shutdown_request(connection)

    def server_close(self) -> None:
        """Close every connection, wait for its thread, and close the port."""
        self.closing.set()
        with self._lock:
            for connection in self._open:
                _shut(connection)
        super().server_close()

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002
        """Store the error of a script; a client that disconnected is no failure."""
        error = sys.exception()
        if error is not None and not isinstance(error, ConnectionError):
            self._failed(error)


class _LoopbackHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self) -> None:
        line = cast("LoopbackServer", self.server)  # what makes it
        length = int(self.headers.get("Content-Length", 0))
        if length > line.most_bytes(self.path):
            self._skip(length)
            body = b""
        else:
            body = self.rfile.read(length)
        outcome = line.respond(self.path, _lowered(self.headers), length, body)
        self._send(outcome, line.closing)

    def _skip(self, length: int) -> None:
        while length > 0 and (read := self.rfile.read(min(length, _CHUNK))):
            length -= len(read)

    def _send(self, outcome: ScriptedResponse, closing: Event) -> None:
        fault, chunks = outcome.fault, outcome.chunks()
        at = round(len(chunks) * fault.after) if fault is not None else 0
        if not outcome.events:
            at = min(at, 1)
        if fault is not None and not fault.after and self._broken(fault, closing):
            return
        self._head(outcome, sum(map(len, chunks)))
        for n, chunk in enumerate(chunks):
            if fault is not None and fault.after and n == at:
                self.wfile.flush()
                if self._broken(fault, closing):
                    return
            self.wfile.write(_framed(chunk) if outcome.events else chunk)
            if outcome.events:
                self.wfile.flush()
        if outcome.events:
            self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _broken(self, fault: InjectedFault, closing: Event) -> bool:
        """Wait out a silence, or end the connection; return whether it ended."""
        if fault.name == "stall" and not closing.wait(fault.seconds):
            return False
        self.close_connection = True
        _shut(self.connection)
        return True

    def _head(self, outcome: ScriptedResponse, length: int) -> None:
        self.send_response(outcome.status)
        for name, value in outcome.headers.items():
            self.send_header(name, value)
        if outcome.events:
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            self.send_header("Cache-Control", "no-cache")
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name there)
        """Log nothing."""


def _framed(chunk: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(chunk), chunk)


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):  # it is closed already
        connection.shutdown(socket.SHUT_RDWR)


def _lowered(headers: Message) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
