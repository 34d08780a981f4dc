"""The tables of the first release, and what turns the tables of every earlier process into them.

Each statement has no effect on tables that are as it leaves them already. A deletion of the index
of an archive or of memory lets searches fill it again.
"""

from thalweg.database.migrations.schema import Component, Schema
from thalweg.database.migrations.walls import (
    OF_FILES,
    OF_OWNER,
    OF_OWNERS,
    OF_SCOPE,
    OF_THREAD,
    door,
    wall,
)

NUMBER = "0019"

_ARCHIVE = """
CREATE TABLE IF NOT EXISTS archive_meta (name text PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE IF NOT EXISTS archive_thread (
    id {identity},
    owner bytea NOT NULL,
    thread bytea NOT NULL,
    length bigint NOT NULL DEFAULT 0,
    indexed bigint NOT NULL DEFAULT 0,
    passages bigint NOT NULL DEFAULT 0,
    UNIQUE (owner, thread)
);
CREATE TABLE IF NOT EXISTS archive_log (
    thread bigint NOT NULL,
    position bigint NOT NULL,
    uid bytea NOT NULL,
    body text NOT NULL,
    holes text NOT NULL,
    about bytea NOT NULL,
    PRIMARY KEY (thread, position)
);
CREATE INDEX IF NOT EXISTS archive_log_uid ON archive_log (thread, uid);
CREATE TABLE IF NOT EXISTS archive_turn (
    thread bigint NOT NULL,
    turn bigint NOT NULL,
    body bytea NOT NULL,
    state bytea NOT NULL,
    PRIMARY KEY (thread, turn)
);
CREATE TABLE IF NOT EXISTS archive_blob (
    hash bytea PRIMARY KEY,
    data bytea NOT NULL,
    packed integer NOT NULL
);
CREATE TABLE IF NOT EXISTS archive_holding (
    thread bigint NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (thread, hash)
){clustered};
CREATE INDEX IF NOT EXISTS archive_holding_hash ON archive_holding (hash);
CREATE TABLE IF NOT EXISTS archive_handle (
    thread bigint NOT NULL,
    handle text NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    held integer NOT NULL DEFAULT 1,
    PRIMARY KEY (thread, handle)
){clustered};
CREATE TABLE IF NOT EXISTS archive_passage (
    id {number},
    position bigint NOT NULL,
    start bigint NOT NULL,
    about bigint NOT NULL,
    speaker bytea NOT NULL,
    text bytea NOT NULL
);
CREATE TABLE IF NOT EXISTS archive_summary (
    thread bigint NOT NULL,
    source bytea NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (thread, source)
){clustered};
"""
_ARCHIVE_IN_POSTGRES = """
ALTER TABLE archive_thread SET (fillfactor = 50);
ALTER TABLE archive_blob ALTER data SET STORAGE EXTERNAL;
CREATE TABLE archive_words (
    thread bigint NOT NULL,
    block bigint NOT NULL,
    word text COLLATE "C" NOT NULL,
    passages bytea NOT NULL,
    PRIMARY KEY (thread, block, word)
) WITH (fillfactor = 80);

CREATE FUNCTION archive_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE integrity_constraint_violation USING MESSAGE = TG_TABLE_NAME || ' is append-only';
END $$;
CREATE FUNCTION archive_grow() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE part record;
BEGIN
    FOR part IN
        SELECT thread, count(*) AS size, min(position) AS first, max(position) AS last
        FROM added GROUP BY thread
    LOOP
        UPDATE archive_thread SET length = length + part.size
        WHERE id = part.thread AND length = part.first AND part.last = part.first + part.size - 1;
        IF NOT FOUND THEN
            RAISE integrity_constraint_violation
                USING MESSAGE = 'archive_log grows at its end only';
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
CREATE FUNCTION archive_last() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM archive_thread WHERE id IN (SELECT DISTINCT thread FROM gone)) THEN
        RAISE integrity_constraint_violation
            USING MESSAGE = TG_TABLE_NAME || ' goes only with its whole thread';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER archive_log_grows AFTER INSERT ON archive_log
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION archive_grow();
CREATE TRIGGER archive_log_stays BEFORE UPDATE OR TRUNCATE ON archive_log
    FOR EACH STATEMENT EXECUTE FUNCTION archive_refuse();
CREATE TRIGGER archive_log_lasts AFTER DELETE ON archive_log
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION archive_last();
CREATE TRIGGER archive_turn_stays BEFORE UPDATE OR TRUNCATE ON archive_turn
    FOR EACH STATEMENT EXECUTE FUNCTION archive_refuse();
CREATE TRIGGER archive_turn_lasts AFTER DELETE ON archive_turn
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION archive_last();
"""

