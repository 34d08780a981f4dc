"""Checks of the data folder and of the databases in it."""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, get_args

from thalweg.database.migrations.schema import HEAD, Component
from thalweg.database.migrations.sqlite import refuse_newer_file, version_of
from thalweg.engine.extras import install_command
from thalweg.errors import ConfigError, ThalwegError
from thalweg_server.cli.doctor.finding import Finding

FILES: Final = ("thalweg.db", "runs.db")
LEAST_BYTES: Final = 1_000_000
"""Free space that a data folder needs."""
_TIMEOUT_S: Final = 5.0


def folder(home: Path) -> Iterator[Finding]:
    """Check the data folder and the SQLite files in it."""
    home = home.absolute()
    if problem := write_problem(home):
        fix = "free space or make it writable, or set THALWEG_HOME to a folder that is"
        yield Finding("data folder", f"{home} cannot be written ({problem})", fix, "broken")
        return
    if not home.exists():
        yield Finding("data folder", f"{home}, not there yet; it can be created and written")
        return
    yield Finding("data folder", f"{home}, {_size(home)}, can be written")
    for path in (home / name for name in FILES):
        if path.is_file():
            yield _database(path)


def write_problem(home: Path) -> str:
    """Return why a folder, or the nearest one above it that exists, is not writable; else empty.

    A file of `LEAST_BYTES` is written and removed: a full disk still accepts an empty one.
    """
    try:
        nearest = next(folder for folder in (home, *home.parents) if folder.exists())
        with tempfile.TemporaryFile(dir=nearest) as file:
            file.write(bytes(LEAST_BYTES))
            file.flush()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _size(home: Path) -> str:
    size = 0
    for path in home.rglob("*"):
        try:
            size += path.lstat().st_size
        except OSError:  # deleted meanwhile, or not ours to see
            continue
    return f"{size / 1e6:,.1f} MB"


def _database(path: Path) -> Finding:
    """Check the integrity of a file and the versions of its tables; nothing is written."""
    recover = f"sqlite3 {path} .recover | sqlite3 {path.with_suffix('.recovered.db')}"
    try:
        address = f"{path.as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=_TIMEOUT_S)) as opened:
            (result,) = opened.execute("PRAGMA quick_check(1)").fetchone()
            if result != "ok":
                return Finding(path.name, f"damaged: {result}", recover, "broken")
            refuse_newer_file(opened, str(path))
            components: tuple[Component, ...] = get_args(Component)
            versions = {name: version_of(opened, name) for name in components}
    except ConfigError as error:
        return Finding(path.name, error.problem, error.fix, "broken")
    except sqlite3.Error as error:
        return Finding(path.name, f"cannot be read: {error}", recover, "broken")
    held = [name for name, version in versions.items() if version]
    older = sorted({version for version in versions.values() if version and version < HEAD})
    schema = f"schema {HEAD}" if not older else f"schema {older[0]}, updated when it is opened"
    return Finding(path.name, f"{', '.join(held) or 'no tables'}; {schema}; integrity ok")


def server(url: str) -> Finding:
    """Check the PostgreSQL server that the settings name."""
    try:
        from thalweg.database.migrations.postgres import version_of as version_on  # noqa: PLC0415 (an extra)
        from thalweg.database.postgres_server import connect, place_of  # noqa: PLC0415 (an extra)
    except ModuleNotFoundError:
        fix = install_command("postgres")
        return Finding("PostgreSQL", "psycopg is not installed", fix, "broken")
    place = place_of(url)
    try:
        with connect(url, place, _TIMEOUT_S) as connection:
            version = version_on(connection)
    except ThalwegError as error:
        fix = str(getattr(error, "fix", "")) or "check storage.url"
        return Finding("PostgreSQL", f"{error}", fix, "broken")
    if version != HEAD:
        seen = f"{place}: tables at version {version or 'none'}, this Thalweg has {HEAD}"
        fix = "thalweg db upgrade" if version < HEAD else "install a newer Thalweg"
        return Finding("PostgreSQL", seen, fix, "broken")
    return Finding("PostgreSQL", f"{place}, schema {HEAD}")
