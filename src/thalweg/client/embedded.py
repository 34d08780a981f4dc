"""The gateway's application in this process: the very same that is reached over HTTP."""

from typing import TYPE_CHECKING

from thalweg.app.opening import open_app
from thalweg.client.in_process import Application, Message, Receive, Send
from thalweg.gateway import create_app

if TYPE_CHECKING:
    from thalweg.settings import Settings


class Embedded:
    """An ASGI application that opens with its lifespan, and closes with it."""

    def __init__(self, settings: "str | Settings | None", owner: str) -> None:
        """Prepare it.

        Args:
            settings: Settings, or the path of a `config.yaml`; `None`: the usual places.
            owner: Whose threads and memory every request reaches.
        """
        self._settings = settings
        self._owner = owner
        self._inside: Application | None = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Take a request, or live."""
        if scope["type"] == "lifespan":
            async with open_app(self._settings) as app:
                self._inside = create_app(app, owner=self._owner)
                await self._inside(scope, receive, send)
        elif self._inside is not None:
            await self._inside(scope, receive, send)
