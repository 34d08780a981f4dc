"""Limits of request bodies: size, rate, type, number of values and depth.

JSON is read whole, measured, and parsed once, outside of the event loop; the routes receive the
parsed value. It is refused before any route runs if it is too large, or has invalid numbers or
invalid text.

Its values and its depth are counted before it is parsed. A parser makes an object of each value: a
few megabytes of `[[],[],…]` become gigabytes. A count of the signs outside of strings costs a tenth
of that and stops at the limit.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.routing import Match
from starlette.types import Message, Receive, Scope

from thalweg_server.api.paths import SLASH, path_below_root, routed_path
from thalweg_server.gateway.problems import GatewayRefusal

_SIGNS = re.compile(rb'[\[{]|[\]}]|,|"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_LARGE = re.compile(rb"[eE]\+?[0-9]{3}")
"""Matches a large exponent, without which no number is read as infinite."""
MIB = 1 << 20
_AT_ONCE_BYTES = 1 << 14
"""A smaller body is parsed in the event loop: a thread costs more than it."""
_PARSED = "thalweg.json"
"""Where in a request's scope its parsed body is."""
_BODILESS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class JsonBounds:
    """How large a JSON text may be.

    Attributes:
        bytes: Bytes of the text.
        nodes: Values, those inside of others and the keys' values included.
        depth: Lists and objects inside of one another.
    """

    bytes: int
    nodes: int
    depth: int = 64


class JsonBoundsError(ValueError):
    """A JSON text has more values than it may."""


def parsed(text: bytes, bounds: JsonBounds) -> object:
    """Parse a JSON text that is within its bounds.

    Raises:
        JsonBoundsError: It has too many values.
        ValueError: It is no JSON, is too deep, or has a number that is none.

    Example:
        >>> parsed(b'{"a": [1, 2]}', JsonBounds(bytes=100, nodes=10))
        {'a': [1, 2]}
        >>> parsed(b"[[],[],[]]", JsonBounds(bytes=100, nodes=3))
        Traceback (most recent call last):
        thalweg_server.gateway.bodies.JsonBoundsError: it has more than 3 values
    """
    check_bounds(text, bounds)
    value = from_json(text, allow_inf_nan=False, cache_strings="none")
    if _LARGE.search(text):
        _check_numbers(value)
    return value


def check_bounds(text: bytes, bounds: JsonBounds) -> None:
    """Count the values and the depth of a JSON text.

    Raises:
        JsonBoundsError: There are too many values.
        ValueError: It is too deep.
    """
    openings = text.count(b"[") + text.count(b"{")
    # Signs inside strings count as well: there are no more values than this.
    if 1 + openings + text.count(b",") <= bounds.nodes and openings <= bounds.depth:
        return
    nodes, depth = 1, 0
    for match in _SIGNS.finditer(text):
        sign = text[match.start()]
        depth += (sign in b"[{") - (sign in b"]}")
        nodes += sign in b"[{,"
        if depth > bounds.depth:
            problem = f"it is more than {bounds.depth} lists and objects deep"
            raise ValueError(problem)
        if nodes > bounds.nodes:
            problem = f"it has more than {bounds.nodes:,} values"
            raise JsonBoundsError(problem)


def _check_numbers(value: object) -> None:
    """Look for infinite numbers; an integer is none, however many digits it has."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case float() as number if number in {float("inf"), float("-inf")}:
                problem = "a number is too large"
                raise ValueError(problem)
            case list() as items:
                waiting += items
            case dict() as members:
                waiting += members.values()


USUAL = JsonBounds(bytes=MIB, nodes=5_000)
"""Of most requests."""


LARGE: tuple[tuple[re.Pattern[str], JsonBounds], ...] = (
    (re.compile(r"/api/threads/[^/]+/runs(/stream)?"), JsonBounds(bytes=48 * MIB, nodes=10_000)),
    (
        re.compile(r"/threads(/[^/]+/(runs(/stream|/wait)?|state|commands))?|/runs(/.*)?|/v1/.*"),
        JsonBounds(bytes=48 * MIB, nodes=100_000),
    ),
    (re.compile(r"/api/memory/import"), JsonBounds(bytes=4 * MIB, nodes=50_000)),
)
"""Of requests that carry messages, of ten million characters for example, or a whole memory."""
_FORMS = re.compile(r"/api/threads/[^/]+/uploads")
"""Matches the paths of forms with files; a form elsewhere would be read whole by its route."""


def bounds_of(path: str) -> JsonBounds:
    """Return how large the JSON of a request may be.

    Example:
        >>> bounds_of("/api/threads/t1/runs").bytes // MIB, bounds_of("/api/threads").bytes // MIB
        (48, 1)
    """
    return next((bounds for of, bounds in LARGE if of.fullmatch(path)), USUAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """How much may come in."""

    json_of: Callable[[str], JsonBounds] = bounds_of
    """Returns the bounds of JSON for the path of a request."""
    form_bytes: int
    """Bytes of a form with files, all together."""
    part_s: float = 30.0
    """Seconds that may pass until the next part of a body comes."""


class GatewayRoute(APIRoute):
    """An operation with its function's name, which takes the JSON that `bounded_body` parsed."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **given: Any) -> None:  # noqa: ANN401 (as FastAPI has it)
        operation = given.pop("operation_id", None) or endpoint.__name__
        super().__init__(path, endpoint, operation_id=operation, **given)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match a path in which a name may have a quoted `/`; see `APIRoute.matches`."""
        match, found = super().matches({**scope, "path": routed_path(scope)})
        given = found.get("path_params", {})
        names = {key: str(value).replace(SLASH, "/") for key, value in given.items()}
        return match, {**found, "path_params": names} if given else found

    def get_route_handler(self) -> Callable[[Request], Any]:
        """Return the handler of a request; see `APIRoute.get_route_handler`."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(_ParsedRequest(request.scope, request.receive))

        return handle


