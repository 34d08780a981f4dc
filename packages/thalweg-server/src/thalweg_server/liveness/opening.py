"""Open a presence by the address of the database that the processes share."""

from pathlib import Path

from thalweg.database.base import POSTGRES_SCHEMES
from thalweg_server.liveness.base import Liveness


def presence_at(address: str | Path) -> Liveness:
    """Return the presence for an address.

    Args:
        address: The path of an SQLite file, or `postgresql://…`.
    """
    if isinstance(address, str) and address.startswith(POSTGRES_SCHEMES):
        from thalweg_server.liveness.server import (  # noqa: PLC0415 (psycopg: an extra)
            ServerPresence,
        )

        return ServerPresence(address)
    from thalweg_server.liveness.files import FilePresence  # noqa: PLC0415 (the other of the two)

    return FilePresence(Path(address).parent / "presence")
