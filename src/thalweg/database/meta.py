"""What the tables of a room have of their own: the format of what is in them, and a secret."""

import secrets
from typing import Literal

from thalweg.database.base import Database, Rows
from thalweg.errors import ConfigError


def read_secret(
    database: Database[Rows],
    room: Literal["archive", "memory"],
    given: bytes | None,
    *,
    version: int,
) -> bytes:
    """Read the secret of a room's tables, which have one from when they are first opened.

    Args:
        database: Has the table `ROOM_meta`.
        room: Whose tables.
        given: The secret that the caller expects; `None` for any. New tables get it, or a random
            one.
        version: The format of new tables.

    Raises:
        ConfigError: They have another secret.
        StorageError: The database failed.
    """
    first = {
        "version": str(version).encode(),
        "secret": secrets.token_bytes(32) if given is None else given,
    }
    with database.reading(None) as rows:
        meta = _read(rows, room)
    if not first.keys() <= meta.keys():
        with database.writing(None) as rows:
            rows.run_each(
                f"INSERT INTO {room}_meta VALUES (?, ?) ON CONFLICT DO NOTHING",  # noqa: S608 (ours)
                first.items(),
            )
            meta = _read(rows, room)
    kept = bytes(meta["secret"])
    if given is not None and given != kept:
        problem = "it was made with another secret"
        raise ConfigError(database.place, problem, "open it with that one, or with none")
    return kept


def _read(rows: Rows, room: str) -> dict[str, bytes]:
    return dict(rows.rows(f"SELECT name, value FROM {room}_meta"))  # noqa: S608 (ours)
