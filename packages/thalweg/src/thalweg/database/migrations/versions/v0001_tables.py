"""The tables as Thalweg created them before it had a history, and the differences from them.

An archive of format 1 has an index of other words: it is deleted, and rebuilt by searches.
"""

from thalweg.database.migrations.schema import Schema

NUMBER = "0001"

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
CREATE INDEX IF NOT EXISTS memory_item_turn ON memory_item (scope, thread, seq, place);
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
CREATE TABLE IF NOT EXISTS memory_job (
    scope bigint NOT NULL,
    thread bigint NOT NULL,
    since bigint NOT NULL,
    deadline bigint NOT NULL,
    due bigint NOT NULL,
    not_before bigint NOT NULL DEFAULT 0,
    lease text NOT NULL DEFAULT '',
    attempt bigint NOT NULL DEFAULT 0,
    noted bigint NOT NULL DEFAULT 0,
    noted_deadline bigint NOT NULL DEFAULT 0,
    noted_due bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, thread)
);
CREATE INDEX IF NOT EXISTS memory_job_due ON memory_job (due);
CREATE TABLE IF NOT EXISTS memory_served (scope bigint PRIMARY KEY, at bigint NOT NULL);
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

_FORGET_IN_POSTGRES = """
LOCK TABLE archive_thread, archive_passage, archive_words IN ACCESS EXCLUSIVE MODE;
TRUNCATE archive_passage, archive_words;
UPDATE archive_thread SET indexed = 0, passages = 0;
"""
_FORGET_IN_SQLITE = """
INSERT INTO archive_words (archive_words) VALUES ('delete-all');
DELETE FROM archive_passage;
UPDATE archive_thread SET indexed = 0, passages = 0;
UPDATE archive_meta SET value = '2' WHERE name = 'version';
"""


def upgrade(schema: Schema) -> None:
    """Create missing tables; delete the index of an older archive."""
    has_archive, has_memory = schema.has("archive_meta"), schema.has("memory_meta")
    schema.make("archive", _ARCHIVE)
    schema.make("memory", _MEMORY)
    schema.in_sqlite("archive", _ARCHIVE_IN_SQLITE)
    if not has_archive:
        schema.in_postgres(_ARCHIVE_IN_POSTGRES)
    elif int(schema.value("SELECT value FROM archive_meta WHERE name = 'version'") or 0) == 1:
        schema.in_postgres(_FORGET_IN_POSTGRES)
        schema.in_sqlite("archive", _FORGET_IN_SQLITE)
    if not has_memory:
        schema.in_postgres(_MEMORY_IN_POSTGRES)
