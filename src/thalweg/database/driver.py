"""The driver of PostgreSQL, which is an extra."""

from collections.abc import Iterator
from contextlib import contextmanager

from thalweg.errors import ConfigError

SERVERS = ("postgresql://", "postgres://")
"""How addresses of PostgreSQL servers begin."""


@contextmanager
def driver(what: str = "postgresql://") -> Iterator[None]:
    """Import modules that need PostgreSQL's driver.

    Args:
        what: The setting that asked for PostgreSQL.

    Raises:
        ConfigError: The extra `postgres` is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "psycopg":
            raise
        problem = "psycopg is not installed"
        raise ConfigError(what, problem, "pip install 'thalweg[postgres]'") from None
