"""A time limit on the headers of a request: a connection that sends them slowly is closed.

uvicorn has one for idle connections between requests, and none for a request that has begun.
"""

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle


class HeadersInTime(H11Protocol):
    """Closes a connection whose headers do not arrive in `limit_s` seconds.

    The time runs from the opening of the connection, or from the first byte of a further request.
    """

    limit_s: ClassVar[float]
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Open the connection, and start the timeout of its headers.

        See `asyncio.Protocol.connection_made`.
        """
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Process data, and update the timeout; see `asyncio.Protocol.data_received`."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timeout, and close the connection; see `asyncio.Protocol.connection_lost`."""
        self._stop()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if not self._awaits_headers():
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.limit_s, self._close)

    def _awaits_headers(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        self._timer = None
        if self._awaits_headers() and not self.transport.is_closing():
            self.transport.close()


def within(seconds: float) -> type[asyncio.Protocol]:
    """Return the protocol with a limit of so many seconds, for `uvicorn.Config(http=…)`."""
    return type("HeadersInTime", (HeadersInTime,), {"limit_s": seconds})
