"""The tables in which a PostgreSQL database keeps the files of threads, and setting them up."""

from typing import Final

import psycopg

from thalweg.archive.postgres_schema import as_storage_error

CHUNK_BYTES: Final = 256 * 1_024
"""Bytes of a row of content: what is read for a range is at most two of them more."""

_SET_UP = int.from_bytes(b"files")
"""The advisory lock of whoever sets the tables up."""

# Hashes stand in the index: a path alone may be longer than a row of one.
_TABLES = """
CREATE TABLE IF NOT EXISTS thread_file (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner text NOT NULL,
    thread text NOT NULL,
    hash bytea NOT NULL,
    path text COLLATE "C" NOT NULL,
    size bigint NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    modified_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    note text,
    UNIQUE (owner, thread, hash)
);
CREATE TABLE IF NOT EXISTS thread_file_chunk (
    file bigint NOT NULL REFERENCES thread_file ON DELETE CASCADE,
    number integer NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (file, number)
);
"""


def prepare(connection: psycopg.Connection, place: str) -> None:
    """Make the tables where they are missing.

    Raises:
        StorageError: They cannot be made.
    """
    there = (
        "SELECT 1 FROM pg_class WHERE relname = 'thread_file_chunk' AND pg_table_is_visible(oid)"
    )
    try:
        if connection.execute(there).fetchone() is None:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SET_UP,))
                connection.execute(_TABLES)
    except psycopg.Error as error:
        raise as_storage_error(place, error) from None
