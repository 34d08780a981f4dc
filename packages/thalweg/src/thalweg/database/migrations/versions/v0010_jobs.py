"""The queue of jobs, which has the runs that no process had ended."""

from thalweg.database.migrations.schema import Schema

NUMBER = "0010"

JOBS = """
CREATE TABLE IF NOT EXISTS queue_job (
    id {identity},
    queue text NOT NULL,
    key text {by_bytes} NOT NULL,
    lock text {by_bytes} NOT NULL,
    priority integer NOT NULL DEFAULT 0,
    due bigint NOT NULL DEFAULT 0,
    worker text NOT NULL DEFAULT '',
    attempt integer NOT NULL DEFAULT 0,
    held_until bigint NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX IF NOT EXISTS queue_job_key ON queue_job (queue, key) WHERE worker = '';
CREATE UNIQUE INDEX IF NOT EXISTS queue_job_held ON queue_job (queue, lock) WHERE worker <> '';
CREATE INDEX IF NOT EXISTS queue_job_lock ON queue_job (queue, lock, id);
CREATE INDEX IF NOT EXISTS queue_job_order ON queue_job (queue, priority DESC, id);
"""
"""Without a wall: a row has ids alone, and a worker claims jobs of all owners."""
_DROP = """
DROP INDEX IF EXISTS one_active_run;
DROP INDEX IF EXISTS waiting_runs;
DROP INDEX IF EXISTS active_runs;
"""
_QUEUED = "UPDATE runs SET status = 'queued' WHERE status = 'waiting';"
_INDEXES = """
CREATE UNIQUE INDEX one_running_run ON runs (owner, thread) WHERE status = 'running';
CREATE INDEX active_runs ON runs (owner, thread, number) WHERE status IN ('queued', 'running');
"""
_QUEUED_IN_POSTGRES = f"""
SELECT set_config('thalweg.across', 'yes', true);
{_QUEUED}
SELECT set_config('thalweg.across', '', true);
"""
# The worker of an older version takes over no run from now on.
_IN_POSTGRES = """
DROP FUNCTION run_workers();
DROP FUNCTION run_take_over(text[], text, bigint);
DROP FUNCTION run_promote(text, bigint);
CREATE FUNCTION run_submit_missing(separator text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
DECLARE found bigint;
BEGIN
    PERFORM set_config('thalweg.across', 'yes', true);
    INSERT INTO queue_job (queue, key, lock, due)
    SELECT 'run', owner || separator || thread || separator || run,
        owner || separator || thread, due
    FROM runs WHERE status IN ('queued', 'running') AND NOT EXISTS (
        SELECT 1 FROM queue_job
        WHERE queue = 'run' AND lock = runs.owner || separator || runs.thread
            AND key = runs.owner || separator || runs.thread || separator || runs.run
    ) ORDER BY number ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS found = ROW_COUNT;
    PERFORM set_config('thalweg.across', '', true);
    RETURN found;
END $$;
REVOKE ALL ON FUNCTION run_submit_missing(text) FROM PUBLIC;
"""


def upgrade(schema: Schema) -> None:
    """Make the table; the first process that performs runs submits those that have not ended."""
    schema.make("runs", JOBS + _DROP)
    schema.in_sqlite("runs", _QUEUED)
    schema.in_postgres(_QUEUED_IN_POSTGRES)
    schema.make("runs", _INDEXES)
    schema.in_postgres(_IN_POSTGRES)
