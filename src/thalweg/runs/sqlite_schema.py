"""The tables of runs in SQLite."""

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
