"""The tables of runs on a PostgreSQL server: statements that a migration can run as they are.

Row-level security tells rows apart by the setting `thalweg.owner`. A group commit writes for many
owners in one transaction: it names them all, separated by `BETWEEN`, and `POLICIES` reads that.
"""

from collections.abc import Iterable

BETWEEN = "\x1f"
"""Separates owners in `thalweg.owner`; no owner's name has it."""
CHANNEL = "thalweg_runs"
"""Where changes are told: `ORIGIN MARK MARK …`."""
TABLES = ("runs", "run_events")
SCHEMA = (
    """
    CREATE TABLE IF NOT EXISTS runs (
        number bigint GENERATED ALWAYS AS IDENTITY,
        owner text COLLATE "C" NOT NULL,
        thread text COLLATE "C" NOT NULL,
        run text COLLATE "C" NOT NULL,
        status text NOT NULL DEFAULT 'queued',
        request text NOT NULL,
        work text NOT NULL DEFAULT '',
        created timestamptz NOT NULL DEFAULT now(),
        started timestamptz,
        ended timestamptz,
        error text,
        attempt integer NOT NULL DEFAULT 0,
        handed integer NOT NULL DEFAULT 0,
        last_seq bigint NOT NULL DEFAULT 0,
        cancel_asked boolean NOT NULL DEFAULT false,
        PRIMARY KEY (owner, run)
    ) WITH (fillfactor = 70)
    """,
    """
    CREATE UNIQUE INDEX IF NOT EXISTS one_active_run ON runs (owner, thread)
    WHERE status IN ('queued', 'running')
    """,
    "CREATE INDEX IF NOT EXISTS runs_of_thread ON runs (owner, thread, number)",
    "CREATE INDEX IF NOT EXISTS runs_of_owner ON runs (owner, number)",
    """
    CREATE TABLE IF NOT EXISTS run_events (
        owner text COLLATE "C" NOT NULL,
        thread text COLLATE "C" NOT NULL,
        run text COLLATE "C" NOT NULL,
        seq bigint NOT NULL,
        type text NOT NULL,
        data text NOT NULL,
        PRIMARY KEY (owner, thread, run, seq)
    )
    """,
)
_OWNERS = "string_to_array(current_setting('thalweg.owner', true), chr(31))"
POLICIES = tuple(
    statement
    for table in TABLES
    for statement in (
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
        f"DROP POLICY IF EXISTS own_rows ON {table}",
        f"CREATE POLICY own_rows ON {table} USING (owner = ANY ({_OWNERS}))",
    )
)
"""Nobody sees rows of an owner who is not named in `thalweg.owner`."""
LOCK = 0x7468_616C_7275_6E73
"""Taken while the tables are made: two processes may begin at once."""
COLUMNS = (
    "owner, thread, run, status, request, created, started, ended, error,"
    " attempt, handed, last_seq, cancel_asked, work"
)
"""What a run is read from, in this order."""
WRITE = """
    WITH given AS (
        SELECT * FROM unnest(
            %(owners)s::text[], %(runs)s::text[], %(attempts)s::int[], %(after)s::bigint[],
            %(last)s::bigint[], %(statuses)s::text[], %(errors)s::text[]
        ) WITH ORDINALITY AS given (owner, run, attempt, after, last, status, error, number)
    ), good AS (
        UPDATE runs SET
            last_seq = given.last,
            status = coalesce(given.status, runs.status),
            ended = CASE WHEN given.status IS NULL THEN NULL ELSE now() END,
            error = given.error
        FROM given
        WHERE runs.owner = given.owner AND runs.run = given.run
            AND runs.attempt = given.attempt AND runs.last_seq = given.after
            AND runs.status = 'running'
        RETURNING given.number, runs.owner, runs.thread, runs.run
    ), added AS (
        INSERT INTO run_events (owner, thread, run, seq, type, data)
        SELECT owner, thread, run, seq, type, data FROM unnest(
            %(numbers)s::bigint[], %(seqs)s::bigint[], %(types)s::text[], %(data)s::text[]
        ) AS event (number, seq, type, data)
        JOIN good USING (number)
    )
    SELECT number FROM good
"""
"""Writes for every claim that is good, and tells which are."""


def named(owners: Iterable[str]) -> str:
    r"""Give the value of `thalweg.owner` for a transaction on rows of some owners.

    Example:
        >>> named(["ann", "bob", "ann"])
        'ann\x1fbob'
    """
    return BETWEEN.join(sorted(set(owners)))
