"""What may come in as a body: how much, how fast, of which type and how deep.

JSON is read whole, looked at once by pydantic's own reader, and handed on; it is refused before
any route runs where it is too deep, has numbers that are none, or text that is none.
"""

import asyncio
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thalweg.gateway.problems import Refusal, refuse

MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """How much may come in."""

    json_bytes: int = 48 * MIB
    """Bytes of a body of JSON; a message of ten million characters fits."""
    form_bytes: int
    """Bytes of a form with files, all together."""
    part_s: float = 30.0
    """Seconds that may pass until the next part of a body comes."""


class Bodies:
    """ASGI middleware that refuses bodies no route should see."""

    def __init__(self, application: ASGIApp, limits: Callable[[], BodyLimits]) -> None:
        self._application = application
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Look at the body, where there is one."""
        if scope["type"] != "http" or scope["method"] in _BODILESS:
            await self._application(scope, receive, send)
            return
        try:
            bounded = await self._looked_at(Headers(scope=scope), receive)
            await self._application(scope, bounded, send)
        except Refusal as refusal:
            await refuse(refusal, scope, receive, send)

    async def _looked_at(self, headers: Headers, receive: Receive) -> Receive:
        """Give what the application receives from.

        Raises:
            Refusal: The body may not come in.
        """
        length = headers.get("content-length", "")
        if length == "0" or not (length or "transfer-encoding" in headers):
            return receive
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        is_json = kind == "application/json" or kind.endswith("+json")
        if not is_json and kind != "multipart/form-data":
            told = f"a body of type {kind}" if kind else "a body without a type"
            mend = "send JSON as application/json, files as multipart/form-data"
            raise Refusal(415, "request.media_type", f"{told} is not taken; {mend}")
        limits = self._limits()
        most = limits.json_bytes if is_json else limits.form_bytes
        if length.isdecimal() and int(length[:20]) > most:
            raise too_large(most)
        bounded = _Bounded(receive, most, limits.part_s)
        return await _whole_json(bounded) if is_json else bounded


def too_large(most: int) -> Refusal:
    """Refuse a body of too many bytes; the connection is closed, for its rest is not read."""
    said = f"the body is larger than the {most:,} bytes that may come in"
    return Refusal(413, "request.too_large", said, {"Connection": "close"})


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
            said = f"no part of the body came for {self._part_s:g} s"
            raise Refusal(408, "request.timeout", said, {"Connection": "close"}) from None
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                raise too_large(self._most)
            if not message.get("more_body", False):
                self._part_s = None  # what comes now is the client going away, hours later
        return message


async def _whole_json(receive: Receive) -> Receive:
    parts = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            break  # gone before it was whole: what is there is no JSON
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            break
    body = b"".join(parts)
    if body:
        try:
            from_json(body, allow_inf_nan=False, cache_strings="none")
            if _LARGE.search(body):
                json.loads(body, parse_float=_finite)
        except ValueError as error:
            said = f"the body is no JSON: {error}; nothing was done"
            raise Refusal(400, "request.malformed", said) from None
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _finite(number: str) -> float:
    if math.isinf(value := float(number)):
        msg = f"{number[:20]} is larger than any number"
        raise ValueError(msg)
    return value


_LARGE = re.compile(rb"[eE]\+?[0-9]{3}")
"""What a number that is read as infinite has in it."""
_BODILESS = frozenset({"GET", "HEAD", "OPTIONS"})
