"""Setting up a memory in a PostgreSQL database."""

import secrets

from thalweg.archive.postgres_schema import read_meta
from thalweg.memory.meta import secret_of

_FORMAT = 2
"""Format 1 with the queue's rows secured, too, in the tables that `thalweg.migrations` makes."""


def prepare(url: str, place: str, timeout_s: float, secret: bytes | None) -> bytes:
    """Make the tables where they are missing, and return the secret of this memory.

    Raises:
        ConfigError: It was written by a newer version, or has another secret; or the tables are
            missing or older, and this role may not make or change them.
        StorageError: It cannot be reached, or not be written.
    """
    first = {
        "version": str(_FORMAT).encode(),
        "secret": secrets.token_bytes(32) if secret is None else secret,
    }
    meta = read_meta(url, place, timeout_s, table="memory_meta", first=first)
    return secret_of(place, meta, secret)
