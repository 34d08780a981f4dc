"""The data of the gateway: runs and their events, threads at a glance, files of threads.

The first process that opened the tables created them, without walls.
"""

from thalweg.database.migrations.schema import Schema
from thalweg.database.migrations.walls import OF_FILES, OF_OWNER, OF_OWNERS, wall

NUMBER = "0003"

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
CREATE UNIQUE INDEX IF NOT EXISTS one_active_run ON runs (owner, thread)
    WHERE status IN ('queued', 'running');
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
"""
_RUNS_IN_POSTGRES = """
ALTER TABLE runs SET (fillfactor = 70);
CREATE INDEX IF NOT EXISTS runs_of_owner ON runs (owner, number);
"""
_THREADS = """
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
"""
# Hashes stand in the index: a path alone may be longer than a row of one.
_FILES = """
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
_WALLS = {
    "runs": OF_OWNERS,
    "run_events": OF_OWNERS,
    "app_thread": OF_OWNER,
    "app_spent": OF_OWNER,
    "thread_file": OF_FILES,
    "thread_file_chunk": "EXISTS (SELECT 1 FROM thread_file WHERE thread_file.id = file)",
}


def upgrade(schema: Schema) -> None:
    """Create missing tables, and add a wall to each table."""
    schema.make("runs", _RUNS)
    schema.make("app", _THREADS)
    schema.in_postgres(_RUNS_IN_POSTGRES + _FILES)
    for table, condition in _WALLS.items():
        schema.in_postgres(wall(table, condition))
