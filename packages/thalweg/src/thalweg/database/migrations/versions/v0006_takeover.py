"""A process takes over the runs of processes that died, of any owner."""

from thalweg.database.migrations.schema import Schema
from thalweg.database.migrations.walls import door

NUMBER = "0006"

_ACROSS = """
CREATE FUNCTION run_workers() RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
BEGIN
    PERFORM set_config('thalweg.across', 'yes', true);
    RETURN QUERY SELECT DISTINCT work FROM runs WHERE status IN ('queued', 'running');
    PERFORM set_config('thalweg.across', '', true);
END $$;
CREATE FUNCTION run_take_over(dead text[], worker text, most bigint)
RETURNS TABLE (run_owner text, run_thread text, run_name text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
BEGIN
    PERFORM set_config('thalweg.across', 'yes', true);
    RETURN QUERY UPDATE runs SET work = worker WHERE (owner, run) IN (
        SELECT owner, run FROM runs
        WHERE status IN ('queued', 'running') AND work = ANY (dead)
        ORDER BY number LIMIT most FOR UPDATE SKIP LOCKED
    ) RETURNING owner, thread, run;
    PERFORM set_config('thalweg.across', '', true);
END $$;
REVOKE ALL ON FUNCTION run_workers(), run_take_over(text[], text, bigint) FROM PUBLIC;
"""
_INDEX = """
CREATE INDEX IF NOT EXISTS active_runs ON runs (work) WHERE status IN ('queued', 'running');
"""


def upgrade(schema: Schema) -> None:
    """Make the functions, and let them look across owners."""
    schema.in_postgres(door("runs") + _ACROSS)
    schema.make("runs", _INDEX)
