"""The connection of a client to its gateway: requests, retries, and errors.

A request is retried only if that is safe: it never reached a gateway, or it is idempotent. With
several gateways the next attempt uses the next of them.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from pydantic import TypeAdapter, ValidationError

from thalweg.errors import ClientError, ThalwegError
from thalweg_server.client.calls import Answer, GatewayRequest
from thalweg_server.client.problems import UNREACHABLE, UNREADABLE, error_of, problem_in

TRIES = 6
"""Of one request, and of a stream that brings nothing new."""
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 5.0
_BUSY = frozenset({429, 502, 503, 504})
"""Statuses of a gateway that may do it in a moment, and has done nothing yet."""
_LOCAL = ("127.0.0.1", "localhost", "[::1]")
"""Never reached through a proxy."""


class Connection:
    """Requests to one gateway, or to one of several that share their storage."""

    def __init__(
        self,
        bases: Sequence[str],
        *,
        key: str | None = None,
        timeout_s: float = 60.0,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._bases = [base.rstrip("/") for base in bases]
        self._at = 0
        self._timeout_s = timeout_s
        headers = {"authorization": f"Bearer {key}"} if key else {}
        around: Mapping[str, httpx2.AsyncBaseTransport | None] = (
            {} if transport else {f"all://{host}": None for host in _LOCAL}
        )
        self._http = httpx2.AsyncClient(
            headers=headers, transport=transport, mounts=around, follow_redirects=True
        )

    async def aclose(self) -> None:
        """Let go of the connections; in process, of the application too."""
        await self._http.aclose()

    async def ask(self, call: GatewayRequest, shape: type[Answer] | TypeAdapter[Answer]) -> Answer:
        """Send a request, and return its parsed answer.

        Raises:
            ThalwegError: The error of the gateway.
            ClientError: No gateway answered, or the format is not supported.
        """
        response = await self.fetch(call)
        known = shape if isinstance(shape, TypeAdapter) else TypeAdapter(shape)
        try:
            return known.validate_json(response.content)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(step) for step in first["loc"]) or "the answer"
            problem = f"{call.method} {call.path}: {where}: {first['msg']}"
            fix = "check that gateway and client have the same version"
            raise ClientError(response.status_code, UNREADABLE, f"{problem}; {fix}") from None

    async def fetch(self, call: GatewayRequest) -> httpx2.Response:
        """Send a request, and return the complete response. Raises as `ask`."""
        tries = ReconnectAttempts()
        while True:
            try:
                response = await self._http.send(self._request(call))
            except httpx2.TransportError as error:
                self.next_gateway()
                never_sent = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
                if not (call.is_safe or never_sent) or not await tries.another():
                    raise self.unreachable(error) from error
                continue
            if response.is_success or response.status_code in call.takes:
                return response
            if not (is_passing(response) and call.is_safe):
                raise failure(response)
            self.next_gateway()
            if not await tries.another(requested_pause(response)):
                raise failure(response)

    @asynccontextmanager
    async def streamed(self, call: GatewayRequest) -> AsyncIterator[httpx2.Response]:
        """Send a request, without retries, and yield its response as a stream."""
        response = await self._http.send(self._request(call), stream=True)
        try:
            yield response
        finally:
            await response.aclose()

    def next_gateway(self) -> None:
        """Switch to another gateway, if there are several."""
        self._at = (self._at + 1) % len(self._bases)

    def unreachable(self, error: Exception) -> ClientError:
        """Return the error for no answer from any gateway, with what to start."""
        tried = " and ".join(self._bases)
        reason = str(error).strip() or type(error).__name__
        fix = "start one with `thalweg serve`, or check the address"
        return ClientError(0, UNREACHABLE, f"no gateway answers at {tried} ({reason}); {fix}")

    def _request(self, call: GatewayRequest) -> httpx2.Request:
        wait_s = call.wait_s or self._timeout_s
        return self._http.build_request(
            call.method,
            self._bases[self._at] + call.path,
            params=_given(call.query),
            json=call.body if call.body is None else _given(call.body),
            files=[("files", file) for file in call.files] or None,
            headers=dict(call.headers),
            timeout=httpx2.Timeout(self._timeout_s, read=wait_s, connect=min(10.0, wait_s)),
        )


class ReconnectAttempts:
    """How often something was tried without getting on, and for how long to pause now."""

    def __init__(self) -> None:
        self._made = 1

    def got_on(self) -> None:
        """Count from the beginning again."""
        self._made = 1

    async def another(self, requested_s: float | None = None) -> bool:
        """Pause, a little longer each time; False when it was tried often enough.

        Args:
            requested_s: The pause that a gateway asked for.
        """
        if self._made >= TRIES:
            return False
        longest = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2**self._made)
        # Readers that lost one gateway together should not all come back together.
        pause = random.uniform(longest / 2, longest) if requested_s is None else requested_s  # noqa: S311
        self._made += 1
        await asyncio.sleep(pause)
        return True


def failure(response: httpx2.Response) -> ThalwegError:
    """Make the error of an answer that is none."""
    reason = response.reason_phrase
    return error_of(problem_in(response.status_code, reason, response.content))


def is_passing(response: httpx2.Response) -> bool:
    """Whether the same request may go well in a moment."""
    return response.status_code in _BUSY


def requested_pause(response: httpx2.Response) -> float | None:
    """Return the pause in seconds that a gateway requested."""
    header = response.headers.get("retry-after", "")
    return min(float(header), _LONGEST_PAUSE_S) if header.isdigit() else None


def _given(values: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