# No foreign keys: a thread's row goes first when it is deleted, which is what lets its log go.
_ARCHIVE_IN_SQLITE = """
CREATE VIRTUAL TABLE IF NOT EXISTS archive_words USING fts5 (
    words, content='', detail=none, columnsize=0, tokenize='porter unicode61'
);
CREATE TRIGGER IF NOT EXISTS archive_log_grows BEFORE INSERT ON archive_log
WHEN NEW.position IS NOT (SELECT length FROM archive_thread WHERE id = NEW.thread)
BEGIN SELECT RAISE(ABORT, 'the log grows at its end only'); END;
CREATE TRIGGER IF NOT EXISTS archive_log_counts AFTER INSERT ON archive_log
BEGIN UPDATE archive_thread SET length = length + 1 WHERE id = NEW.thread; END;
CREATE TRIGGER IF NOT EXISTS archive_log_stays BEFORE UPDATE ON archive_log
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER IF NOT EXISTS archive_log_lasts BEFORE DELETE ON archive_log
WHEN EXISTS (SELECT 1 FROM archive_thread WHERE id = OLD.thread)
BEGIN SELECT RAISE(ABORT, 'the log goes only with its whole thread'); END;
CREATE TRIGGER IF NOT EXISTS archive_turn_stays BEFORE UPDATE ON archive_turn
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER IF NOT EXISTS archive_turn_lasts BEFORE DELETE ON archive_turn
WHEN EXISTS (SELECT 1 FROM archive_thread WHERE id = OLD.thread)
BEGIN SELECT RAISE(ABORT, 'the journal goes only with its whole thread'); END;
DROP TRIGGER IF EXISTS archive_thread_deleted;
DROP TABLE IF EXISTS archive_deleted;
UPDATE archive_meta SET value = x'32' WHERE name = 'version';
"""
_MEMORY = """
CREATE TABLE IF NOT EXISTS memory_meta (name text PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE IF NOT EXISTS memory_scope (
    id {identity},
    owner bytea NOT NULL,
    agent bytea NOT NULL,
    version bigint NOT NULL DEFAULT 0,
    operation bigint NOT NULL DEFAULT 0,
    fact bigint NOT NULL DEFAULT 0,
    thread bigint NOT NULL DEFAULT 0,
    UNIQUE (owner, agent)
);
CREATE TABLE IF NOT EXISTS memory_thread (
    scope bigint NOT NULL,
    thread bigint NOT NULL,
    digest bytea NOT NULL,
    name bytea NOT NULL,
    mode text NOT NULL DEFAULT 'on',
    captured bigint NOT NULL DEFAULT 0,
    turns bigint NOT NULL DEFAULT 0,
    learned bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, thread),
    UNIQUE (scope, digest)
);
CREATE TABLE IF NOT EXISTS memory_turn (
    scope bigint NOT NULL,
    thread bigint NOT NULL,
    seq bigint NOT NULL,
    uid bytea NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (scope, thread, seq)
);
CREATE INDEX IF NOT EXISTS memory_turn_uid ON memory_turn (scope, uid);
CREATE TABLE IF NOT EXISTS memory_fact (
    scope bigint NOT NULL,
    fact bigint NOT NULL,
    item bigint NOT NULL,
    id bytea NOT NULL,
    status text NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (scope, fact),
    UNIQUE (scope, id)
);
CREATE INDEX IF NOT EXISTS memory_fact_status ON memory_fact (scope, status, fact);
CREATE TABLE IF NOT EXISTS memory_section (
    scope bigint NOT NULL,
    name text NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (scope, name)
);
CREATE TABLE IF NOT EXISTS memory_item (
    scope bigint NOT NULL,
    number bigint NOT NULL,
    thread bigint NOT NULL,
    seq bigint NOT NULL,
    place bigint NOT NULL,
    start bigint NOT NULL,
    stop bigint NOT NULL,
    PRIMARY KEY (scope, number)
){clustered};
CREATE INDEX IF NOT EXISTS memory_item_turn ON memory_item (scope, thread, seq);
CREATE TABLE IF NOT EXISTS memory_word (
    scope bigint NOT NULL,
    word bigint NOT NULL,
    items bigint NOT NULL,
    recent bytea NOT NULL,
    PRIMARY KEY (scope, word)
){clustered};
CREATE TABLE IF NOT EXISTS memory_posting (
    scope bigint NOT NULL,
    word bigint NOT NULL,
    block bigint NOT NULL,
    items bytea NOT NULL,
    PRIMARY KEY (scope, word, block)
){clustered};
CREATE TABLE IF NOT EXISTS memory_vector (
    scope bigint NOT NULL,
    place bigint NOT NULL,
    number bigint NOT NULL,
    vector bytea NOT NULL,
    PRIMARY KEY (scope, place),
    UNIQUE (scope, number)
);
CREATE TABLE IF NOT EXISTS memory_operation (
    scope bigint NOT NULL,
    operation bigint NOT NULL,
    at text NOT NULL,
    actor bytea NOT NULL,
    why bytea NOT NULL,
    PRIMARY KEY (scope, operation)
);
CREATE TABLE IF NOT EXISTS memory_change (
    scope bigint NOT NULL,
    operation bigint NOT NULL,
    place bigint NOT NULL,
    kind text NOT NULL,
    name bytea NOT NULL,
    why bytea NOT NULL,
    before bytea NOT NULL,
    after bytea NOT NULL,
    PRIMARY KEY (scope, operation, place)
);
CREATE INDEX IF NOT EXISTS memory_change_name ON memory_change (scope, name);
CREATE TABLE IF NOT EXISTS memory_told (
    scope bigint NOT NULL,
    thread bigint NOT NULL,
    place bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (scope, thread, place)
);
CREATE TABLE IF NOT EXISTS memory_tombstone (
    scope bigint NOT NULL,
    digest bytea NOT NULL,
    PRIMARY KEY (scope, digest)
);
"""
_MEMORY_IN_POSTGRES = """
ALTER TABLE memory_word SET (fillfactor = 80, toast_tuple_target = 8160);
ALTER TABLE memory_posting SET (fillfactor = 80, toast_tuple_target = 8160);
ALTER TABLE memory_turn ALTER body SET STORAGE EXTERNAL;
ALTER TABLE memory_fact ALTER body SET STORAGE EXTERNAL;
ALTER TABLE memory_section ALTER body SET STORAGE EXTERNAL;
ALTER TABLE memory_change ALTER before SET STORAGE EXTERNAL;
ALTER TABLE memory_change ALTER after SET STORAGE EXTERNAL;
"""
"""Texts are not compressed, so that forgotten content can be searched for."""
_RUNS = """
CREATE TABLE IF NOT EXISTS runs (
    number {counter},
    owner text {by_bytes} NOT NULL,
    thread text {by_bytes} NOT NULL,
    run text {by_bytes} NOT NULL,
    status text NOT NULL DEFAULT 'queued',
    request text NOT NULL,
    work text NOT NULL DEFAULT '',
    created timestamptz NOT NULL DEFAULT {now},
    started timestamptz,
    ended timestamptz,
    error text,
    attempt integer NOT NULL DEFAULT 0,
    handed integer NOT NULL DEFAULT 0,
    last_seq bigint NOT NULL DEFAULT 0,
    cancel_asked boolean NOT NULL DEFAULT false,
    {main_key} (owner, run)
);
CREATE INDEX IF NOT EXISTS runs_of_thread ON runs (owner, thread, number);
CREATE TABLE IF NOT EXISTS run_events (
    owner text {by_bytes} NOT NULL,
    thread text {by_bytes} NOT NULL,
    run text {by_bytes} NOT NULL,
    seq bigint NOT NULL,
    type text NOT NULL,
    data text NOT NULL,
    PRIMARY KEY (owner, thread, run, seq)
){clustered};
CREATE TABLE IF NOT EXISTS run_cron (
    owner text {by_bytes} NOT NULL,
    cron text {by_bytes} NOT NULL,
    thread text {by_bytes} NOT NULL,
    due bigint NOT NULL,
    body text NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    PRIMARY KEY (owner, cron)
){clustered};
DROP INDEX IF EXISTS one_active_run;
DROP INDEX IF EXISTS waiting_runs;
DROP INDEX IF EXISTS active_runs;
"""
_QUEUED = "UPDATE runs SET status = 'queued' WHERE status = 'waiting';"
"""A run waits in the queue."""
_RUN_INDEXES = """
CREATE UNIQUE INDEX IF NOT EXISTS one_running_run ON runs (owner, thread) WHERE status = 'running';
CREATE INDEX active_runs ON runs (owner, thread, number) WHERE status IN ('queued', 'running');
CREATE INDEX IF NOT EXISTS runs_of_owner ON runs (owner, number);
"""
_RUNS_IN_POSTGRES = """
ALTER TABLE runs SET (fillfactor = 70);
"""
_APP = """
CREATE TABLE IF NOT EXISTS app_thread (
    owner bytea NOT NULL,
    thread bytea NOT NULL,
    title bytea NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    PRIMARY KEY (owner, thread)
);
CREATE INDEX IF NOT EXISTS app_thread_used ON app_thread (owner, updated, thread);
CREATE TABLE IF NOT EXISTS app_spent (
    owner bytea NOT NULL,
    thread bytea NOT NULL,
    model bytea NOT NULL,
    calls bigint NOT NULL,
    input bigint NOT NULL,
    cached bigint NOT NULL,
    written bigint NOT NULL,
    output bigint NOT NULL,
    PRIMARY KEY (owner, thread, model)
);
CREATE TABLE IF NOT EXISTS app_document (
    owner bytea NOT NULL,
    kind text NOT NULL,
    name bytea NOT NULL,
    body bytea NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    PRIMARY KEY (owner, kind, name)
){clustered};
CREATE TABLE IF NOT EXISTS app_charge (
    owner bytea NOT NULL,
    day bigint NOT NULL,
    model bytea NOT NULL,
    calls bigint NOT NULL,
    input bigint NOT NULL,
    cached bigint NOT NULL,
    written bigint NOT NULL,
    output bigint NOT NULL,
    PRIMARY KEY (owner, day, model)
){clustered};
"""
# Hashes stand in the index: a path alone may be longer than a row of one.
_FILES_IN_POSTGRES = """
CREATE TABLE IF NOT EXISTS thread_file (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner text NOT NULL,
    thread text NOT NULL,
    hash bytea NOT NULL,
    path text COLLATE "C" NOT NULL,
    size bigint NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    modified_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    note text,
    UNIQUE (owner, thread, hash)
);
CREATE TABLE IF NOT EXISTS thread_file_chunk (
    file bigint NOT NULL REFERENCES thread_file ON DELETE CASCADE,
    number integer NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (file, number)
);
"""
_JOBS = """
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
DROP INDEX IF EXISTS queue_job_order;
CREATE INDEX IF NOT EXISTS queue_job_ready ON queue_job (queue, priority DESC, id) WHERE due = 0;
CREATE INDEX IF NOT EXISTS queue_job_due ON queue_job (queue, due) WHERE due > 0;
"""
"""Without a wall: a row has ids alone, and a worker claims jobs of all owners."""
_COMPONENTS_WITH_JOBS: tuple[Component, ...] = ("runs", "memory", "jobs")
_COLUMNS: tuple[tuple[Component, str, str], ...] = (
    ("memory", "memory_scope", "format bigint NOT NULL DEFAULT 1"),
    ("memory", "memory_scope", "cleared bigint NOT NULL DEFAULT 0"),
    ("memory", "memory_turn", "hidden bigint NOT NULL DEFAULT 0"),
    ("runs", "runs", "due bigint NOT NULL DEFAULT 0"),
    *((one, "queue_job", "latest bigint NOT NULL DEFAULT 0") for one in _COMPONENTS_WITH_JOBS),
    *((one, "queue_job", "crashes integer NOT NULL DEFAULT 0") for one in _COMPONENTS_WITH_JOBS),
)
"""Columns that earlier tables do not have."""

