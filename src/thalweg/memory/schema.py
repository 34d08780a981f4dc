"""The tables of a memory in SQLite. In PostgreSQL they are alike; `thalweg.migrations` makes them.

Texts stand in them as they are, not compressed: what was forgotten can be looked for. Every key
begins with the scope, and every statement names it, but for those on the queue of jobs, which
holds no content.
"""

TABLES = """
CREATE TABLE memory_meta (name text PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE memory_scope (
    id INTEGER PRIMARY KEY,
    owner bytea NOT NULL,
    agent bytea NOT NULL,
    version bigint NOT NULL DEFAULT 0,
    operation bigint NOT NULL DEFAULT 0,
    fact bigint NOT NULL DEFAULT 0,
    thread bigint NOT NULL DEFAULT 0,
    format bigint NOT NULL DEFAULT 1,
    cleared bigint NOT NULL DEFAULT 0,
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
    hidden bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, thread, seq)
);
CREATE INDEX memory_turn_uid ON memory_turn (scope, uid);
CREATE TABLE memory_fact (
    scope bigint NOT NULL,
    fact bigint NOT NULL,
    item bigint NOT NULL,
    id bytea NOT NULL,
    status text NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (scope, fact),
    UNIQUE (scope, id)
);
CREATE INDEX memory_fact_status ON memory_fact (scope, status, fact);
CREATE TABLE memory_section (
    scope bigint NOT NULL,
    name text NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (scope, name)
);
CREATE TABLE memory_item (
    scope bigint NOT NULL,
    number bigint NOT NULL,
    thread bigint NOT NULL,
    seq bigint NOT NULL,
    place bigint NOT NULL,
    start bigint NOT NULL,
    stop bigint NOT NULL,
    PRIMARY KEY (scope, number)
) WITHOUT ROWID;
CREATE INDEX memory_item_turn ON memory_item (scope, thread, seq, place);
CREATE TABLE memory_word (
    scope bigint NOT NULL,
    word bigint NOT NULL,
    items bigint NOT NULL,
    recent bytea NOT NULL,
    PRIMARY KEY (scope, word)
) WITHOUT ROWID;
CREATE TABLE memory_posting (
    scope bigint NOT NULL,
    word bigint NOT NULL,
    block bigint NOT NULL,
    items bytea NOT NULL,
    PRIMARY KEY (scope, word, block)
) WITHOUT ROWID;
CREATE TABLE memory_vector (
    scope bigint NOT NULL,
    place bigint NOT NULL,
    number bigint NOT NULL,
    vector bytea NOT NULL,
    PRIMARY KEY (scope, place),
    UNIQUE (scope, number)
);
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
CREATE TABLE memory_told (
    scope bigint NOT NULL,
    thread bigint NOT NULL,
    place bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (scope, thread, place)
);
CREATE TABLE memory_tombstone (
    scope bigint NOT NULL,
    digest bytea NOT NULL,
    PRIMARY KEY (scope, digest)
);
CREATE TABLE memory_job (
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
CREATE INDEX memory_job_due ON memory_job (due);
CREATE TABLE memory_served (scope bigint PRIMARY KEY, at bigint NOT NULL);
"""
"""`memory_fact.item` is the fact's number in the index, 0 where it is not in it.

`memory_turn.hidden` is the operation that hid the turn; 0, or the negative number of the undo,
where the turn is shown. `memory_scope.format` is the version of the words that the scope's facts
are indexed under (`thalweg.memory.reindexing`), `cleared` the version that the last clear made: a
run that began before it captures hidden turns."""

UPGRADES: dict[int, tuple[str, ...]] = {
    1: (
        "ALTER TABLE memory_scope ADD COLUMN format bigint NOT NULL DEFAULT 1",
        "ALTER TABLE memory_scope ADD COLUMN cleared bigint NOT NULL DEFAULT 0",
        "ALTER TABLE memory_turn ADD COLUMN hidden bigint NOT NULL DEFAULT 0",
        "CREATE INDEX IF NOT EXISTS memory_fact_status ON memory_fact (scope, status, fact)",
    ),
}
"""Statements that bring a SQLite file from a format to the next."""

CONTENT = (
    "memory_thread",
    "memory_turn",
    "memory_fact",
    "memory_section",
    "memory_vector",
    "memory_operation",
    "memory_change",
    "memory_told",
)
"""Tables with anything in them that somebody may want forgotten. The index has no words in it,
only keyed digests of them."""
SCOPED = (
    *CONTENT,
    "memory_tombstone",
    "memory_item",
    "memory_word",
    "memory_posting",
)
"""Tables of which every statement names the scope. Jobs are looked for across scopes."""


def statements() -> list[str]:
    """List the statements that make the tables."""
    return [part.strip() for part in TABLES.split(";") if part.strip()]
