"""The models that answered in a thread, as the journal has it."""

from collections.abc import Iterator

import pytest

from thalweg.archive import Archive, Logged, ThreadKey, TurnRow, open_archive
from thalweg.archive.threads import journal as answers
from thalweg.archive.threads.journal import AnswerLog, GivenAnswer, Kind, TurnRecord, page_to_json
from thalweg.engine.entries import Message, Text

KEY = ThreadKey("ada", "t")
BOUND = GivenAnswer("u3", "other:b", "abc:def")


@pytest.fixture
def archive() -> Iterator[Archive]:
    with open_archive(":memory:") as one:
        yield one


def enter(
    archive: Archive,
    parent: int | None,
    length: int,
    answered: GivenAnswer | None = None,
    *,
    kind: Kind = "call",
) -> int:
    """Add a turn to the journal, with the messages before it; return its number."""
    missing = length - archive.length(KEY)
    log = [Logged(Message("user", (Text("hi"),))) for _ in range(missing)]
    page = TurnRecord(
        kind=kind, at=0.0, length=length, parent=parent, model="openai:a", answered=answered
    )
    return archive.add_turn(KEY, TurnRow(page_to_json(page), b""), length=length - missing, log=log)


def answer(uid: str) -> Message:
    return Message("assistant", (Text("Yes."),), uid=uid)


def test_an_answer_is_known_by_its_id_from_the_record_behind_it(archive: Archive) -> None:
    first = enter(archive, None, 1)
    second = enter(archive, first, 3, GivenAnswer("u1", "openai:a"))
    third = enter(archive, second, 5, BOUND)
    end = enter(archive, third, 6, GivenAnswer("u5", "openai:c"), kind="end")

    log = AnswerLog.of(archive, KEY, end)
    models = [log.model(position, answer(f"u{position}")) for position in (1, 3, 5)]
    assert models == ["openai:a", "other:b", "openai:c"]
    assert str(log.bond(3, answer("u3"))) == "abc:def"
    assert [log.bond(position, answer(f"u{position}")) for position in (1, 5)] == [None, None]
    assert log.model(0, answer("u0")) == log.model(3, answer("")) == ""


def test_only_the_branch_of_the_turn_counts(archive: Archive) -> None:
    first = enter(archive, None, 1)
    left = enter(archive, first, 3, GivenAnswer("u1", "openai:a"))
    enter(archive, left, 5, BOUND)
    other = enter(archive, first, 7, GivenAnswer("u1", "openai:c"))

    log = AnswerLog.of(archive, KEY, other)
    assert (log.model(1, answer("u1")), log.model(3, answer("u3"))) == ("openai:c", "")


def test_the_answer_that_came_last_is_known_at_once_and_taken_once(archive: Archive) -> None:
    log = AnswerLog.of(archive, KEY, None)
    log.came(BOUND)

    assert log.model(1, answer("u3")) == "other:b"
    assert (log.take(), log.take()) == (BOUND, None)


def test_records_are_read_as_far_back_as_needed(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "RECORDS_PER_BATCH", 4)
    number: int | None = None
    for k in range(20):
        given = GivenAnswer(f"u{2 * k - 1}", f"openai:{k}") if k else None
        number = enter(archive, number, 2 * k + 1, given)
    log = AnswerLog.of(archive, KEY, number)

    assert log.model(37, answer("u37")) == "openai:19"
    assert log.number == 15
    assert log.model(1, answer("u1")) == "openai:1"
    assert log.number is None


def test_a_thread_without_end_knows_the_newest_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of the process does not grow with the thread."""
    monkeypatch.setattr(answers, "MAX_ANSWERS", 10)
    log = AnswerLog()
    for k in range(1_000):
        log.came(GivenAnswer(f"u{k}", "openai:a"))

    assert len(log.known) == 10
    assert log.model(1_998, answer("u999")) == log.model(1_980, answer("u990")) == "openai:a"
