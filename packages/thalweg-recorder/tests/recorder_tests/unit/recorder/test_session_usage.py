"""Usage of recorded sessions: each answer once, at its own model, over forks and old imports."""

import json
from pathlib import Path
from typing import Any

import pytest

from core_tests.archives import archive_in_memory
from recorder_tests.unit.recorder.sessions import (
    call,
    import_one,
    model,
    result,
    text,
    user,
    write,
)
from thalweg.archive import Archive
from thalweg.engine.pricing.usage import Usage
from thalweg_recorder import import_sessions, list_sessions
from thalweg_recorder.sessions import RecordedSession, total_cost

OPUS = (1_000 * 5 + 500 * 0.5 + 10 * 25) / 1e6
"""Dollars of an answer that `model` makes."""
HAIKU = OPUS / 5


@pytest.fixture
def archive() -> Archive:
    return archive_in_memory()


def only_session(archive: Archive) -> RecordedSession:
    ((_, session),) = list_sessions(archive)
    return session


def answered_by(row: dict[str, Any], **fields: object) -> dict[str, Any]:
    """Change the message of an answer's row."""
    return {**row, "message": {**row["message"], **fields}}


def test_each_answer_is_priced_at_its_own_model(archive: Archive, tmp_path: Path) -> None:
    last = answered_by(model(4, "m2", text("b")), model="claude-haiku-4-5")
    import_one(archive, write(tmp_path, [user(1, "a"), model(2, "m1", text("a")), last]))

    session = only_session(archive)
    assert session.model == "claude-haiku-4-5"
    assert [usage.model for usage in session.usage] == ["claude-opus-4-5", "claude-haiku-4-5"]
    assert session.cost == pytest.approx(OPUS + HAIKU)


def test_writes_for_an_hour_cost_twice_the_input(archive: Archive, tmp_path: Path) -> None:
    usage = {
        "input_tokens": 0,
        "cache_creation_input_tokens": 1_000_000,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 1_000_000},
        "output_tokens": 10_000,
    }
    import_one(archive, write(tmp_path, [answered_by(model(2, "m1", text("a")), usage=usage)]))

    assert only_session(archive).cost == pytest.approx(10.25)


def test_rows_of_an_answer_with_a_harness_row_between_count_once(
    archive: Archive, tmp_path: Path
) -> None:
    rows = [
        model(2, "m1", call("c1", "Skill")),
        result(3, "c1", "Launching"),
        user(4, "Base directory for this skill: /x", isMeta=True),
        model(5, "m1", call("c2", "Bash")),
        result(6, "c2", "a b"),
    ]
    import_one(archive, write(tmp_path, rows))

    assert only_session(archive).total == Usage(
        1_500, cached=500, output=10, model="claude-opus-4-5"
    )


def test_the_answers_that_a_fork_repeats_count_once_in_the_total(
    archive: Archive, tmp_path: Path
) -> None:
    rows = [user(1, "a"), model(2, "m1", text("a")), model(3, "m2", text("b"))]
    fork = [*rows, user(4, "c"), model(5, "m3", text("c"))]
    paths = []
    for name, lines in (("one", rows), ("two", fork), ("other", [model(9, "m9", text("x"))])):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(f"{json.dumps({**row, 'sessionId': name})}\n" for row in lines))
        paths.append(path)
    assert not [done.error for done in import_sessions(archive, paths) if done.error]

    sessions = list(list_sessions(archive))
    assert sorted(session.cost or 0 for _, session in sessions) == pytest.approx(
        [OPUS, 2 * OPUS, 3 * OPUS]
    )
    total = total_cost(archive, sessions)
    assert (total.dollars, total.repeated) == pytest.approx((4 * OPUS, 2 * OPUS))
    assert total.unpriced == 0


def test_what_a_source_lost_is_still_paid(archive: Archive, tmp_path: Path) -> None:
    import_one(archive, write(tmp_path, [user(1, "a"), model(2, "m1", text("a"))]))
    import_one(archive, write(tmp_path, [user(9, "b"), model(10, "m2", text("b"))]))

    assert only_session(archive).total.calls == 2
