"""Row-level security for every table of an owner's rows; large texts stored once per owner.

Large texts were shared among owners: anyone who knew a hash could have learned from the result of
an `INSERT` whether any other owner had that text.
"""

from thalweg.database.migrations.schema import Schema
from thalweg.database.migrations.walls import OF_OWNER, OF_SCOPE, OF_THREAD, door, wall

NUMBER = "0002"

_SETTINGS = """
CREATE FUNCTION thalweg_owner() RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT CAST(NULLIF(current_setting('thalweg.owner', true), '') AS bytea)
$$;
CREATE FUNCTION thalweg_thread() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT id FROM archive_thread
        WHERE id = CAST(NULLIF(current_setting('thalweg.thread', true), '') AS bigint)
            AND owner = thalweg_owner()
    );
END $$;
CREATE FUNCTION thalweg_scope() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT id FROM memory_scope
        WHERE id = CAST(NULLIF(current_setting('thalweg.scope', true), '') AS bigint)
            AND owner = thalweg_owner()
    );
END $$;
"""

# A text that no thread holds is what `prune` would take: nobody can read it.
_BLOBS = """
ALTER TABLE archive_blob DROP CONSTRAINT archive_blob_pkey;
ALTER TABLE archive_blob ADD owner bytea;
UPDATE archive_blob SET owner = (
    SELECT archive_thread.owner
    FROM archive_holding JOIN archive_thread ON archive_thread.id = archive_holding.thread
    WHERE archive_holding.hash = archive_blob.hash
    ORDER BY archive_thread.owner LIMIT 1
);
DELETE FROM archive_blob WHERE owner IS NULL;
INSERT INTO archive_blob (hash, data, packed, owner)
    SELECT DISTINCT archive_blob.hash, data, packed, archive_thread.owner
    FROM archive_blob
        JOIN archive_holding ON archive_holding.hash = archive_blob.hash
        JOIN archive_thread ON archive_thread.id = archive_holding.thread
    WHERE archive_thread.owner <> archive_blob.owner;
ALTER TABLE archive_blob ALTER owner SET NOT NULL;
ALTER TABLE archive_blob ALTER owner SET DEFAULT thalweg_owner();
ALTER TABLE archive_blob ADD PRIMARY KEY (hash, owner);
"""

_WALLS = {
    "archive_thread": OF_OWNER,
    "archive_blob": OF_OWNER,
    "archive_log": OF_THREAD,
    "archive_turn": OF_THREAD,
    "archive_holding": OF_THREAD,
    "archive_handle": OF_THREAD,
    "archive_words": OF_THREAD,
    "archive_passage": "id >> 32 = (SELECT thalweg_thread())",
    "memory_scope": OF_OWNER,
    "memory_thread": OF_SCOPE,
    "memory_turn": OF_SCOPE,
    "memory_fact": OF_SCOPE,
    "memory_section": OF_SCOPE,
    "memory_item": OF_SCOPE,
    "memory_word": OF_SCOPE,
    "memory_posting": OF_SCOPE,
    "memory_vector": OF_SCOPE,
    "memory_operation": OF_SCOPE,
    "memory_change": OF_SCOPE,
    "memory_told": OF_SCOPE,
    "memory_tombstone": OF_SCOPE,
    "memory_job": OF_SCOPE,
    "memory_served": OF_SCOPE,
}
_DOORS = (
    "archive_thread",
    "archive_blob",
    "archive_holding",
    "archive_handle",
    "memory_scope",
    "memory_job",
    "memory_served",
)

_ACROSS = """
CREATE FUNCTION archive_prune() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
DECLARE freed bigint;
BEGIN
    PERFORM set_config('thalweg.across', 'yes', true);
    LOCK TABLE archive_holding, archive_handle IN SHARE ROW EXCLUSIVE MODE;
    WITH gone AS (
        DELETE FROM archive_blob WHERE NOT EXISTS (
            SELECT 1
            FROM archive_holding JOIN archive_thread ON archive_thread.id = archive_holding.thread
            WHERE archive_holding.hash = archive_blob.hash
                AND archive_thread.owner = archive_blob.owner
        )
        RETURNING length(data) AS size
    )
    SELECT COALESCE(sum(size), 0) INTO freed FROM gone;
    DELETE FROM archive_handle WHERE held = 0;
    PERFORM set_config('thalweg.across', '', true);
    RETURN freed;
END $$;
CREATE FUNCTION memory_next_due() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
DECLARE earliest bigint;
BEGIN
    PERFORM set_config('thalweg.across', 'yes', true);
    SELECT min(due) INTO earliest FROM memory_job;
    PERFORM set_config('thalweg.across', '', true);
    RETURN earliest;
END $$;
CREATE FUNCTION memory_due_job(now bigint)
RETURNS TABLE (scope bigint, thread bigint, attempt bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
DECLARE
    job record;
    whose bytea;
BEGIN
    PERFORM set_config('thalweg.across', 'yes', true);
    SELECT due.scope, due.thread, due.attempt INTO job
    FROM memory_job AS due LEFT JOIN memory_served AS served ON served.scope = due.scope
    WHERE due.due <= now
    ORDER BY CASE WHEN COALESCE(served.at, 0) > due.since THEN served.at ELSE due.since END,
        due.since
    LIMIT 1 FOR UPDATE OF due SKIP LOCKED;
    SELECT owner INTO whose FROM memory_scope WHERE id = job.scope;
    PERFORM set_config('thalweg.across', '', true);
    IF whose IS NOT NULL THEN
        PERFORM set_config('thalweg.owner', '\\x' || encode(whose, 'hex'), true);
        RETURN QUERY SELECT job.scope, job.thread, job.attempt;
    END IF;
END $$;
REVOKE ALL ON FUNCTION archive_prune(), memory_next_due(), memory_due_job(bigint) FROM PUBLIC;
"""

# Whatever was written for the tables as they were leaves them alone.
_FORMATS = """
UPDATE archive_meta SET value = '3' WHERE name = 'version';
UPDATE memory_meta SET value = '2' WHERE name = 'version';
"""


def upgrade(schema: Schema) -> None:
    """Copy large texts to each of their owners, and add a wall to each table."""
    schema.in_postgres(_SETTINGS + _BLOBS)
    for table, condition in _WALLS.items():
        schema.in_postgres(f"DROP POLICY IF EXISTS memory_of_one_scope ON {table}")
        schema.in_postgres(wall(table, condition))
    for table in _DOORS:
        schema.in_postgres(door(table))
    schema.in_postgres(_ACROSS + _FORMATS)
