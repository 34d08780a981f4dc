"""What others notice while one owner floods the gateway: `python -m benchmarks.gateway_floods`.

A gateway in a process of its own, two keys. One owner sends a flood; the other asks `/healthz` and
its own memory all the while. For each flood: what the flood was answered, how long the other
waited, and the most memory that the process took.
"""

import argparse
import http.client
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

MIB = 1 << 20
FLOOD_S = 12.0
KEYS = {"ada": "ada-key-0123456789abcdef", "bob": "bob-key-0123456789abcdef"}
CONFIG = """\
models:
  - {name: ticking, use: "core_tests.ticking:TickingModel", rate: 20.0, ticks: 40, window: 32000}
gateway:
  keys:
    - {key: ada-key-0123456789abcdef, owner: ada}
    - {key: bob-key-0123456789abcdef, owner: bob}
"""
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway that is served."""

    host: str
    port: int
    pid: int

    def ask(
        self, owner: str, method: str, path: str, body: bytes = b"", kind: str = "application/json"
    ) -> int:
        """Send one request; the answer's status, 0 where the connection broke off."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=150)
        headers = {"Authorization": f"Bearer {KEYS[owner]}"}
        if body:
            headers["Content-Type"] = kind
        try:
            connection.request(method, path, body or None, headers)
            response = connection.getresponse()
            response.read()
        except OSError:
            return 0
        finally:
            connection.close()
        return response.status

    @property
    def memory(self) -> int:
        """Resident bytes of the process."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(found[1]) * 1024 if found else 0


@contextmanager
def serving(settings: str = CONFIG, *options: str) -> Iterator[Gateway]:
    """Serve a gateway until the block ends, with more options of `thalweg serve`."""
    with tempfile.TemporaryDirectory() as home:
        config = Path(home, "config.yaml")
        config.write_text(settings)
        command = [sys.executable, "-m", "thalweg", "serve", "--config", str(config)]
        environ = {**os.environ, "THALWEG_HOME": home, "PYTHONPATH": str(Path.cwd())}
        command += ["--port", "0", "--log-level", "error", *options]
        with subprocess.Popen(  # noqa: S603 (this very package)
            command, stdout=subprocess.PIPE, text=True, env=environ
        ) as process:
            assert process.stdout is not None
            found = re.search(r"http://([\d.]+):(\d+)", process.stdout.readline())
            assert found, "the gateway did not start"
            threading.Thread(target=process.stdout.read, daemon=True).start()
            try:
                yield Gateway(found[1], int(found[2]), process.pid)
            finally:
                process.terminate()


@dataclass(slots=True)
class Seen:
    """What the other owner, and the operator of the process, saw."""

    waits: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    memory: int = 0
    """Most resident bytes of the process."""

    @property
    def p99(self) -> float:
        """Seconds that 99 of 100 requests took at most."""
        return sorted(self.waits)[int(0.99 * (len(self.waits) - 1))]

    @property
    def refused(self) -> int:
        """Requests that were not answered with 200."""
        return self.statuses.total() - self.statuses[http.HTTPStatus.OK]


def watch(gateway: Gateway, seen: Seen, ended: threading.Event) -> None:
    """Ask as the other owner until the flood is over."""
    for path in _alternating("/healthz", "/api/memory"):
        if ended.is_set():
            return
        began = time.perf_counter()
        seen.statuses[gateway.ask("bob", "GET", path)] += 1
        seen.waits.append(time.perf_counter() - began)
        seen.memory = max(seen.memory, gateway.memory)
        time.sleep(0.02)


def _alternating(*paths: str) -> Iterator[str]:
    while True:
        yield from paths


Send = Callable[[Gateway, int], int]
"""One request of a flood, by its number; the status of its answer."""


def unknown_keys(size: int) -> bytes:
    """Write an object of nothing but unknown keys."""
    keys = ",".join(f'"{number:06d}":0' for number in range(size // 11))
    return f"{{{keys}}}".encode()


def post(path: str, body: bytes) -> Send:
    """Send one body again and again."""
    return lambda gateway, _: gateway.ask("ada", "POST", path, body)


def start_run(gateway: Gateway, number: int) -> int:
    """Start a run in a thread of its own."""
    body = json.dumps({"message": "count"}).encode()
    return gateway.ask("ada", "POST", f"/api/threads/t{number}/runs", body)


def small(gateway: Gateway, _: int) -> int:
    """Send the smallest request that has to look something up."""
    return gateway.ask("ada", "GET", "/api/threads")


def entities(gateway: Gateway, number: int) -> int:
    """Upload a small document whose text is very large: entities inside of entities."""
    levels = "".join(
        f'<!ENTITY l{n} "{"".join(f"&l{n - 1};" for _ in range(10))}">' for n in range(1, 10)
    )
    document = (
        f'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY l0 "lol">{levels}]>'
        '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        "<w:body><w:p><w:r><w:t>&l9;</w:t></w:r></w:p></w:body></w:document>"
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("[Content_Types].xml", _TYPES)
        file.writestr("_rels/.rels", _RELS)
        file.writestr("word/document.xml", document)
    return upload(gateway, f"u{number}", "a.docx", packed.getvalue())


_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override '
    'PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'wordprocessingml.document.main+xml"/></Types>'
)
_RELS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships'
    '/officeDocument" Target="word/document.xml"/></Relationships>'
)


def upload(gateway: Gateway, thread: str, name: str, content: bytes) -> int:
    """Send one file."""
    head = f'--x\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'
    body = head.encode() + content + b"\r\n--x--\r\n"
    kind = "multipart/form-data; boundary=x"
    return gateway.ask("ada", "POST", f"/api/threads/{thread}/uploads", body, kind)


def stream(gateway: Gateway, number: int) -> int:
    """Open a stream and keep it for a second."""
    connection = http.client.HTTPConnection(gateway.host, gateway.port, timeout=150)
    headers = {"Authorization": f"Bearer {KEYS['ada']}", **JSON}
    try:
        path = f"/api/threads/s{number}/runs/stream"
        connection.request("POST", path, json.dumps({"message": "count"}), headers)
        response = connection.getresponse()
        if response.status == http.HTTPStatus.OK:
            response.read(200)
            time.sleep(1)
    except OSError:
        return 0
    finally:
        connection.close()
    return response.status


def half_open(gateway: Gateway, _: int) -> int:
    """Send half of the headers, and wait for the connection to be closed."""
    connection = http.client.HTTPConnection(gateway.host, gateway.port, timeout=150)
    with suppress(OSError):
        connection.connect()
        connection.sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        connection.sock.recv(1)
    connection.close()
    return 0


FLOODS: dict[str, tuple[Send, int]] = {
    "unknown keys, 8 MiB": (post("/api/threads", unknown_keys(8 * MIB)), 2),
    "unknown keys, 1 MiB": (post("/api/threads", unknown_keys(MIB - 100)), 4),
    "unknown keys, 200 kB": (post("/api/threads", unknown_keys(200_000)), 4),
    "unknown keys, 500 kB, to a run": (post("/api/threads/a/runs", unknown_keys(500_000)), 4),
    "41 MiB of keys to a run": (post("/api/threads/a/runs", unknown_keys(41 * MIB)), 2),
    "44 MiB of [] in resume": (
        post("/api/threads/a/runs", b'{"resume":[' + b"[]," * (15 * MIB) + b"[]]}"),
        2,
    ),
    "a message of 10 MB": (
        post("/api/threads/a/runs", json.dumps({"message": "wort " * 2_000_000}).encode()),
        2,
    ),
    "a memory of 16 MB": (
        post(
            "/api/memory/import",
            json.dumps({"facts": [{"content": f"Fact {n}."} for n in range(40_000)]}).encode(),
        ),
        2,
    ),
    "small requests": (small, 8),
    "runs, a thread each": (start_run, 8),
    "streams": (stream, 100),
    "half-open headers": (half_open, 400),
    "documents of entities": (entities, 8),
    "files of 60 MB": (lambda gateway, n: upload(gateway, f"f{n}", "a.txt", b"a" * 60 * MIB), 2),
}
"""By name: one request, and how many are sent at once."""


def flood(gateway: Gateway, send: Send, at_once: int, seconds: float) -> tuple[Counter[int], Seen]:
    """Send a flood while the other owner asks."""
    answered, seen, ended = Counter[int](), Seen(), threading.Event()
    until = time.monotonic() + seconds

    def one(first: int) -> None:
        number = first
        while time.monotonic() < until:
            answered[send(gateway, number)] += 1
            number += at_once

    watcher = threading.Thread(target=watch, args=(gateway, seen, ended))
    senders = [threading.Thread(target=one, args=(n,), daemon=True) for n in range(at_once)]
    for thread in (watcher, *senders):
        thread.start()
    for thread in senders:
        thread.join()
    ended.set()
    watcher.join()
    return answered, seen


def main() -> None:
    """Run all floods, each against a gateway of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=FLOOD_S, help="length of each flood")
    parser.add_argument("--only", default="", help="floods whose name has these words")
    given = parser.parse_args()
    print("| flood | answers | other owner: p50 | p99 | longest | refused | peak memory |")
    print("|---|---|---|---|---|---|---|")
    for name in FLOODS:
        if given.only in name:
            print(f"| {name} | {' | '.join(told(*flooded(name, given.seconds)))} |", flush=True)


def flooded(name: str, seconds: float) -> tuple[Counter[int], Seen]:
    """Send one flood to a gateway of its own."""
    send, at_once = FLOODS[name]
    with serving() as gateway:
        gateway.ask("bob", "GET", "/api/memory")
        return flood(gateway, send, at_once, seconds)


def told(answered: Counter[int], seen: Seen) -> Iterator[str]:
    """Write what a flood was answered, and what the other owner saw."""
    yield ", ".join(f"{n:,} x {status}" for status, n in sorted(answered.items()))
    for wait in (statistics.median(seen.waits), seen.p99, max(seen.waits)):
        yield f"{1e3 * wait:.0f} ms"
    yield f"{seen.refused} of {len(seen.waits)}"
    yield f"{seen.memory / 1e6:.0f} MB"


if __name__ == "__main__":
    main()
