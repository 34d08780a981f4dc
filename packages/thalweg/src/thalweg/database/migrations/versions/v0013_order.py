"""The queue finds the next job by an index, and counts the processes that a job ended."""

from thalweg.database.migrations.schema import Component, Schema

NUMBER = "0013"

_INDEXES = """
DROP INDEX IF EXISTS queue_job_order;
CREATE INDEX IF NOT EXISTS queue_job_ready ON queue_job (queue, priority DESC, id) WHERE due = 0;
CREATE INDEX IF NOT EXISTS queue_job_due ON queue_job (queue, due) WHERE due > 0;
"""
_RETENTION = """
DELETE FROM queue_job WHERE queue = 'retention' AND worker <> '' AND EXISTS (
    SELECT 1 FROM queue_job AS twin
    WHERE twin.queue = 'retention' AND twin.key = queue_job.key AND twin.worker = ''
);
UPDATE queue_job SET queue = 'run', key = key || '{separator}*age', priority = 0, worker = '',
    held_until = 0
WHERE queue = 'retention';
"""
"""No job remains held: a run of the same thread may be, and one job of a lock is."""
_COMPONENTS: tuple[Component, ...] = ("runs", "memory", "jobs")


def upgrade(schema: Schema) -> None:
    """Make the indexes; jobs of retention join the queue of runs."""
    for component in _COMPONENTS:
        schema.add_column(component, "queue_job", "crashes integer NOT NULL DEFAULT 0")
        schema.make(component, _INDEXES)
    schema.make("runs", _RETENTION.replace("{separator}", "\x1f"))
