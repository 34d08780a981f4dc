"""The checkpoints of a thread, by the address of their database."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from thalweg.database.base import POSTGRES_SCHEMES
from thalweg.database.migrations.sqlite import has_table
from thalweg.engine.extras import needs_extra
from thalweg.errors import ConfigError

_NO_CHECKPOINTS = "there are no checkpoints of LangGraph"
_FIX = "name the file or the database of the agent's checkpointer"


def holds_thread(saver: BaseCheckpointSaver[Any], thread: str) -> bool:
    """Return whether a checkpointer has a checkpoint of a thread."""
    return saver.get_tuple({"configurable": {"thread_id": thread}}) is not None


@contextmanager
def opened_checkpoints(address: str) -> Iterator[BaseCheckpointSaver[Any] | None]:
    """Open the checkpointer of a database; `None` for an empty address. Nothing is created.

    Raises:
        ConfigError: There are no checkpoints at the address.
        MissingExtraError: LangGraph's checkpointer for it is not installed.
        StorageError: The server cannot be reached.
    """
    if not address:
        yield None
    elif address.startswith(POSTGRES_SCHEMES):
        with _open_postgres_saver(address) as saver:
            yield saver
    else:
        with _open_sqlite_saver(address) as saver:
            yield saver


@contextmanager
def _open_sqlite_saver(path: str) -> Iterator[BaseCheckpointSaver[Any]]:
    with needs_extra("--checkpoints"):
        from langgraph.checkpoint.sqlite import SqliteSaver  # noqa: PLC0415 (an extra)

    if not Path(path).is_file():
        raise ConfigError(path, "there is no such file", _FIX)
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        try:
            if not has_table(connection, "checkpoints"):
                raise ConfigError(path, _NO_CHECKPOINTS, _FIX)
        except sqlite3.DatabaseError as error:
            raise ConfigError(path, f"not a usable SQLite database ({error})", _FIX) from None
        yield SqliteSaver(connection)


@contextmanager
def _open_postgres_saver(url: str) -> Iterator[BaseCheckpointSaver[Any]]:
    with needs_extra("--checkpoints postgresql://"):
        import psycopg  # noqa: PLC0415 (an extra)
        from langgraph.checkpoint.postgres import PostgresSaver  # noqa: PLC0415 (an extra)

        from thalweg.database.migrations.postgres import (  # noqa: PLC0415
            has_table as postgres_has_table,
        )
        from thalweg.database.postgres_server import as_storage_error, place_of  # noqa: PLC0415

    place = place_of(url)
    try:
        with PostgresSaver.from_conn_string(url) as saver:
            if not postgres_has_table(saver.conn, "checkpoints"):  # type: ignore[arg-type]
                raise ConfigError(place, _NO_CHECKPOINTS, _FIX)
            yield saver
    except psycopg.Error as error:
        raise as_storage_error(place, error) from None
