"""Statements about many runs at once in SQLite: lists are passed and returned as JSON."""

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
        ended = iif(json_extract(given.value, '$[4]') IS NULL, NULL,
            strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')),
        error = json_extract(given.value, '$[5]')
    FROM json_each(?) AS given
    WHERE runs.owner = json_extract(given.value, '$[0]')
        AND runs.thread = json_extract(given.value, '$[1]')
        AND runs.run = json_extract(given.value, '$[2]')
"""
"""Moves runs on (owner, thread, run, last number, status, error)."""
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
"""The states of runs (owner, thread, run), each with its index in the list."""
WORKERS = "SELECT DISTINCT work FROM runs WHERE status IN ('queued', 'running')"
"""The processes that have runs which have not ended."""
TAKE_OVER = """
    WITH given (processes, process, most) AS (VALUES (?, ?, ?))
    UPDATE runs SET work = (SELECT process FROM given) WHERE number IN (
        SELECT number FROM runs
        WHERE status IN ('queued', 'running')
            AND work IN (SELECT value FROM given, json_each(given.processes))
        ORDER BY number LIMIT (SELECT most FROM given)
    ) RETURNING owner, thread, run
"""
"""Assigns runs of some processes to another one."""
