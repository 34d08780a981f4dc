"""Where a database stands in the history, and bringing it to its end.

Looking is plain SQL; Alembic and SQLAlchemy are imported when there is something to do.
"""

from collections.abc import Callable

import psycopg

from thalweg.errors import ConfigError

HEAD = "0006"
"""The newest version. Versions are numbers, and a higher one is newer."""
TABLE = "thalweg_version"
"""Where a database says at which version it is."""
_LOCK = int.from_bytes(b"thalweg")
"""The advisory lock of whoever makes or changes tables."""

Connect = Callable[[], psycopg.Connection]


def version_of(connection: psycopg.Connection) -> str:
    """Tell at which version a database is; empty where it never had any."""
    # Asked of the catalog's rows: `to_regclass` may remember how it was before another
    # process set the tables up.
    there = "SELECT 1 FROM pg_class WHERE relname = %s AND pg_table_is_visible(oid)"
    if connection.execute(there, (TABLE,)).fetchone() is None:
        return ""
    row = connection.execute(f"SELECT version_num FROM {TABLE}".encode()).fetchone()  # noqa: S608 (ours)
    return "" if row is None else str(row[0])


def is_up_to_date(connection: psycopg.Connection, place: str) -> bool:
    """Tell whether a database is at the newest version.

    Raises:
        ConfigError: It is at one that this code does not know.
    """
    found = version_of(connection)
    if found > HEAD:
        problem = f"its tables are at version {found}, this Thalweg knows them up to {HEAD}"
        raise ConfigError(place, problem, "update thalweg")
    return found == HEAD


def bring_up_to_date(connect: Connect, place: str) -> None:
    """Make what tables are missing, and bring those that are there to the newest version.

    All of it or nothing; where several processes begin at once, one does it.

    Raises:
        ConfigError: The role may not, or the database is at a version unknown to this code.
        psycopg.Error: The server failed.
    """
    with connect() as connection:
        if is_up_to_date(connection, place):
            return
        refuse_newer_formats(connection, place)
        who, owner = _roles(connection)
        found = version_of(connection)
    try:
        from thalweg.migrations.running import run  # noqa: PLC0415 (Alembic takes its time)
    except ModuleNotFoundError as error:
        if error.name not in {"alembic", "sqlalchemy"}:
            raise
        problem = "its tables are to be made or changed, and Alembic is not installed"
        raise ConfigError(place, problem, "pip install 'thalweg[postgres]'") from None
    try:
        run(connect, HEAD, table=TABLE, lock=_LOCK)
    except psycopg.errors.InsufficientPrivilege:
        state = f"its tables are at version {found}, not {HEAD}" if found else "it has no tables"
        problem = f"{state}, and the role {who} may not make or change any"
        mend = f"run `thalweg db upgrade` as {owner}, then `thalweg db grants {who}`"
        raise ConfigError(place, problem, mend) from None


_COMMON_NAMES = ["runs", "run_events"]
"""Tables of ours whose names another application may have, too."""


def foreign_table(connection: psycopg.Connection) -> str | None:
    """Return a table of another application that has the name of one of ours; `None` of none.

    A database that has a version, or an archive from before there were any, has our tables.
    """
    if version_of(connection):
        return None
    found = connection.execute(
        "SELECT relname FROM pg_class WHERE relname = ANY (%s) AND pg_table_is_visible(oid)",
        (["archive_meta", *_COMMON_NAMES],),
    )
    names = sorted(str(name) for (name,) in found)
    return next(iter(names), None) if "archive_meta" not in names else None


_FORMATS = {"archive": 3, "memory": 2}
"""What tables that came without a version may say of themselves, at most."""


def refuse_newer_formats(connection: psycopg.Connection, place: str) -> None:
    """Look at the formats that rooms say they have, whatever the version.

    Raises:
        ConfigError: One of them is newer than this code.
    """
    for room, known in _FORMATS.items():
        there = "SELECT 1 FROM pg_class WHERE relname = %s AND pg_table_is_visible(oid)"
        if connection.execute(there, (f"{room}_meta",)).fetchone() is None:
            continue
        asked = f"SELECT value FROM {room}_meta WHERE name = 'version'"  # noqa: S608 (ours)
        row = connection.execute(asked.encode()).fetchone()
        if row is not None and int(row[0]) > known:
            problem = f"it has {room} format {int(row[0])}, this version reads {known}"
            raise ConfigError(place, problem, "update thalweg")


def _roles(connection: psycopg.Connection) -> tuple[str, str]:
    """Name the role that is connected, and the one to make or change tables."""
    row = connection.execute(
        "SELECT current_user, COALESCE("
        " (SELECT pg_get_userbyid(relowner) FROM pg_class"
        "  WHERE relname IN ('archive_meta', 'memory_meta') AND pg_table_is_visible(oid) LIMIT 1),"
        " (SELECT NULLIF(pg_get_userbyid(nspowner), 'pg_database_owner') FROM pg_namespace"
        "  WHERE nspname = current_schema()),"
        " (SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()))"
    ).fetchone()
    assert row is not None  # noqa: S101 (a SELECT without FROM has a row)
    return str(row[0]), str(row[1])
