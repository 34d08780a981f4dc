"""Opening the application: every part, in order, and closing them in the other."""

from __future__ import annotations

from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Self

from thalweg.app.tenant import Tenant

if TYPE_CHECKING:
    from thalweg.api.catalogue import Health
    from thalweg.settings import Settings


class App:
    """All parts of one process; made by `open_app`.

    Example:
        ```python
        async with open_app("config.yaml") as app:
            tenant = app.tenant("ada")
            run = await tenant.runs.start("t1", NewRun(message="Hello"))
        ```
    """

    @property
    def settings(self) -> Settings:
        """The settings as they are now; a file that changed was read again."""
        raise NotImplementedError

    def tenant(self, owner: str) -> Tenant:
        """Give what one owner can reach.

        Args:
            owner: Who asks, from whoever authenticated the caller.
        """
        raise NotImplementedError

    async def health(self) -> Health:
        """Look at every part: can the archive, the memory, the checkpoints and the runs be read."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        raise NotImplementedError

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close every part; runs under way are left to be taken up by another process."""
        raise NotImplementedError


def open_app(
    settings: Settings | str | PathLike[str] | None = None,
    *,
    home: str | PathLike[str] | None = None,
) -> App:
    """Prepare an application; its parts open with `async with`.

    Args:
        settings: Settings, or the path of a `config.yaml`; the usual places where it is not
            given. A file is read again when it changes.
        home: Folder of the files that are kept; the settings' where it is not given.
    """
    raise NotImplementedError
