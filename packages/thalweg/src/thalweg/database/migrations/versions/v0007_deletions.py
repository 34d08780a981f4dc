"""An archive in a checkpointer's file no longer records the threads deleted there."""

from thalweg.database.migrations.schema import Schema

NUMBER = "0007"

_DROP = """
DROP TRIGGER IF EXISTS archive_thread_deleted;
DROP TABLE IF EXISTS archive_deleted;
"""


def upgrade(schema: Schema) -> None:
    """Drop the trigger on the checkpointer's table."""
    schema.in_sqlite("archive", _DROP)
