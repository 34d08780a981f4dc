"""A server of files that can be cut off, and that says what it was asked."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass
class Files:
    """What is served, and how."""

    content: bytes
    kind: str = "application/octet-stream"
    cut_after: int | None = None
    """Bytes of one answer after which the connection is closed; once."""
    asked: list[str] = field(default_factory=list)
    """The `Range` of each request; empty for the whole."""
    url: str = ""


@contextmanager
def serving(files: Files) -> Iterator[Files]:
    """Serve on a free port of the loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            given = self.headers.get("Range", "")
            files.asked.append(given)
            start = int(given[6:].rstrip("-")) if given.startswith("bytes=") else 0
            whole = len(files.content)
            if start >= whole:
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{whole - 1}/{whole}")
            self.send_header("Content-Length", str(whole - start))
            self.send_header("Content-Type", files.kind)
            self.end_headers()
            body = files.content[start:]
            if files.cut_after is not None:
                body, files.cut_after = body[: files.cut_after], None
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            del args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    files.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield files
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
