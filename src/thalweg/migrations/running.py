"""Running versions with Alembic, in one transaction."""

from functools import partial
from pathlib import Path
from threading import Lock

import psycopg
from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext, MigrationStep, RevisionStep
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from thalweg.migrations.history import Connect

_ONE_AT_A_TIME = Lock()
"""What versions call, `alembic.op`, is of the process and not of a thread."""


def script() -> ScriptDirectory:
    """Read the versions."""
    return ScriptDirectory(str(Path(__file__).parent))


def run(connect: Connect, wanted: str, *, table: str, lock: int) -> None:
    """Run every version from where a database is up to the one that is wanted.

    Args:
        connect: Opens a connection.
        wanted: The version.
        table: Where the database says at which it is.
        lock: The advisory lock that is held meanwhile.

    Raises:
        psycopg.Error: The server failed, or refused.
    """
    engine = create_engine("postgresql+psycopg://", creator=_in_blocks(connect), poolclass=NullPool)
    scripts = script()

    def steps(found: str | tuple[str, ...], _: MigrationContext) -> list[RevisionStep]:
        # As Alembic's own commands do; where nothing was run yet, `found` is an empty tuple.
        missing = [*scripts.iterate_revisions(wanted, found, implicit_base=True)]
        upgrade = partial(MigrationStep.upgrade_from_script, scripts.revision_map)
        return [upgrade(version) for version in reversed(missing)]

    try:
        with (
            _ONE_AT_A_TIME,
            engine.begin() as connection,
            EnvironmentContext(Config(), scripts, fn=steps, destination_rev=wanted) as environment,
        ):
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({lock})")
            environment.configure(connection=connection, version_table=table)
            environment.run_migrations()
    except DBAPIError as error:
        if isinstance(error.orig, psycopg.Error):
            raise error.orig from None
        raise


def _in_blocks(connect: Connect) -> Connect:
    def opened() -> psycopg.Connection:
        connection = connect()
        connection.autocommit = False
        return connection

    return opened
