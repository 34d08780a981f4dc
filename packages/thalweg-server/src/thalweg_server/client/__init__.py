"""`ThalwegClient`: the same methods in process and over HTTP, sync and async.

Two rules: a client uses HTTP alone, also with a gateway in its own process; it raises the same
error as the gateway.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg_server.client.aio import AsyncThalwegClient
    from thalweg_server.client.blocking import BlockingStream, ThalwegClient
    from thalweg_server.client.streams import RunStream

__all__ = ["AsyncThalwegClient", "BlockingStream", "RunStream", "ThalwegClient"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "AsyncThalwegClient": "thalweg_server.client.aio",
        "BlockingStream": "thalweg_server.client.blocking",
        "RunStream": "thalweg_server.client.streams",
        "ThalwegClient": "thalweg_server.client.blocking",
    },
)
