-- thalweg.db and runs.db as they were before the history of tables came to SQLite.
CREATE TABLE archive_meta (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE archive_thread (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner BLOB NOT NULL,
    thread BLOB NOT NULL,
    length INTEGER NOT NULL DEFAULT 0,
    indexed INTEGER NOT NULL DEFAULT 0,
    passages INTEGER NOT NULL DEFAULT 0,
    UNIQUE (owner, thread)
);
CREATE TABLE archive_log (
    thread INTEGER NOT NULL,
    position INTEGER NOT NULL,
    uid BLOB NOT NULL,
    body TEXT NOT NULL,
    holes TEXT NOT NULL,
    about BLOB NOT NULL,
    PRIMARY KEY (thread, position)
);
CREATE INDEX archive_log_uid ON archive_log (thread, uid);
CREATE TABLE archive_turn (
    thread INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    body BLOB NOT NULL,
    state BLOB NOT NULL,
    PRIMARY KEY (thread, turn)
);
CREATE TABLE archive_blob (
    hash BLOB PRIMARY KEY,
    data BLOB NOT NULL,
    packed INTEGER NOT NULL
);
CREATE TABLE archive_holding (
    thread INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (thread, hash)
) WITHOUT ROWID;
CREATE INDEX archive_holding_hash ON archive_holding (hash);
CREATE TABLE archive_handle (
    thread INTEGER NOT NULL,
    handle TEXT NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    held INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (thread, handle)
) WITHOUT ROWID;
CREATE TABLE archive_summary (
    thread INTEGER NOT NULL,
    source BLOB NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (thread, source)
) WITHOUT ROWID;
CREATE TABLE archive_passage (
    id INTEGER PRIMARY KEY,
    position INTEGER NOT NULL,
    start INTEGER NOT NULL,
    about INTEGER NOT NULL,
    speaker BLOB NOT NULL,
    text BLOB NOT NULL
);
CREATE VIRTUAL TABLE archive_words USING fts5 (
    words, content='', detail=none, columnsize=0, tokenize='porter unicode61'
);
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
CREATE TABLE app_thread (
    owner BLOB NOT NULL, thread BLOB NOT NULL, title BLOB NOT NULL,
    created INTEGER NOT NULL, updated INTEGER NOT NULL, PRIMARY KEY (owner, thread));
CREATE INDEX app_thread_used ON app_thread (owner, updated, thread);
CREATE TABLE app_spent (
    owner BLOB NOT NULL, thread BLOB NOT NULL, model BLOB NOT NULL,
    calls INTEGER NOT NULL, input INTEGER NOT NULL, cached INTEGER NOT NULL,
    written INTEGER NOT NULL, output INTEGER NOT NULL, PRIMARY KEY (owner, thread, model));
INSERT INTO archive_meta VALUES ('version', 2);
INSERT INTO archive_meta VALUES ('secret', X'666978656420666f72207468652066697874757265');
INSERT INTO archive_thread VALUES (1, X'616461', X'7431', 2, 0, 0);
INSERT INTO archive_log VALUES (1, 0, X'ca0df2c95aa144c1d0ff2ff3c8f967fd', '{"parts":[{"kind":"text","text":"Where is the parser?"}],"role":"user","uid":"m1"}', '', X'');
INSERT INTO archive_log VALUES (1, 1, X'29c1b289e7522195b362e44f54e05470', '{"parts":[{"kind":"text","text":""}],"role":"assistant","uid":"m2"}', '[[0,"text","f6e9de24b6f851830317fbe06fc76cb08b1af232e7f1c26f12171a7a2a102dc6"]]', X'');
INSERT INTO archive_turn VALUES (1, 0, X'785e4bca4fa954c84f53484c490400182703ea', X'');
INSERT INTO archive_blob VALUES (X'f6e9de24b6f851830317fbe06fc76cb08b1af232e7f1c26f12171a7a2a102dc6', X'785e0bc94855284ecc4d55c8c9cf4b572849ad28d1530819151b0d83d174309a1746cb83d13271b45e18ad1b07a07d0000fb18f8ab', 1);
INSERT INTO archive_holding VALUES (1, X'f6e9de24b6f851830317fbe06fc76cb08b1af232e7f1c26f12171a7a2a102dc6');
INSERT INTO archive_handle VALUES (1, '3wrbkf3tmwjjiyvz', 0, 1, 1);
INSERT INTO archive_summary VALUES (1, X'00ff', X'785e4b54282ecdcd4d2caa040010aa0390');
INSERT INTO memory_meta VALUES ('version', X'32');
INSERT INTO memory_meta VALUES ('secret', X'666978656420666f72207468652066697874757265');
INSERT INTO memory_scope VALUES (1, X'616461', X'', 1, 1, 1, 1, 2, 0);
INSERT INTO memory_thread VALUES (1, 1, X'dd6cea253717ee5361a71a67f61fed76', X'7431', 'on', 0, 1, 0);
INSERT INTO memory_turn VALUES (1, 1, 0, X'5c2c1d0765ee5cfa9a1c45f95da6b9c6', X'7b22726f6c65223a2275736572222c2274657874223a2249206b65657020626565732e222c22736169645f6174223a22323032362d30312d30315430303a30303a30305a222c227472757374223a342c22617574686f72223a22222c22706f736974696f6e223a2d312c22756964223a227531227d', 0);
INSERT INTO memory_fact VALUES (1, 1, 2, X'666163742d633463653534383938356230', 'active', X'7b226964223a22666163742d633463653534383938356230222c22636f6e74656e74223a225468652075736572207361696c73206120466f6c6b626f61742e222c2263617465676f7279223a226b6e6f776c65646765222c22636f6e666964656e6365223a312e302c22637265617465645f6174223a22323032362d31312d32335431323a33303a33375a222c22736f75726365223a226d616e75616c222c227375626a656374223a22222c22617474726962757465223a22222c2276616c7565223a22222c2265766964656e6365223a5b5d2c22616c6961736573223a5b5d2c227472757374223a342c226c616e6775616765223a22222c2276616c69645f66726f6d223a22323032362d31312d32335431323a33303a33375a222c2276616c69645f746f223a22222c226f627365727665645f6174223a22323032362d31312d32335431323a33303a33375a222c22737570657273656465645f6279223a22222c2273757065727365646573223a5b5d2c22737461747573223a22616374697665222c227772697474656e5f6279223a2275736572222c2270726f746563746564223a66616c73652c226578747261223a22222c2272656c61746564223a5b5d2c2269735f74656d706f72617279223a66616c73652c22696d706f7274616e6365223a337d');
INSERT INTO memory_item VALUES (1, 1, 1, 0, 0, 0, 12);
INSERT INTO memory_item VALUES (1, 2, 0, 1, 0, 0, -1);
INSERT INTO memory_word VALUES (1, -7115088509490095441, 2, X'01000000010200000001');
INSERT INTO memory_word VALUES (1, -6934413692480557127, 1, X'0100000001');
INSERT INTO memory_word VALUES (1, -6315245625660731468, 1, X'0200000001');
INSERT INTO memory_word VALUES (1, -5858969606435330266, 1, X'0100000001');
INSERT INTO memory_word VALUES (1, -5531298070005858176, 1, X'0100000001');
INSERT INTO memory_word VALUES (1, -3209214092472030513, 1, X'0200000001');
INSERT INTO memory_word VALUES (1, -3009135668874848596, 1, X'0100000001');
INSERT INTO memory_word VALUES (1, -1680058698753615176, 1, X'0100000001');
INSERT INTO memory_word VALUES (1, -1273258838608047453, 1, X'0100000001');
INSERT INTO memory_word VALUES (1, -858848488621184541, 1, X'0200000001');
INSERT INTO memory_word VALUES (1, 0, 2, X'03000000000000001000000000000000');
INSERT INTO memory_word VALUES (1, 1, 0, X'01000000070200000009');
INSERT INTO memory_word VALUES (1, 115305839981636060, 1, X'0200000001');
INSERT INTO memory_word VALUES (1, 2839325752414120045, 1, X'0200000001');
INSERT INTO memory_word VALUES (1, 4321168563800343156, 1, X'0200000001');
INSERT INTO memory_word VALUES (1, 7229075057414203152, 1, X'0200000001');
INSERT INTO memory_word VALUES (1, 7986258710567946630, 1, X'0200000001');
INSERT INTO memory_operation VALUES (1, 1, '2026-11-23T12:30:37Z', X'75736572', X'746f6c64');
INSERT INTO memory_change VALUES (1, 1, 0, 'fact', X'666163742d633463653534383938356230', X'6974206973206e6577', X'', X'7b226964223a22666163742d633463653534383938356230222c22636f6e74656e74223a225468652075736572207361696c73206120466f6c6b626f61742e222c2263617465676f7279223a226b6e6f776c65646765222c22636f6e666964656e6365223a312e302c22637265617465645f6174223a22323032362d31312d32335431323a33303a33375a222c22736f75726365223a226d616e75616c222c227375626a656374223a22222c22617474726962757465223a22222c2276616c7565223a22222c2265766964656e6365223a5b5d2c22616c6961736573223a5b5d2c227472757374223a342c226c616e6775616765223a22222c2276616c69645f66726f6d223a22323032362d31312d32335431323a33303a33375a222c2276616c69645f746f223a22222c226f627365727665645f6174223a22323032362d31312d32335431323a33303a33375a222c22737570657273656465645f6279223a22222c2273757065727365646573223a5b5d2c22737461747573223a22616374697665222c227772697474656e5f6279223a2275736572222c2270726f746563746564223a66616c73652c226578747261223a22222c2272656c61746564223a5b5d2c2269735f74656d706f72617279223a66616c73652c22696d706f7274616e6365223a337d');
INSERT INTO app_thread VALUES (X'616461', X'7431', X'54686520706172736572', 1700000000000, 1700000000000);
CREATE TRIGGER archive_log_grows BEFORE INSERT ON archive_log
WHEN NEW.position IS NOT (SELECT length FROM archive_thread WHERE id = NEW.thread)
BEGIN SELECT RAISE(ABORT, 'the log grows at its end only'); END;
CREATE TRIGGER archive_log_counts AFTER INSERT ON archive_log
BEGIN UPDATE archive_thread SET length = length + 1 WHERE id = NEW.thread; END;
CREATE TRIGGER archive_log_stays BEFORE UPDATE ON archive_log
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER archive_log_lasts BEFORE DELETE ON archive_log
WHEN EXISTS (SELECT 1 FROM archive_thread WHERE id = OLD.thread)
BEGIN SELECT RAISE(ABORT, 'the log goes only with its whole thread'); END;
CREATE TRIGGER archive_turn_stays BEFORE UPDATE ON archive_turn
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER archive_turn_lasts BEFORE DELETE ON archive_turn
WHEN EXISTS (SELECT 1 FROM archive_thread WHERE id = OLD.thread)
BEGIN SELECT RAISE(ABORT, 'the journal goes only with its whole thread'); END;
-- runs.db
CREATE TABLE runs (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        owner TEXT NOT NULL,
        thread TEXT NOT NULL,
        run TEXT NOT NULL,
        status TEXT NOT NULL DEFAULT 'queued',
        request TEXT NOT NULL,
        work TEXT NOT NULL DEFAULT '',
        created TEXT NOT NULL,
        started TEXT,
        ended TEXT,
        error TEXT,
        attempt INTEGER NOT NULL DEFAULT 0,
        handed INTEGER NOT NULL DEFAULT 0,
        last_seq INTEGER NOT NULL DEFAULT 0,
        cancel_asked INTEGER NOT NULL DEFAULT 0,
        UNIQUE (owner, run)
    );
CREATE UNIQUE INDEX one_active_run ON runs (owner, thread)
    WHERE status IN ('queued', 'running')
    ;
CREATE INDEX active_runs ON runs (work)
    WHERE status IN ('queued', 'running')
    ;
CREATE INDEX runs_of_thread ON runs (owner, thread, number);
CREATE TABLE run_events (
        owner TEXT NOT NULL,
        thread TEXT NOT NULL,
        run TEXT NOT NULL,
        seq INTEGER NOT NULL,
        type TEXT NOT NULL,
        data TEXT NOT NULL,
        PRIMARY KEY (owner, thread, run, seq)
    ) WITHOUT ROWID
    ;
INSERT INTO runs VALUES (1, 'ada', 't1', 'r1', 'completed', '{"text": "hi"}', 'gone', '2026-11-23T12:30:37.540257+00:00', '2026-11-23T12:30:37.542429+00:00', '2026-11-23T12:30:37.557325+00:00', NULL, 1, 0, 2, 0);
INSERT INTO runs VALUES (2, 'ada', 't1', 'r2', 'queued', '{"text": "again"}', 'gone', '2026-11-23T12:30:37.562985+00:00', NULL, NULL, NULL, 0, 0, 0, 0);
INSERT INTO run_events VALUES ('ada', 't1', 'r1', 1, 'run.started', '{}');
INSERT INTO run_events VALUES ('ada', 't1', 'r1', 2, 'run.completed', '{}');
