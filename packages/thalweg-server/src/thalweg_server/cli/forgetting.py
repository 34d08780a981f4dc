"""The server's part of `thalweg db forget`."""

import asyncio
import os
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from thalweg.cli.home import user_folder
from thalweg.database.base import encode
from thalweg.database.erasure import erase_file
from thalweg.database.migrations.sqlite import has_table
from thalweg.database.sqlite_files import as_storage_error
from thalweg_server.app.registry import OWNER_TABLES
from thalweg_server.settings.loading import find, load_settings
from thalweg_server.settings.sections import Settings

_COUNT = "SELECT count(*) FROM {} WHERE owner = {}"
_RUN_TABLES = ("runs", "run_cron")
_TIMEOUT_S = 10.0


def forget_owner(address: str, owner: str, *, dry_run: bool) -> tuple[str, ...]:
    """Delete an owner at an address; see `thalweg.cli.plugins.OWNERS_GROUP`."""
    is_file = "://" not in address
    if is_file:
        archive = Path(address)
        if archive.name != "thalweg.db" or not archive.with_name("runs.db").is_file():
            return ()
    found = _found(address, owner) if dry_run or not is_file else ()
    # An application that is opened puts row-level security on the checkpoints of the database,
    # and a checkpointer of the user's own there could write none any more.
    if dry_run or not (is_file or found):
        return found
    configured = _settings_of(address, is_file=is_file)
    storage = {"home": str(Path(address).parent)} if is_file else {"url": address}
    settings = configured or Settings.from_mapping({"storage": storage})
    lines = asyncio.run(_forget(settings, owner))
    if is_file:  # files of any size, which a deletion over HTTP does not rewrite
        runs = Path(address).with_name("runs.db")
        files = (Path(address).name, runs.name)  # the first one is the archive's to erase
        remains = erase_file(runs, sys.maxsize)
        lines = (*(line for line in lines if not line.startswith(files)), remains)
    left = [] if configured else [_NOT_CONFIGURED]
    left += [str(path) for path in _chats() if path.is_file()]
    return tuple(filter(None, (*lines, *left)))


_NOT_CONFIGURED = (
    "files and memory documents in other folders: no config.yaml of this address was found; name "
    "it with THALWEG_CONFIG"
)


def _chats() -> list[Path]:
    """Return the files of `thalweg chat`, which are of no owner."""
    return [user_folder() / "chat_history", user_folder() / "chat.log"]


def _found(address: str, owner: str) -> tuple[str, ...]:
    """Count rows in one line without content, over connections that can only read.

    An opened application would create or migrate tables.
    """
    count = _count_in_server if "://" in address else _count_in_files
    runs, rows = count(address, owner)
    if not (runs or rows):
        return ()
    kinds = "with events, checkpoints and files of threads"
    return (
        f"server: {runs:,} runs and crons, {rows:,} rows of threads, documents, usage; {kinds}",
    )


def _count_in_files(address: str, owner: str) -> tuple[int, int]:
    def count(path: Path, tables: Sequence[str], key: str | bytes) -> int:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            there = [name for name in tables if has_table(database, name)]
            counts = (database.execute(_COUNT.format(name, "?"), (key,)) for name in there)
            return sum(row[0] for found in counts for row in found)

    path = Path(address)
    try:
        runs = count(path.with_name("runs.db"), _RUN_TABLES, owner)
        return runs, count(path, OWNER_TABLES, encode(owner))
    except sqlite3.Error as error:
        raise as_storage_error(address, error) from error


def _count_in_server(address: str, owner: str) -> tuple[int, int]:
    import psycopg  # noqa: PLC0415 (an extra)

    from thalweg.database.postgres_server import (  # noqa: PLC0415 (an extra)
        as_storage_error,
        connect,
        place_of,
    )

    key, place = encode(owner), place_of(address)
    with connect(address, place, _TIMEOUT_S) as connection:
        connection.read_only = True

        def count(tables: Sequence[str], key: str | bytes, visible: str) -> int:
            with connection.transaction():
                connection.execute("SELECT set_config('thalweg.owner', %s, true)", (visible,))
                is_there = "SELECT to_regclass(%s) IS NOT NULL"
                there = [
                    name
                    for name in tables
                    if connection.execute(is_there, (name,)).fetchone() == (True,)
                ]
                counts = (
                    connection.execute(_COUNT.format(name, "%s").encode(), (key,)) for name in there
                )
                return sum(row[0] for found in counts for row in found)

        try:
            return count(_RUN_TABLES, owner, owner), count(OWNER_TABLES, key, f"\\x{key.hex()}")
        except psycopg.Error as error:
            raise as_storage_error(place, error) from None


async def _forget(settings: Settings, owner: str) -> tuple[str, ...]:
    from thalweg_server.app import open_app  # noqa: PLC0415 (seconds)

    async with open_app(settings, role="api") as app:
        return await app.tenant(owner).deletion.delete()


def _settings_of(address: str, *, is_file: bool) -> Settings | None:
    """Return the configuration in the usual place if it is of this address, for its files."""
    if not find(None, os.environ):
        return None
    found = load_settings()
    place = Path(address).parent
    storage = found.storage
    if storage.address is None and is_file and Path(storage.home).resolve() == place.resolve():
        return found
    return found if storage.address == address else None
