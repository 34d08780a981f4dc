"""The tables of a database, as a version of the history changes them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Literal

from thalweg.errors import ConfigError

HEAD = "0019"
"""The newest version. Versions are numbers, and a higher one is newer."""
VERSION_TABLE = "thalweg_version"
"""The table that stores the version of a database."""
Component = Literal["archive", "memory", "app", "runs", "jobs"]
"""The components with tables.

A SQLite file has the tables of the components that were opened in it, PostgreSQL has all."""


class Schema(ABC):
    """A database in the transaction that changes its tables.

    SQL for both databases has placeholders in braces for what differs between them: see
    `POSTGRES` and `SQLITE`.
    """

    formats: ClassVar[Mapping[Component, int]]
    """The newest formats that this code reads: tables without a version name a format alone."""
    version: str
    """The version of the tables before the changes; empty if they have none."""

    @abstractmethod
    def make(self, component: Component, statements: str, /) -> None:
        """Run statements that both databases read, on the tables of a component."""

    @abstractmethod
    def add_column(self, component: Component, table: str, column: str, /) -> None:
        """Add a column, passed as its name and definition, to a table that may already have it."""

    def in_postgres(self, statements: str, /) -> None:  # noqa: B027 (elsewhere it does nothing)
        """Run statements in PostgreSQL only; `{schema}` is replaced by the schema, quoted."""

    def in_sqlite(self, component: Component, statements: str, /) -> None:  # noqa: B027 (the same)
        """Run statements in SQLite only, on the tables of a component."""

    @abstractmethod
    def has(self, table: str, /) -> bool:
        """Return whether a table is there."""

    @abstractmethod
    def value(self, query: str, /) -> bytes | int | None:
        """Return the first column of the first row of a query, `None` if there is no row."""


def refuse_newer(schema: Schema, place: str) -> None:
    """Check a database's version, and the formats that its tables name at any version.

    Raises:
        ConfigError: A newer Thalweg made the tables.
    """
    if schema.version > HEAD:
        problem = f"its tables are at version {schema.version}, this Thalweg supports up to {HEAD}"
        raise ConfigError(place, problem, "update thalweg")
    for component, supported_format in schema.formats.items():
        if schema.has(f"{component}_meta"):
            query = f"SELECT value FROM {component}_meta WHERE name = 'version'"  # noqa: S608 (ours)
            refuse_newer_format(place, component, int(schema.value(query) or 0), supported_format)


def refuse_newer_format(
    place: str, component: Component, stored_format: int, supported_format: int
) -> None:
    """Check the format that a component's tables name.

    Raises:
        ConfigError: A newer Thalweg made the tables.
    """
    if stored_format > supported_format:
        problem = (
            f"it has {component} format {stored_format}, this version reads {supported_format}"
        )
        raise ConfigError(place, problem, "update thalweg")


POSTGRES: Mapping[str, str] = MappingProxyType(
    {
        "{identity}": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "{number}": "bigint PRIMARY KEY",
        "{counter}": "bigint GENERATED ALWAYS AS IDENTITY",
        "{main_key}": "PRIMARY KEY",
        "{clustered}": "",
        "{by_bytes}": 'COLLATE "C"',
        "{now}": "now()",
    }
)
SQLITE: Mapping[str, str] = MappingProxyType(
    {
        "{identity}": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "{number}": "INTEGER PRIMARY KEY",  # is the row's own number: no second index
        "{counter}": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "{main_key}": "UNIQUE",  # where a counter is the primary key
        "{clustered}": " WITHOUT ROWID",
        "{by_bytes}": "",
        "{now}": "(strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now'))",
    }
)


def in_dialect(statements: str, spellings: Mapping[str, str]) -> str:
    """Replace the placeholders in statements by the spellings of one database.

    Example:
        >>> in_dialect("CREATE TABLE note (id {identity})", SQLITE)
        'CREATE TABLE note (id INTEGER PRIMARY KEY AUTOINCREMENT)'
    """
    for placeholder, spelling in spellings.items():
        statements = statements.replace(placeholder, spelling)
    return statements
