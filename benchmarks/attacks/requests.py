"""Requests of strangers: other hosts and origins, broken framing, bodies that are no JSON."""

import itertools
import socket
from contextlib import suppress

from benchmarks.attacks.outcome import Effort, Outcome
from benchmarks.gateway_floods import CONFIG, Gateway, serving

_OPEN_CONFIG = CONFIG.partition("gateway:")[0]
_PATIENCE_S = 3.0
_SILENCE_S = 0.5
_BAD = 500
_JSON = "Content-Type: application/json"
_HOSTS = (
    *("evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example"),
    *("127.0.0.1@evil.example", "evil.example@127.0.0.1", "localhost:1:2", "[::1].evil.example"),
    *("2130706433", "0x7f.1", "127.1", "", "localhost,evil.example", "\uff4cocalhost"),
)
_STRANGE = (
    *("Origin: https://evil.example", "Origin: null", "Origin: http://localhost:1", "Origin: "),
    *("Origin: file://", "Origin: chrome-extension://a", "Origin: https://localhost"),
    *("Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "X-Forwarded-For: 192.0.2.1"),
    *("X-Forwarded-For: 127.0.0.1, 192.0.2.1", "Origin: http://127.0.0.1.evil.example"),
)
_ASKED = (
    ("GET", "/api/threads"),
    ("POST", "/api/threads"),
    ("DELETE", "/api/memory"),
)


def from_other_origins(effort: Effort) -> Outcome:
    """Ask a gateway without keys as a page elsewhere does, and as another machine does."""
    del effort
    breaches: list[str] = []
    with serving(_OPEN_CONFIG, "--no-token") as gateway:
        own = f"Host: localhost:{gateway.port}"
        heads = [f"Host: {host}" for host in _HOSTS] + [f"{own}\r\n{line}" for line in _STRANGE]
        tries = list(itertools.product(_ASKED, heads))
        for (method, path), head in tries:
            breaches += _unless_refused(gateway, f"{method} {path} HTTP/1.1\r\n{head}\r\n{_JSON}")
        plain = f"POST /api/threads HTTP/1.1\r\n{own}\r\nContent-Type: text/plain"
        breaches += _unless_refused(gateway, plain)
        preflight = f"OPTIONS /api/threads HTTP/1.1\r\n{own}\r\nOrigin: https://evil.example"
        breaches += _unless_refused(gateway, f"{preflight}\r\nAccess-Control-Request-Method: POST")
        if _statuses(_sent(gateway, _whole(f"GET /api/threads HTTP/1.1\r\n{own}"))) != [200]:
            breaches.append("this machine itself is refused: nothing was shown")
    return Outcome(len(tries) + 2, tuple(breaches))


def with_broken_framing(effort: Effort) -> Outcome:
    """Smuggle a second request, climb out of static files, send endless headers; without a key."""
    del effort
    inner = "GET /api/threads HTTP/1.1\r\nHost: localhost\r\n\r\n"
    post = "POST /healthz HTTP/1.1\r\nHost: localhost\r\n"
    messages = (
        f"{post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{inner}",
        f"{post}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\n{inner}0\r\n\r\n",
        f"{post}Content-Length: 0\r\nContent-Length: {len(inner)}\r\n\r\n{inner}",
        f"{post}Content-Length: -1\r\n\r\n{inner}",
        f"{post}Content-Length: 0x10\r\n\r\n{inner}",
        f"{post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{inner}",
        f"{post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n{inner}",
        f"{post}Host: evil.example\r\n\r\n",
        "GET /api/threads HTTP/1.1\r\n\r\n",
        "GET http://evil.example/api/threads HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /api/threads HTTP/0.9\r\n\r\n",
        *(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n" for path in _CLIMBS),
        f"GET /api/threads HTTP/1.1\r\nHost: localhost\r\nX: {'a' * 2_000_000}\r\n\r\n",
    )
    breaches: list[str] = []
    with serving() as gateway:
        for message in messages:
            answer = _sent(gateway, message.encode("latin-1"))
            if _reveals(answer) or any(status >= _BAD for status in _statuses(answer)):
                breaches.append(f"{message[:80]!r}: {answer[:80]!r}")
        breaches += _unless_well(gateway)
    return Outcome(len(messages), tuple(breaches))


_CLIMBS = (
    *("/docs/../api/threads", "/docs/%2e%2e/api/threads", "/healthz/..;/api/threads"),
    *("//api/threads", "/api//threads", "/API/THREADS", "/docs/assets/../../../../etc/passwd"),
    *("/docs/assets/%2e%2e/%2e%2e/%2e%2e/etc/passwd", "/docs/assets/..%2f..%2fetc%2fpasswd"),
    *("/docs/assets//etc/passwd", "/docs/assets/%00", "/api/threads/\xff\xfe", "/%c0%af/etc"),
)


def with_malformed_json(effort: Effort) -> Outcome:
    """Send bodies that are no JSON, or JSON that parsers stumble over."""
    del effort
    bodies = (
        *(b"[" * 1_000_000, b'{"a":' * 100_000, b'{"a":1', b"nul", b"'a'", b"{]", b"\x00", b""),
        *(b'{"id": NaN}', b'{"id": -Infinity}', b'{"id": 1e999}', b'{"id": ' + b"9" * 5_000 + b"}"),
        *(b'{"id": "\xff\xfe"}', b'{"id": "\xed\xa0\x80"}', '{"id": "ü"}'.encode("utf-16")),
        *(b"\x1f\x8b\x08\x00{}", b'{"id": "a", "id": ["b"]}', b'{"title": {"a": []}}', b"7", b"[]"),
    )
    breaches: list[str] = []
    with serving() as gateway:
        for body in bodies:
            status = gateway.ask("ada", "POST", "/api/threads", body)
            if status == 0 or status >= _BAD:
                breaches.append(f"{body[:40]!r}: {status}")
        breaches += _unless_well(gateway)
    return Outcome(len(bodies), tuple(breaches))


def _unless_refused(gateway: Gateway, head: str) -> list[str]:
    answer = _sent(gateway, _whole(head))
    is_refused = all(400 <= status < _BAD for status in _statuses(answer))  # noqa: PLR2004 (HTTP's)
    allows = b"access-control-allow-origin" in answer.lower()
    return [] if is_refused and not allows else [f"{head!r}: {answer[:80]!r}"]


def _whole(head: str) -> bytes:
    return f"{head}\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}".encode()


def _unless_well(gateway: Gateway) -> list[str]:
    status = gateway.ask("bob", "GET", "/healthz")
    return [] if status == 200 else [f"/healthz is answered with {status} afterwards"]  # noqa: PLR2004


def _reveals(answer: bytes) -> bool:
    """Return whether an answer has what a stranger may not see."""
    return b"root:" in answer or b'"items"' in answer


def _statuses(answer: bytes) -> list[int]:
    lines = [line for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
    return [int(line[9:12]) for line in lines]


def _sent(gateway: Gateway, message: bytes) -> bytes:
    """Send bytes, and read what comes until the end or until nothing comes."""
    pieces: list[bytes] = []
    with socket.create_connection((gateway.host, gateway.port), _PATIENCE_S) as connection:
        connection.settimeout(_SILENCE_S)
        with suppress(OSError):
            connection.sendall(message)
        with suppress(OSError):
            while piece := connection.recv(65_536):
                pieces.append(piece)
    return b"".join(pieces)
