"""Turns are numbered from 1 over the records of the journal, those of older versions too."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from core_tests.archives import archive_in_memory
from core_tests.unit.archive.threads.driver import KEY, Driver
from thalweg.archive import Archive, TurnRow
from thalweg.archive.threads.contexts import context_at
from thalweg.archive.threads.journal import (
    Kind,
    ThreadBranch,
    TurnRecord,
    append_page,
    call_at,
    count_turns,
    page_to_json,
    read_journal,
    record_of,
)
from thalweg.archive.threads.operations import pin, rewind, undo
from thalweg.archive.threads.thread_history import turns
from thalweg.errors import ArchiveError

KINDS: tuple[Kind, ...] = ("import", "call", "call", "end", "pin", "call", "undo", "call", "end")


def page(kind: Kind, *, note: str = "") -> TurnRecord:
    """Make a record without messages."""
    return TurnRecord(kind=kind, at=0.0, length=0, line=ThreadBranch(), note=note)


def old(archive: Archive, kind: Kind, *, note: str = "") -> None:
    """Append a record as an older version did."""
    plain = json.loads(page_to_json(page(kind, note=note)))
    assert "turns" not in plain
    archive.add_turn(KEY, TurnRow(json.dumps(plain)), length=0)


@pytest.fixture
def archive() -> Iterator[Archive]:
    with archive_in_memory() as opened:
        yield opened


def check(archive: Archive, kinds: tuple[Kind, ...]) -> None:
    """Check numbers, records and counts against the kinds."""
    calls = [record for record, kind in enumerate(kinds) if kind == "call"]
    assert count_turns(archive, KEY) == len(calls)
    assert [record_of(archive, KEY, turn) for turn in range(1, len(calls) + 1)] == calls
    assert [one.turn for one in turns(archive, KEY)] == [
        calls.index(record) + 1 if record in calls else None for record in range(len(kinds))
    ]
    assert call_at(archive, KEY)[0] == calls[-1]
    assert call_at(archive, KEY)[1].turns == len(calls)
    for turn in (-1, 0, len(calls) + 1):
        with pytest.raises(ArchiveError, match=rf"no turn {turn}\b.*1 to {len(calls)}"):
            record_of(archive, KEY, turn)


def test_only_calls_have_a_number(archive: Archive) -> None:
    for kind in KINDS:
        append_page(archive, KEY, page(kind), length=0)
    check(archive, KINDS)


@pytest.mark.parametrize("new", [0, 3, len(KINDS)])
def test_records_of_an_older_version_are_counted(archive: Archive, new: int) -> None:
    """Also before newer ones, and between them: an older process may still be at work."""
    for kind in KINDS:
        old(archive, kind)
    for kind in KINDS[:new]:
        append_page(archive, KEY, page(kind), length=0)
    check(archive, (*KINDS, *KINDS[:new]))
    old(archive, "call")
    append_page(archive, KEY, page("call"), length=0)
    check(archive, (*KINDS, *KINDS[:new], "call", "call"))


def test_an_older_note_of_a_record_becomes_the_number_of_its_turn(archive: Archive) -> None:
    for kind in ("call", "end", "call", "end"):
        old(archive, kind)
    old(archive, "rewind", note="2")
    append_page(archive, KEY, page("rewind", note="2"), length=0)

    assert [one.note for one in read_journal(archive, KEY).values()][-2:] == ["2", "2"]
    old(archive, "rewind", note="0")
    assert [one.note for one in read_journal(archive, KEY).values()][-1] == "1"


def test_records_of_two_writers_have_different_numbers(archive: Archive) -> None:
    """The second has not seen the record of the first."""
    first, parent = append_page(archive, KEY, page("call"), length=0)
    following = replace(page("call"), parent=first)
    numbers = [append_page(archive, KEY, following, parent, length=0)[1].turns for _ in range(3)]

    assert numbers == [2, 3, 4]


def test_one_of_very_many_turns_is_found_with_few_reads(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, parent = append_page(archive, KEY, page("call"), length=0)
    for _ in range(2_000):
        for kind in ("end", "call"):
            child = replace(page(kind), parent=record)
            record, parent = append_page(archive, KEY, child, parent, length=0)
    read, rows = archive.turns, 0

    def counted(*given: object, **named: object) -> list[str]:
        nonlocal rows
        bodies = read(*given, **named)  # type: ignore[arg-type]
        rows += len(bodies)
        return bodies

    monkeypatch.setattr(archive, "turns", counted)
    for turn in (1, 700, 2_001):
        rows = 0
        assert record_of(archive, KEY, turn) == 2 * (turn - 1)
        assert rows <= 14


def test_the_newest_request_is_shown_whatever_happened_since() -> None:
    """The end of a run, a pin and a rewind sent nothing."""
    driver = Driver()
    for bank in range(6):
        driver.ask(f"Count bank {bank}.")
    driver.end()
    newest, sent = [*driver.sent.items()][-1]
    for happened in (
        lambda: None,
        lambda: pin(driver.archive, KEY, 0, "Count bank 0."),
        lambda: undo(driver.archive, KEY),
        lambda: rewind(driver.archive, KEY, 2),
    ):
        happened()
        context = context_at(driver.archive, KEY)
        assert context.turn == driver.turns[newest] == len(driver.sent)
        assert context.messages == sent
        assert sum(context.tokens.values()) == sum(context.page.tokens.values())