_FUNCTIONS = """
CREATE OR REPLACE FUNCTION thalweg_owner() RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT CAST(NULLIF(current_setting('thalweg.owner', true), '') AS bytea)
$$;
CREATE OR REPLACE FUNCTION thalweg_thread() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT id FROM archive_thread
        WHERE id = CAST(NULLIF(current_setting('thalweg.thread', true), '') AS bigint)
            AND owner = thalweg_owner()
    );
END $$;
CREATE OR REPLACE FUNCTION thalweg_scope() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT id FROM memory_scope
        WHERE id = CAST(NULLIF(current_setting('thalweg.scope', true), '') AS bigint)
            AND owner = thalweg_owner()
    );
END $$;
CREATE OR REPLACE FUNCTION archive_prune() RETURNS bigint
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
CREATE OR REPLACE FUNCTION run_submit_missing(separator text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
DECLARE found bigint;
BEGIN
    PERFORM set_config('thalweg.across', 'yes', true);
    INSERT INTO queue_job (queue, key, lock, due, priority)
    SELECT 'run', owner || separator || place || separator || job,
        owner || separator || place, due, wanted.priority
    FROM (
        SELECT owner, thread AS place, run AS job, due, 0 AS priority, number
        FROM runs WHERE status IN ('queued', 'running')
        UNION ALL SELECT owner, cron, '*cron ' || due, due, -1, 0 FROM run_cron WHERE due > 0
    ) AS wanted WHERE NOT EXISTS (
        SELECT 1 FROM queue_job
        WHERE queue = 'run' AND lock = wanted.owner || separator || wanted.place
            AND key = wanted.owner || separator || wanted.place || separator || wanted.job
    ) ORDER BY number ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS found = ROW_COUNT;
    PERFORM set_config('thalweg.across', '', true);
    RETURN found;
END $$;
REVOKE ALL ON FUNCTION archive_prune(), run_submit_missing(text) FROM PUBLIC;
DROP FUNCTION IF EXISTS memory_next_due(), memory_due_job(bigint), run_workers(),
    run_take_over(text[], text, bigint), run_promote(text, bigint);
UPDATE archive_meta SET value = '3' WHERE name = 'version';
UPDATE memory_meta SET value = '2' WHERE name = 'version';
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
    "archive_summary": OF_THREAD,
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
    "runs": OF_OWNERS,
    "run_events": OF_OWNERS,
    "run_cron": OF_OWNERS,
    "app_thread": OF_OWNER,
    "app_spent": OF_OWNER,
    "app_document": OF_OWNER,
    "app_charge": OF_OWNER,
    "thread_file": OF_FILES,
    "thread_file_chunk": "EXISTS (SELECT 1 FROM thread_file WHERE thread_file.id = file)",
}
_DOORS = (
    "archive_thread", "archive_blob", "archive_holding", "archive_handle", "memory_scope", "runs",
    "run_cron",
)  # fmt: skip

# Large texts were shared among owners: anyone who knew a hash could have learned from the result
# of an INSERT whether any other owner had that text. One that no thread holds nobody can read.
_SHARED_BLOBS = """
DO $$ BEGIN
IF NOT EXISTS (
    SELECT 1 FROM pg_attribute WHERE attrelid = CAST('archive_blob' AS regclass)
        AND attname = 'owner' AND NOT attisdropped
) THEN
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
END IF;
END $$;
"""
# FTS5 removes a passage only by the very words with which it was added, so the index starts anew.
_FORGET_WORDS_IN_SQLITE = """
INSERT INTO archive_words (archive_words) VALUES ('delete-all');
DELETE FROM archive_passage;
UPDATE archive_thread SET indexed = 0, passages = 0;
"""
_FORGET_WORDS_IN_POSTGRES = """
LOCK TABLE archive_thread, archive_passage, archive_words IN ACCESS EXCLUSIVE MODE;
TRUNCATE archive_passage, archive_words;
UPDATE archive_thread SET indexed = 0, passages = 0;
"""
_LAST_WITH_OTHER_WORDS = "0018"
"""The newest version in which the index of an archive had other words."""
_WITH_OTHER_PIECES = "0016"
"""The first version whose index of the pieces of turns has these columns."""
_MEMORY_JOBS = """
INSERT INTO queue_job (queue, key, lock, due, latest, priority, attempt)
SELECT 'memory', name, name, CASE WHEN lease <> '' THEN 0 ELSE due / 1000 END, deadline / 1000,
    -since / 60000000, attempt
