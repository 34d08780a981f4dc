"""The history in a PostgreSQL database, which has the tables of all components."""

import psycopg

from thalweg.database.migrations.history import VERSIONS
from thalweg.database.migrations.schema import (
    HEAD,
    POSTGRES,
    VERSION_TABLE,
    Component,
    Schema,
    in_dialect,
    refuse_newer,
)
from thalweg.errors import ConfigError, StorageError

_MIGRATION_LOCK = int.from_bytes(b"thalweg")
"""The advisory lock of a process that makes or changes tables."""


def version_of(connection: psycopg.Connection) -> str:
    """Return the version of a database; empty if it never had any."""
    if not has_table(connection, VERSION_TABLE):
        return ""
    row = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}".encode()).fetchone()  # noqa: S608 (ours)
    return "" if row is None else str(row[0])


def bring_up_to_date(connection: psycopg.Connection, place: str) -> None:
    """Make what tables are missing, and bring those that are there to the newest version.

    All of it or nothing; where several processes begin at once, one does it.

    Args:
        connection: In autocommit mode.
        place: The database, for errors.

    Raises:
        ConfigError: The role may not, or the database is at a version unknown to this code.
        StorageError: The server rejects a statement of a migration; nothing was changed.
        psycopg.Error: The server failed.
    """
    current_version = version_of(connection)
    if current_version == HEAD:
        return
    refuse_newer(_PostgresSchema(connection, current_version), place)
    role, owner_role = _role_and_owner(connection)
    try:
        with connection.transaction():
            _upgrade(connection)
    except psycopg.errors.InsufficientPrivilege:
        state = (
            f"its tables are at version {current_version}, not {HEAD}"
            if current_version
            else "it has no tables"
        )
        problem = f"{state}, and the role {role} may not create or change tables"
        fix = f"run `thalweg db upgrade --role {role}` as {owner_role}"
        raise ConfigError(place, problem, fix) from None
    except _STATEMENT_ERRORS as error:
        step = (
            f"from version {current_version} to {HEAD}" if current_version else f"to version {HEAD}"
        )
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        version = connection.info.parameter_status("server_version") or ""
        problem = f"{f'PostgreSQL {version}'.strip()} cannot migrate its tables {step} ({reason})"
        fix = "nothing was changed; undo manual changes to the tables, or report this error"
        raise StorageError(place, problem, fix) from error


_STATEMENT_ERRORS = (
    psycopg.ProgrammingError,
    psycopg.IntegrityError,
    psycopg.DataError,
    psycopg.NotSupportedError,
)
"""A statement is wrong for this server or for the tables; others mean a failure of the server."""


def _upgrade(connection: psycopg.Connection) -> None:
    """Apply what versions the database lacks, once no other process does, in a transaction."""
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
    connection.execute(_CREATE_VERSION_TABLE)
    schema = _PostgresSchema(connection, version_of(connection))
    for version in VERSIONS:
        if schema.version < version.NUMBER:
            version.upgrade(schema)
    connection.execute(f"DELETE FROM {VERSION_TABLE}".encode())  # noqa: S608 (ours)
    connection.execute(f"INSERT INTO {VERSION_TABLE} VALUES (%s)".encode(), (HEAD,))  # noqa: S608 (ours)


class _PostgresSchema(Schema):
    """The tables of all components."""

    formats = {"archive": 3, "memory": 2}  # noqa: RUF012 (a constant)

    def __init__(self, connection: psycopg.Connection, version: str) -> None:
        self._connection, self.version = connection, version

    def make(self, component: Component, statements: str) -> None:
        """See `Schema.make`."""
        del component
        self._connection.execute(in_dialect(statements, POSTGRES).encode())

    def add_column(self, component: Component, table: str, column: str) -> None:
        """See `Schema.add_column`."""
        self.make(component, f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {column}")

    def in_postgres(self, statements: str) -> None:
        """See `Schema.in_postgres`."""
        schema = self.value("SELECT quote_ident(current_schema())")
        self._connection.execute(statements.replace("{schema}", str(schema)).encode())

    def has(self, table: str) -> bool:
        """See `Schema.has`."""
        return has_table(self._connection, table)

    def value(self, query: str) -> bytes | int | None:
        """See `Schema.value`."""
        row = self._connection.execute(query.encode()).fetchone()
        return None if row is None else row[0]


# As Alembic made it, which ran the versions up to 0006.
_CREATE_VERSION_TABLE = f"""
CREATE TABLE IF NOT EXISTS {VERSION_TABLE} (
    version_num varchar(32) NOT NULL CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY
)
""".encode()


def has_table(connection: psycopg.Connection, table: str) -> bool:
    """Return whether a connection sees a table, by its search path."""
    # Asked of the catalog's rows: `to_regclass` may remember how it was before another
    # process set the tables up.
    query = "SELECT 1 FROM pg_class WHERE relname = %s AND pg_table_is_visible(oid)"
    return connection.execute(query, (table,)).fetchone() is not None


def _role_and_owner(connection: psycopg.Connection) -> tuple[str, str]:
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
