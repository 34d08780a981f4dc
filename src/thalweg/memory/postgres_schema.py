"""Setting up a memory in a PostgreSQL database.

Whoever reads or writes rows of a scope has told the server which scope that is, for the length
of one transaction: its row-level security keeps the rows of all others from whatever statement
there is, even of the tables' owner. Superusers, and who may bypass it, it does not hold back.
"""

import secrets

import psycopg

from thalweg.archive.postgres_schema import as_storage_error
from thalweg.memory.meta import VERSION, refuse_newer, secret_of
from thalweg.memory.schema import SCOPED, statements

_SET_UP = int.from_bytes(b"memory")
"""The advisory lock of whoever sets the tables up."""
_SECURED = """
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
CREATE POLICY memory_of_one_scope ON {table}
    USING (scope = NULLIF(current_setting('thalweg.scope', true), '')::bigint)
"""
_AS_IT_IS = (
    "ALTER TABLE memory_turn ALTER body SET STORAGE EXTERNAL",
    "ALTER TABLE memory_fact ALTER body SET STORAGE EXTERNAL",
    "ALTER TABLE memory_section ALTER body SET STORAGE EXTERNAL",
    "ALTER TABLE memory_change ALTER before SET STORAGE EXTERNAL",
    "ALTER TABLE memory_change ALTER after SET STORAGE EXTERNAL",
)
"""Texts are not compressed: what was forgotten can be looked for."""


def prepare(connection: psycopg.Connection, place: str, secret: bytes | None) -> bytes:
    """Make the tables where they are missing, and return the secret of this memory.

    Raises:
        ConfigError: It was written by a newer version, or has another secret.
        StorageError: It cannot be written.
    """
    try:
        meta = _meta(connection)
        if meta is None:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SET_UP,))
                meta = _meta(connection) or _set_up(connection, secret)
    except psycopg.Error as error:
        raise as_storage_error(place, error) from None
    refuse_newer(place, meta)
    return secret_of(place, meta, secret)


def _meta(connection: psycopg.Connection) -> dict[str, bytes] | None:
    # Asked of the catalog's rows: `to_regclass` may remember how it was before another
    # process set the tables up.
    there = "SELECT 1 FROM pg_class WHERE relname = 'memory_meta' AND pg_table_is_visible(oid)"
    if connection.execute(there).fetchone() is None:
        return None
    return dict(connection.execute("SELECT name, value FROM memory_meta").fetchall())


def _set_up(connection: psycopg.Connection, secret: bytes | None) -> dict[str, bytes]:
    secured = [_SECURED.format(table=table) for table in SCOPED]
    for statement in (*statements("postgres"), *_AS_IT_IS, *secured):
        connection.execute(statement.encode())
    meta = {"version": str(VERSION).encode(), "secret": secret or secrets.token_bytes(32)}
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO memory_meta VALUES (%s, %s)", list(meta.items()))
    return meta
