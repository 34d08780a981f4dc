"""A server that implements as much of the Agent Protocol as background subagents need."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class AgentServer(ThreadingHTTPServer):
    """Serves threads whose runs continue until a client requests `/finish/ASSISTANT`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.finished: set[str] = set()
        self.assistants: dict[str, str] = {}
        self.threads = 0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, method: str, path: list[str], body: dict[str, Any]) -> dict[str, Any]:
        """Answer a request."""
        with self.lock:
            match method, path:
                case "POST", ["threads"]:
                    self.threads += 1
                    return {"thread_id": f"far-{self.threads}"}
                case "POST", ["threads", thread, "runs"]:
                    self.assistants[thread] = body["assistant_id"]
                    return {"run_id": f"{thread}-run"}
                case "GET", ["threads", thread, "runs", run]:
                    is_over = self.assistants[thread] in self.finished
                    return {"run_id": run, "status": "success" if is_over else "running"}
                case "GET", ["threads", _]:
                    return {"values": {"messages": [{"role": "assistant", "content": "42."}]}}
                case "POST", ["finish", assistant]:
                    self.finished.add(assistant)
                    return {}
                case _:
                    raise AssertionError((method, path))


class _Handler(BaseHTTPRequestHandler):
    server: AgentServer

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def _answer(self, method: str) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size) or b"{}")
        path = self.path.partition("?")[0].strip("/").split("/")
        sent = json.dumps(self.server.answer(method, path, body)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@contextmanager
def serving() -> Iterator[AgentServer]:
    """Serve in a thread of this process."""
    with AgentServer() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
