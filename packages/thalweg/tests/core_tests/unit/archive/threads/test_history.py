"""Reading a thread back, with and without a journal."""

import pytest

from core_tests.unit.archive.threads.driver import KEY, Driver
from thalweg.archive import Logged, ThreadKey, TurnRow, open_archive
from thalweg.archive.threads.contexts import context_at, next_context
from thalweg.archive.threads.finding import find_thread, known_threads
from thalweg.archive.threads.operations import compact, pin, rewind, undo, unpin
from thalweg.archive.threads.thread_export import export
from thalweg.archive.threads.thread_history import history, turns
from thalweg.engine.edits import Fold
from thalweg.engine.entries import Message, Text
from thalweg.errors import ArchiveError, PinError


def test_the_records_are_counted_whatever_their_number() -> None:
    """Without reading them all."""
    with open_archive(":memory:") as archive:
        for number in range(70):
            assert archive.turn_count(KEY) == number
            archive.add_turn(KEY, TurnRow("{}"), length=0)


def test_a_log_without_a_journal_is_the_thread() -> None:
    """All of it; but none of its requests is recorded."""
    said = Message("user", (Text("hi"),))
    with open_archive(":memory:") as archive:
        archive.append(KEY, [Logged(said), Logged(said)])

        assert [one.position for one in history(archive, KEY)] == [0, 1]
        assert turns(archive, KEY) == []
        assert "".join(export(archive, KEY)).count("\n") == 3
        for deed in (context_at, undo):
            with pytest.raises(ArchiveError, match=r"no turns|no compaction to undo"):
                deed(archive, KEY)
        with pytest.raises(ArchiveError, match="no turns"):
            pin(archive, KEY, 0, "hi")


def test_a_turn_that_is_not_there_is_an_error_everywhere() -> None:
    """Before anything is entered."""
    driver = Driver()
    driver.ask("Count.")
    before = driver.archive.turn_count(KEY)

    for deed in (context_at, history, rewind, undo):
        for turn in (-1, 0, 3, 99):
            with pytest.raises(ArchiveError, match=rf"turn {turn}\b"):
                deed(driver.archive, KEY, turn)
    assert driver.archive.turn_count(KEY) == before


def test_what_a_provider_reported_stands_with_the_turn_that_it_answered() -> None:
    """A call that failed has nothing."""
    driver = Driver()
    driver.ask("Count.")
    driver.fail("In vain.")
    driver.ask("Again.")
    driver.end()

    answers = [one.message for one in history(driver.archive, KEY) if one.message.usage]
    taken = [turn for turn in turns(driver.archive, KEY) if turn.page.kind == "call"]
    assert [turn.usage for turn in taken if turn.usage] == [answer.usage for answer in answers]
    assert sum(turn.usage is None for turn in taken) == 1
    assert all(turn.is_current for turn in taken)


def test_an_older_compaction_is_undone_with_all_later_ones() -> None:
    """The thread is as it was before it, with all messages since."""
    driver = Driver()
    for bank in range(12):
        driver.ask(f"Count bank {bank}.")
    driver.end()
    folds = [
        turn.turn
        for turn in turns(driver.archive, KEY)
        if any(isinstance(edit, Fold) for edit in turn.page.edits)
    ]
    assert len(folds) > 1

    done = undo(driver.archive, KEY, folds[0])

    items = next_context(driver.archive, KEY).items
    shown = [item.position for item in items if item.position >= 0]
    assert shown == list(range(driver.archive.length(KEY)))
    assert not done.fits
    with pytest.raises(ArchiveError, match="no compaction to undo"):
        undo(driver.archive, KEY)


def test_turns_that_a_rewind_left_behind_are_not_current() -> None:
    driver = Driver()
    for _ in range(3):
        driver.ask("Count.", tools=0)
    rewind(driver.archive, KEY, 2)

    taken = [one for one in turns(driver.archive, KEY) if one.turn]
    assert [one.is_current for one in taken] == [True, True, False]


def test_words_are_pinned_once_and_unpinned_once() -> None:
    """Only words of a user can be pinned."""
    driver = Driver()
    driver.ask("Never skip the herons.")
    for _ in range(2):
        pin(driver.archive, KEY, 0, "the herons")
    assert len(context_at(driver.archive, KEY).page.edits) == 0

    unpin(driver.archive, KEY, 0, "the herons")
    for deed, words in ((unpin, "the herons"), (pin, "the storks")):
        with pytest.raises(PinError):
            deed(driver.archive, KEY, 0, words)


def test_a_thread_is_found_by_its_name_and_owner() -> None:
    """A name that is near is reported; another owner's is not."""
    driver = Driver()
    driver.ask("Count.")
    ours, theirs = known_threads(driver.archive, "local"), known_threads(driver.archive, "bob")
    assert [(one.thread, one.model_calls, one.length) for one in ours] == [("t1", 2, 3)]
    assert theirs == []

    assert find_thread(driver.archive, "local", "t1") == KEY
    with pytest.raises(ArchiveError, match="near it: 't1'"):
        find_thread(driver.archive, "local", "t2")
    with pytest.raises(ArchiveError, match="`thalweg thread list --owner NAME`"):
        find_thread(driver.archive, "bob", "t1")
    assert ThreadKey("bob", "t1") != KEY


def test_where_nothing_can_be_compacted_the_thread_does_not_change() -> None:
    driver = Driver()
    driver.ask("Count.")
    before = driver.archive.turn_count(KEY)

    assert not compact(driver.archive, KEY).changed
    assert driver.archive.turn_count(KEY) == before