FROM (
    SELECT {name} AS name, memory_job.*
    FROM memory_job JOIN memory_scope ON memory_scope.id = memory_job.scope
) AS moved;
"""
"""A name is the owner and the agent in hexadecimal, and the number of the thread."""
_NAME_IN_SQLITE = "lower(hex(owner)) || '.' || lower(hex(agent)) || '.' || memory_job.thread || '.'"
_NAME_IN_POSTGRES = (
    "encode(owner, 'hex') || '.' || encode(agent, 'hex') || '.' || memory_job.thread || '.'"
)
_DROP_MEMORY_JOBS = """
DROP TABLE memory_job;
DROP TABLE IF EXISTS memory_served;
"""
_WAKES_IN_SQLITE = """
INSERT INTO queue_job (queue, key, lock, due)
SELECT 'wake', thread || char(31) || task || char(31) || json_extract(detail, '$.agent_name')
    || char(31) || run, thread, CASE state WHEN 'running' THEN 4503599627370496 ELSE 0 END
FROM pending_wakes;
DROP TABLE pending_wakes;
"""
"""Of the table that the agent created by itself. Those of a run under way are never due."""
# No job remains held: a run of the same thread may be, and one job of a lock is.
_RETENTION = """
DELETE FROM queue_job WHERE queue = 'retention' AND worker <> '' AND EXISTS (
    SELECT 1 FROM queue_job AS twin
    WHERE twin.queue = 'retention' AND twin.key = queue_job.key AND twin.worker = ''
);
UPDATE queue_job SET queue = 'run', key = key || '\x1f*age', priority = 0, worker = '',
    held_until = 0
