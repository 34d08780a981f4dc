"""The tables of a memory, as SQLite and PostgreSQL read them alike.

Texts stand in them as they are, not compressed: what was forgotten can be looked for. Every key
begins with the scope, and every statement names it, but for those on the queue of jobs, which
holds no content.
"""

TABLES = """
CREATE TABLE memory_meta (name text PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE memory_scope (
    id {identity} PRIMARY KEY,
    owner bytea NOT NULL,
    agent bytea NOT NULL,
    version bigint NOT NULL DEFAULT 0,
    operation bigint NOT NULL DEFAULT 0,
    item bigint NOT NULL DEFAULT 0,
    thread bigint NOT NULL DEFAULT 0,
    UNIQUE (owner, agent)
);
CREATE TABLE memory_thread (
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
CREATE TABLE memory_turn (
    scope bigint NOT NULL,
    thread bigint NOT NULL,
    seq bigint NOT NULL,
    uid bytea NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (scope, thread, seq)
);
CREATE INDEX memory_turn_uid ON memory_turn (scope, uid);
CREATE TABLE memory_fact (
    scope bigint NOT NULL,
    item bigint NOT NULL,
    id bytea NOT NULL,
    status text NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (scope, item),
    UNIQUE (scope, id)
);
CREATE TABLE memory_section (
    scope bigint NOT NULL,
    name text NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (scope, name)
);
CREATE TABLE memory_item (
    scope bigint NOT NULL,
    item bigint NOT NULL,
    thread bigint NOT NULL,
    seq bigint NOT NULL,
    start bigint NOT NULL,
    stop bigint NOT NULL,
    words bigint NOT NULL,
    PRIMARY KEY (scope, item)
);
CREATE INDEX memory_item_turn ON memory_item (scope, thread, seq);
CREATE TABLE memory_operation (
    scope bigint NOT NULL,
    operation bigint NOT NULL,
    at text NOT NULL,
    actor bytea NOT NULL,
    why bytea NOT NULL,
    PRIMARY KEY (scope, operation)
);
CREATE TABLE memory_change (
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
CREATE INDEX memory_change_name ON memory_change (scope, name);
CREATE TABLE memory_tombstone (
    scope bigint NOT NULL,
    digest bytea NOT NULL,
    PRIMARY KEY (scope, digest)
);
CREATE TABLE memory_job (
    scope bigint NOT NULL,
    thread bigint NOT NULL,
    since bigint NOT NULL,
    due bigint NOT NULL,
    lease text NOT NULL,
    attempt bigint NOT NULL,
    noted bigint NOT NULL,
    noted_due bigint NOT NULL,
    not_before bigint NOT NULL,
    PRIMARY KEY (scope, thread)
);
CREATE INDEX memory_job_due ON memory_job (due);
CREATE TABLE memory_served (scope bigint PRIMARY KEY, at bigint NOT NULL);
"""
"""`memory_item` lists what can be recalled: a piece of a turn from character `start` to `stop`
(-1 for its end), or with `thread` -1 the active fact whose `item` it is."""

_MARKS = {
    "sqlite": {"identity": "INTEGER", "clustered": " WITHOUT ROWID", "rewritten": ""},
    "postgres": {
        "identity": "bigint GENERATED ALWAYS AS IDENTITY",
        "clustered": "",
        # A row of up to 4 kB stays in its page, which has room for the row's next version.
        "rewritten": " WITH (fillfactor = 80, toast_tuple_target = 8160)",
    },
}


def statements(database: str) -> list[str]:
    """List the statements that make the tables, for `sqlite` or `postgres`."""
    whole = TABLES.format(**_MARKS[database])
    return [part.strip() for part in whole.split(";") if part.strip()]
