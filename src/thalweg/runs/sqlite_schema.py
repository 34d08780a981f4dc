"""The tables of runs in SQLite, and what is asked of many runs at a time: lists come as JSON."""

SCHEMA = (
    """
    CREATE TABLE IF NOT EXISTS runs (
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
    )
    """,
    """
    CREATE UNIQUE INDEX IF NOT EXISTS one_active_run ON runs (owner, thread)
    WHERE status IN ('queued', 'running')
    """,
    """
    CREATE INDEX IF NOT EXISTS active_runs ON runs (work)
    WHERE status IN ('queued', 'running')
    """,
    "CREATE INDEX IF NOT EXISTS runs_of_thread ON runs (owner, thread, number)",
    """
    CREATE TABLE IF NOT EXISTS run_events (
        owner TEXT NOT NULL,
        thread TEXT NOT NULL,
        run TEXT NOT NULL,
        seq INTEGER NOT NULL,
        type TEXT NOT NULL,
        data TEXT NOT NULL,
        PRIMARY KEY (owner, thread, run, seq)
    ) WITHOUT ROWID
    """,
)
COLUMNS = (
    "owner, thread, run, status, request, created, started, ended, error,"
    " attempt, handed, last_seq, cancel_asked, work"
)
"""What a run is read from, in this order."""
GOOD = """
    SELECT json_group_array(given.key) FROM json_each(?) AS given CROSS JOIN runs
    WHERE runs.owner = json_extract(given.value, '$[0]')
        AND runs.thread = json_extract(given.value, '$[1]')
        AND runs.run = json_extract(given.value, '$[2]')
        AND runs.attempt = json_extract(given.value, '$[3]')
        AND runs.last_seq = json_extract(given.value, '$[4]')
        AND runs.status = 'running'
"""
"""Which claims (owner, thread, run, attempt, last number) are good."""
MOVE = """
    UPDATE runs SET
        last_seq = json_extract(given.value, '$[3]'),
        status = coalesce(json_extract(given.value, '$[4]'), status),
        ended = json_extract(given.value, '$[5]'),
        error = json_extract(given.value, '$[6]')
    FROM json_each(?) AS given
    WHERE runs.owner = json_extract(given.value, '$[0]')
        AND runs.thread = json_extract(given.value, '$[1]')
        AND runs.run = json_extract(given.value, '$[2]')
"""
"""Moves runs on (owner, thread, run, last number, status, ended, error)."""
ADD = """
    INSERT INTO run_events SELECT
        json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
        json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]')
    FROM json_each(?)
"""
"""Adds events, column by column."""
STATES = """
    SELECT json_group_array(json_array(
        given.key, runs.status, runs.attempt, runs.last_seq, runs.cancel_asked
    ))
    FROM json_each(?) AS given CROSS JOIN runs
    WHERE runs.owner = json_extract(given.value, '$[0]')
        AND runs.thread = json_extract(given.value, '$[1]')
        AND runs.run = json_extract(given.value, '$[2]')
"""
"""How runs (owner, thread, run) stand, each with its place in the list."""
WORKERS = "SELECT DISTINCT work FROM runs WHERE status IN ('queued', 'running')"
"""The processes that have runs which have not ended."""
TAKE_OVER = """
    UPDATE runs SET work = ? WHERE number IN (
        SELECT number FROM runs
        WHERE status IN ('queued', 'running') AND work IN (SELECT value FROM json_each(?))
        ORDER BY number LIMIT ?
    ) RETURNING owner, thread, run
"""
"""Assigns runs of some processes to another one."""