WHERE queue = 'retention';
UPDATE queue_job SET priority = -1000 WHERE queue = 'run' AND key LIKE '%\x1f*age';
"""
"""Deletions by age are in the queue of runs, behind all runs."""


def upgrade(schema: Schema) -> None:
    """Create missing tables, convert those of earlier processes, and add a wall to each table."""
    has_archive, has_memory = schema.has("archive_meta"), schema.has("memory_meta")
    if schema.version < _WITH_OTHER_PIECES:
        schema.make("memory", "DROP INDEX IF EXISTS memory_item_turn;")
    schema.make("archive", _ARCHIVE)
    schema.make("memory", _MEMORY)
    schema.make("runs", _RUNS)
    schema.make("app", _APP)
    schema.in_sqlite("archive", _ARCHIVE_IN_SQLITE)
    schema.in_sqlite("memory", "UPDATE memory_meta SET value = x'32' WHERE name = 'version';")
    if not has_archive:
        schema.in_postgres(_ARCHIVE_IN_POSTGRES)
    if not has_memory:
        schema.in_postgres(_MEMORY_IN_POSTGRES)
    schema.in_postgres(_RUNS_IN_POSTGRES + _FILES_IN_POSTGRES)
    for component in _COMPONENTS_WITH_JOBS:
        schema.make(component, _JOBS)
    for component, table, column in _COLUMNS:
        schema.add_column(component, table, column)
    schema.in_postgres(_FUNCTIONS)
    schema.in_postgres("SELECT set_config('thalweg.across', 'yes', true)")
    schema.in_postgres(_SHARED_BLOBS)
    _convert_rows(schema)
    schema.make("runs", _RUN_INDEXES)
    schema.in_postgres("SELECT set_config('thalweg.across', '', true)")
    for table, condition in _WALLS.items():
        schema.in_postgres(f"DROP POLICY IF EXISTS memory_of_one_scope ON {table}")
        schema.in_postgres(wall(table, condition))
    for table in _DOORS:
        schema.in_postgres(door(table))


def _convert_rows(schema: Schema) -> None:
    """Convert the rows of earlier versions; a role that owns the tables sees those of all."""
    if schema.version <= _LAST_WITH_OTHER_WORDS:
        schema.in_sqlite("archive", _FORGET_WORDS_IN_SQLITE)
        schema.in_postgres(_FORGET_WORDS_IN_POSTGRES)
    schema.in_sqlite("memory", "DELETE FROM memory_vector;")  # nothing reads them any more
    schema.in_postgres("TRUNCATE memory_vector")
    schema.make("runs", _QUEUED + _RETENTION)
    if schema.has("pending_wakes"):
        schema.in_sqlite("jobs", _WAKES_IN_SQLITE)
    if schema.has("memory_job"):
        schema.in_sqlite("memory", _MEMORY_JOBS.replace("{name}", _NAME_IN_SQLITE))
        schema.in_postgres(_MEMORY_JOBS.replace("{name}", _NAME_IN_POSTGRES))
        schema.make("memory", _DROP_MEMORY_JOBS)
