"""Runs that wait behind another run of their thread, and documents of owners by kind and name."""

from thalweg.database.migrations.schema import Schema
from thalweg.database.migrations.walls import OF_OWNER, wall

NUMBER = "0008"

_WAITING = """
CREATE INDEX IF NOT EXISTS waiting_runs ON runs (owner, thread, number) WHERE status = 'waiting';
"""
_DOCUMENTS = """
CREATE TABLE IF NOT EXISTS app_document (
    owner bytea NOT NULL,
    kind text NOT NULL,
    name bytea NOT NULL,
    body bytea NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    PRIMARY KEY (owner, kind, name)
){clustered};
"""
# A run that came in by another transaction meanwhile keeps its thread: the next sweep tries again.
_PROMOTE = """
CREATE FUNCTION run_promote(worker text, most bigint)
RETURNS TABLE (run_owner text, run_thread text, run_name text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
BEGIN
    PERFORM set_config('thalweg.across', 'yes', true);
    BEGIN
        RETURN QUERY UPDATE runs SET status = 'queued', work = worker WHERE (owner, run) IN (
            SELECT waiting.owner, waiting.run FROM runs AS waiting
            WHERE waiting.status = 'waiting' AND waiting.due <= extract(epoch FROM now()) * 1000
                AND NOT EXISTS (
                    SELECT 1 FROM runs AS other
                    WHERE other.owner = waiting.owner AND other.thread = waiting.thread
                        AND (other.status IN ('queued', 'running')
                            OR (other.status = 'waiting' AND other.number < waiting.number
                                AND other.due <= extract(epoch FROM now()) * 1000))
                )
            ORDER BY waiting.number LIMIT most FOR UPDATE SKIP LOCKED
        ) AND status = 'waiting' RETURNING owner, thread, run;
    EXCEPTION WHEN unique_violation THEN
        NULL;
    END;
    PERFORM set_config('thalweg.across', '', true);
END $$;
REVOKE ALL ON FUNCTION run_promote(text, bigint) FROM PUBLIC;
"""


def upgrade(schema: Schema) -> None:
    """Add the time from which a run may start, and the table of documents."""
    schema.add_column("runs", "runs", "due bigint NOT NULL DEFAULT 0")
    schema.make("runs", _WAITING)
    schema.make("app", _DOCUMENTS)
    schema.in_postgres(wall("app_document", OF_OWNER) + _PROMOTE)
