"""Captured turns of memory are compressed, which no earlier version reads.

Deletions by age wait behind all runs.
"""

from thalweg.database.migrations.schema import Schema

NUMBER = "0015"


def upgrade(schema: Schema) -> None:
    """Set the priority of the jobs that version 0013 moved to the queue of runs."""
    change = "UPDATE queue_job SET priority = -1000 WHERE queue = 'run' AND key LIKE '%\x1f*age';"
    schema.make("runs", change)
