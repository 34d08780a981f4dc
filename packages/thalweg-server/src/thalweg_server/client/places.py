"""The location of a client's gateway: addresses, or this process."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from thalweg.errors import ConfigError

if TYPE_CHECKING:  # both are for who makes a client
    from thalweg_server.client.connection import Connection
    from thalweg_server.client.in_process import Application
    from thalweg_server.settings import Settings

    At = str | PathLike[str] | Sequence[str] | Settings | Application | None
    """Addresses, a `config.yaml`, settings, an ASGI application; `None`: the usual settings."""

INSIDE = "http://localhost"
"""The address of a gateway in this process."""
OWNER = "local"
_SCHEMES = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class GatewayAddress:
    """The address of a gateway, and the parameters of its requests.

    Attributes:
        bases: Addresses of gateways that share their storage; empty: in this process.
        inside: In this process: settings, the path of a `config.yaml`, or an application.
        key: The key of a gateway that requires one.
        owner: In this process: the owner of threads and memory.
        timeout_s: Seconds of silence of a gateway before a timeout.
    """

    bases: tuple[str, ...]
    inside: "str | Settings | Application | None"
    key: str | None
    owner: str
    timeout_s: float

    async def connect(self) -> "Connection":
        """Open the way to it; a gateway in this process is started."""
        # What follows takes most of a second to import.
        from thalweg_server.client.connection import Connection  # noqa: PLC0415
        from thalweg_server.client.in_process import InProcess  # noqa: PLC0415

        if self.bases:
            key = self.key or _local_token(self.bases)
            return Connection(self.bases, key=key, timeout_s=self.timeout_s)
        inside = InProcess(self._application())
        connection = Connection([INSIDE], key=self.key, timeout_s=self.timeout_s, transport=inside)
        try:
            await inside.start()
        except BaseException:
            await connection.aclose()
            raise
        return connection

    def _application(self) -> "Application":
        if callable(self.inside):
            return self.inside
        from thalweg_server.gateway.create import create_app  # noqa: PLC0415 (FastAPI)

        return create_app(self.inside, owner=self.owner)


def _local_token(bases: Sequence[str]) -> str | None:
    """Find the token of this machine's gateway in the usual data folder; for no other machine."""
    from thalweg.archive.paths import home  # noqa: PLC0415 (with the first request)
    from thalweg_server.gateway.local_token import find_token  # noqa: PLC0415 (the same)
    from thalweg_server.settings.sections import is_loopback  # noqa: PLC0415 (the same)

    if not all(is_loopback(urlsplit(base).hostname or "") for base in bases):
        return None
    return find_token(home())


def place_of(at: "At", *, key: str | None, owner: str | None, timeout_s: float) -> GatewayAddress:
    """Parse the arguments of a client.

    Raises:
        ConfigError: An address is invalid, or a key or an owner does not apply to it.

    Example:
        >>> place_of("http://a/", key="k", owner=None, timeout_s=60.0).bases
        ('http://a/',)
        >>> place_of("config.yaml", key=None, owner=None, timeout_s=60.0).inside
        'config.yaml'
    """
    bases, inside = _apart(at)
    if bases and owner is not None:
        problem = f"it was passed for the gateway at {bases[0]}"
        raise ConfigError("owner", problem, "there the key identifies the owner")
    if not bases and key is not None and not callable(inside):
        problem = "it was passed for a gateway in this process"
        raise ConfigError("key", problem, "no key is required here; name an owner")
    return GatewayAddress(bases, inside, key, owner or OWNER, timeout_s)


def _apart(at: "At") -> "tuple[tuple[str, ...], str | Settings | Application | None]":
    if isinstance(at, str) and at.startswith(_SCHEMES):
        return (at,), None
    if isinstance(at, str | PathLike):
        return (), fspath(at)
    if isinstance(at, Sequence):
        for base in at:
            if not base.startswith(_SCHEMES):
                raise ConfigError("address", f"{base!r} is none", "write http://HOST:PORT")
        if not at:
            raise ConfigError(
                "address", "the list of addresses is empty", "name a gateway, or none"
            )
        return tuple(at), None
    return (), at