class _ParsedRequest(Request):
    async def json(self) -> Any:  # noqa: ANN401 (as Starlette has it)
        """Return the parsed body; see `Request.json`."""
        return self.scope[_PARSED] if _PARSED in self.scope else await super().json()


async def bounded_body(scope: Scope, receive: Receive, limits: BodyLimits) -> Receive:
    """Return the `receive` of a request whose body is within its limits.

    Parsed JSON is stored in the scope.

    Raises:
        GatewayRefusal: The body is not allowed.
    """
    if scope["method"] in _BODILESS:
        return receive
    headers = Headers(scope=scope)
    length = headers.get("content-length", "")
    if length == "0" or not (length or "transfer-encoding" in headers):
        return receive
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = kind == "application/json" or kind.endswith("+json")
    path = path_below_root({**scope, "path": routed_path(scope)})
    if not is_json and (kind != "multipart/form-data" or not _FORMS.fullmatch(path)):
        received = f"a body of type {kind}" if kind else "a body without a type"
        fix = "send JSON as application/json, uploads as multipart/form-data"
        raise GatewayRefusal(415, "request.media_type", f"{received} is not taken; {fix}")
    bounds = limits.json_of(path)
    most = bounds.bytes if is_json else limits.form_bytes
    if length.isdecimal() and int(length[:20]) > most:
        raise too_large(most)
    bounded = _Bounded(receive, most, limits.part_s)
    if not is_json:
        return bounded
    body = await _whole(scope, bounded)
    if body:
        scope[_PARSED] = await _parse(body, bounds)
    return _again(body, bounded)


def too_large(most: int) -> GatewayRefusal:
    """Refuse a body of too many bytes; the connection is closed, for its rest is not read."""
    detail = f"the body is larger than the limit of {most:,} bytes"
    return GatewayRefusal(413, "request.too_large", detail, {"Connection": "close"})


class _Bounded:
    """Receives no more than it may, and waits no longer than it may."""

    def __init__(self, receive: Receive, most: int, part_s: float) -> None:
        self._receive = receive
        self._left = self._most = most
        self._part_s: float | None = part_s

    async def __call__(self) -> Message:
        try:
            message = await asyncio.wait_for(self._receive(), self._part_s)
        except TimeoutError:
            detail = f"no part of the body arrived for {self._part_s:g} s"
            raise GatewayRefusal(408, "request.timeout", detail, {"Connection": "close"}) from None
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                raise too_large(self._most)
            if not message.get("more_body", False):
                self._part_s = None  # what comes now is the client going away, hours later
        return message


async def _whole(scope: Scope, receive: Receive) -> bytes:
    try:
        return await Request(scope, receive).body()
    except ClientDisconnect:
        detail = "the body is not JSON: its sender is gone; nothing was done"
        raise GatewayRefusal(400, "request.malformed", detail) from None


async def _parse(body: bytes, bounds: JsonBounds) -> object:
    """Parse a body, in a thread if it is not small.

    Raises:
        Refusal: It is no JSON, or larger than its bounds.

    """
    try:
        if len(body) <= _AT_ONCE_BYTES:
            return parsed(body, bounds)
        return await asyncio.to_thread(parsed, body, bounds)
    except JsonBoundsError as error:
        detail = f"the body is refused: {error}; send it in parts"
        raise GatewayRefusal(413, "request.too_large", detail) from None
    except ValueError as error:
        detail = f"the body is not JSON: {error}; nothing was done"
        raise GatewayRefusal(400, "request.malformed", detail) from None


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that yields a body that was already read, then the next messages."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
