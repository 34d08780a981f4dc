"""The rights of a role in a database: its limitation to one owner's rows, and those it needs.

The role that serves neither owns tables nor may it create any; it reads and writes rows, of one
owner at a time. The rights to grant are read from the existing tables.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
from psycopg import sql

from thalweg.errors import ConfigError

_WALLED_TABLES = """
SELECT relname, relrowsecurity AND relforcerowsecurity AND EXISTS (
    SELECT 1 FROM pg_policy WHERE polrelid = pg_class.oid AND polname <> 'across'
)
FROM pg_class
WHERE relkind IN ('r', 'p') AND pg_table_is_visible(oid)
    AND relnamespace = CAST(current_schema() AS regnamespace)
ORDER BY relname
"""
_TABLE_PREFIXES = ("archive_", "memory_", "run", "app_", "thread_file", "checkpoint", "thalweg_")
"""How the names of tables begin that are looked at."""
OPEN_TABLES = {
    "archive_meta": "SELECT, INSERT",
    "memory_meta": "SELECT, INSERT",
    "checkpoint_migrations": "SELECT",
    "thalweg_version": "SELECT",
    "queue_job": "SELECT, INSERT, UPDATE, DELETE",
}
"""Tables without data of an owner, but ids, and the rights on them of a role that serves."""
_CROSS_OWNER_FUNCTIONS = """
SELECT CAST(CAST(oid AS regprocedure) AS text) FROM pg_proc
WHERE pronamespace = CAST(current_schema() AS regnamespace) AND prosecdef
    AND (proname LIKE 'archive\\_%' OR proname LIKE 'memory\\_%' OR proname LIKE 'run\\_%')
ORDER BY 1
"""
"""The functions that look across owners."""
_ROLE_QUERY = """
SELECT rolname, rolsuper, rolbypassrls,
    has_schema_privilege(rolname, current_schema(), 'CREATE')
FROM pg_roles WHERE rolname = COALESCE(%s, current_user)
"""


@dataclass(frozen=True, slots=True)
class Role:
    """A role of the server."""

    name: str
    is_superuser: bool
    bypasses_row_security: bool
    """Whether row-level security does not restrict it, because it was granted that right."""
    makes_tables: bool

    @property
    def is_held(self) -> bool:
        """Whether it sees one owner's rows at a time, with any query."""
        return not (self.is_superuser or self.bypasses_row_security)


def read_role(connection: psycopg.Connection, name: str | None = None) -> Role | None:
    """Return the rights of a role; without a name, of the connected one."""
    row = connection.execute(_ROLE_QUERY, (name,)).fetchone()
    return None if row is None else Role(*row)


def walled_tables(connection: psycopg.Connection) -> dict[str, bool]:
    """List the tables that hold rows of owners, and whether each has its wall."""
    rows = connection.execute(_WALLED_TABLES).fetchall()
    return {
        table: has_wall
        for table, has_wall in rows
        if table.startswith(_TABLE_PREFIXES) and table not in OPEN_TABLES
    }


def validate_grantee(connection: psycopg.Connection, place: str, name: str) -> None:
    """Validate that a role may serve.

    Raises:
        ConfigError: There is no such role, or nothing restricts it to one owner's rows.
    """
    grantee = read_role(connection, name)
    quoted = sql.Identifier(name).as_string(connection)
    if grantee is None:
        fix = f"CREATE ROLE {quoted} LOGIN PASSWORD '…' NOSUPERUSER NOBYPASSRLS"
        raise ConfigError(place, f"there is no role {name}", fix)
    if not grantee.is_held:
        problem = f"the role {name} bypasses row-level security: it sees all owners' rows"
        fix = f"ALTER ROLE {quoted} NOSUPERUSER NOBYPASSRLS, or take another role"
        raise ConfigError(place, problem, fix)


def grant_statements(connection: psycopg.Connection, place: str, name: str) -> Iterator[str]:
    """Yield the statements that grant a role the rights to serve.

    Raises:
        ConfigError: See `validate_grantee`.
    """
    validate_grantee(connection, place, name)
    quoted = sql.Identifier(name).as_string(connection)
    existing_tables = {table for table, _ in connection.execute(_WALLED_TABLES).fetchall()}
    owner_tables = sorted(walled_tables(connection))
    (schema,) = connection.execute("SELECT quote_ident(current_schema())").fetchone() or ("",)
    yield f"GRANT USAGE ON SCHEMA {schema} TO {quoted}"
    if owner_tables:
        yield f"GRANT SELECT, INSERT, UPDATE, DELETE ON {', '.join(owner_tables)} TO {quoted}"
    for table in sorted(existing_tables & OPEN_TABLES.keys()):
        yield f"GRANT {OPEN_TABLES[table]} ON {table} TO {quoted}"
    if cross_functions := [
        function for (function,) in connection.execute(_CROSS_OWNER_FUNCTIONS).fetchall()
    ]:
        yield f"GRANT EXECUTE ON FUNCTION {', '.join(cross_functions)} TO {quoted}"
    memory_tables = [table for table in owner_tables if table.startswith("memory_")]
    if memory_tables and connection.info.server_version >= _MIN_MAINTAIN_VERSION:
        # What is forgotten is to be in no file: the tables are vacuumed.
        yield f"GRANT MAINTAIN ON {', '.join(memory_tables)} TO {quoted}"


_MIN_MAINTAIN_VERSION = 170_000
"""First server version with the right MAINTAIN, which lets a role vacuum a table of another."""
