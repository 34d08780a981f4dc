"""Jobs of memory and subagents' wakes are in the queue of jobs."""

from thalweg.database.migrations.schema import Component, Schema
from thalweg.database.migrations.versions.v0010_jobs import JOBS

NUMBER = "0012"

_MOVED = """
INSERT INTO queue_job (queue, key, lock, due, latest, priority, attempt)
SELECT 'memory', name, name, CASE WHEN lease <> '' THEN 0 ELSE due / 1000 END, deadline / 1000,
    -since / 60000000, attempt
FROM (
    SELECT {name} AS name, memory_job.*
    FROM memory_job JOIN memory_scope ON memory_scope.id = memory_job.scope
) AS moved;
"""
"""A name is the owner and the agent in hexadecimal, and the number of the thread."""
_IN_SQLITE = _MOVED.replace(
    "{name}", "lower(hex(owner)) || '.' || lower(hex(agent)) || '.' || memory_job.thread || '.'"
)
_NAME = "encode(owner, 'hex') || '.' || encode(agent, 'hex') || '.' || memory_job.thread || '.'"
_IN_POSTGRES = f"""
SELECT set_config('thalweg.across', 'yes', true);
{_MOVED.replace("{name}", _NAME)}
SELECT set_config('thalweg.across', '', true);
DROP FUNCTION memory_next_due();
DROP FUNCTION memory_due_job(bigint);
"""
_DROP = """
DROP TABLE memory_job;
DROP TABLE IF EXISTS memory_served;
"""


_WAKES = """
INSERT INTO queue_job (queue, key, lock, due)
SELECT 'wake', thread || char(31) || task || char(31) || json_extract(detail, '$.agent_name')
    || char(31) || run, thread, CASE state WHEN 'running' THEN 4503599627370496 ELSE 0 END
FROM pending_wakes;
DROP TABLE pending_wakes;
"""
"""Of the table that the agent created by itself. Those of a run under way are never due."""
_COMPONENTS: tuple[Component, ...] = ("runs", "memory", "jobs")


def upgrade(schema: Schema) -> None:
    """Move the jobs, those that were under way included."""
    for component in _COMPONENTS:
        schema.make(component, JOBS)
        schema.add_column(component, "queue_job", "latest bigint NOT NULL DEFAULT 0")
    if schema.has("pending_wakes"):
        schema.in_sqlite("jobs", _WAKES)
    schema.in_sqlite("memory", _IN_SQLITE)
    schema.in_postgres(_IN_POSTGRES)
    schema.make("memory", _DROP)
