"""Statements over many runs at a time on a PostgreSQL server.

Row-level security selects rows by the setting `thalweg.owner`. A group commit writes for many
owners in one transaction: it lists them all, separated by `BETWEEN`, and the security policy parses
that.
"""

from collections.abc import Iterable

BETWEEN = "\x1f"
"""Separates owners in `thalweg.owner`; no owner's name has it."""
CHANNEL = "thalweg_runs"
"""The channel of notifications of changes: `ORIGIN MARK MARK …`."""
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
"""Writes for every valid claim, and returns which are valid."""


def named(owners: Iterable[str]) -> str:
    r"""Return the value of `thalweg.owner` for a transaction on rows of some owners.

    Example:
        >>> named(["ann", "bob", "ann"])
        'ann\x1fbob'
    """
    return BETWEEN.join(sorted(set(owners)))
