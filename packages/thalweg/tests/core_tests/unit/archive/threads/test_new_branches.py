"""Which later messages of a log belong to a branch: those of turns that continue it."""

from collections.abc import Iterator

import pytest

from core_tests.property.threading import Graph, State
from thalweg.archive import Archive, ThreadKey, open_archive
from thalweg.archive.base import Logged, TurnRow
from thalweg.archive.threads.journal import ThreadBranch, TurnRecord, page_to_json
from thalweg.archive.threads.operations import pin
from thalweg.archive.threads.session import ThreadSession, copied_turn, manual_operations_since
from thalweg.engine.entries import Message, Text

KEY = ThreadKey("ada", "t1")


def said(text: str) -> Message:
    """Make a message of a user."""
    return Message("user", (Text(text),), uid=text)


@pytest.fixture
def archive() -> Iterator[Archive]:
    """Keep the thread."""
    with open_archive(":memory:") as opened:
        yield opened


def graph(archive: Archive) -> Graph:
    """Make a process that works on the thread."""
    return Graph(archive, key=KEY)


def began(archive: Archive, *texts: str) -> tuple[Graph, State]:
    """Begin a branch with a first call; its messages so far are these."""
    process = graph(archive)
    return process, process.call(State().plus(*map(said, texts)))


def visible(session: ThreadSession) -> list[str]:
    """List the messages of a session's branch."""
    messages = session.archive.messages(session.key)
    return [messages[position].text for position in session.line]


def write_ahead(process: Graph, state: State, text: str) -> State:
    """Log a message of a run that has not entered its turn yet."""
    after = state.plus(said(text))
    session = process.take(after)
    session.write()
    return after


def test_a_message_without_a_turn_is_of_the_only_branch(archive: Archive) -> None:
    one, state = began(archive, "first")
    write_ahead(one, state, "one")
    other = graph(archive).take(state.plus(said("other")))
    other.write()
    assert visible(other) == ["first", "one", "other"]


def test_a_message_without_a_turn_is_of_no_later_branch(archive: Archive) -> None:
    old, before = began(archive, "old")
    new, after = began(archive, "new")
    write_ahead(old, before, "old again")
    session = new.take(after.plus(said("new again")))
    session.write()
    assert visible(session) == ["new", "new again"]


def test_a_branch_joins_nothing_of_an_earlier_one_that_joined_a_message_of_it(
    archive: Archive,
) -> None:
    old, before = began(archive, "old")
    new, after = began(archive, "new")
    after = write_ahead(new, after, "newer")
    old.call(before.plus(said("old again")))
    session = graph(archive).take(after.plus(said("newest")))
    session.write()
    assert visible(session) == ["new", "newer", "newest"]


def test_an_operation_by_hand_is_for_the_newest_branch_alone(archive: Archive) -> None:
    _, before = began(archive, "old")
    _, after = began(archive, "new")
    pin(archive, KEY, 1, "new")
    assert manual_operations_since(archive, KEY, before.mark) is None
    assert manual_operations_since(archive, KEY, after.mark) is not None


def test_a_refusal_is_remembered_in_its_own_branch(archive: Archive) -> None:
    process, state = began(archive, "old")
    session = process.take(state.plus(said("refused")))
    session.enter(TurnRecord(kind="end", at=0.0, length=0, rejected="too rude"), ())
    again = graph(archive).take(state.plus(said("refused")))
    assert again.last_rejection() == "too rude"
    new = graph(archive).take(State().plus(said("new")))
    assert new.last_rejection() == ""


def copied(archive: Archive, *texts: str) -> None:
    """Copy messages into the thread, as a branch of another one is made."""
    line = ThreadBranch.of(range(len(texts)))
    page = TurnRecord(kind="import", at=0.0, length=len(texts), line=line)
    log = [Logged(said(text)) for text in texts]
    archive.add_turn(KEY, TurnRow(page_to_json(page)), length=0, log=log)


def test_a_copy_is_continued_by_its_first_run_alone(archive: Archive) -> None:
    """Also when that run is begun again, before its state had a pointer."""
    assert copied_turn(archive, KEY, [said("new")]) is None
    copied(archive, "one", "two")
    assert copied_turn(archive, KEY, [said("three")]) == 0
    state = graph(archive).call(State(mark=0).plus(said("three")))
    assert copied_turn(archive, KEY, [said("three")]) == 0
    assert copied_turn(archive, KEY, [said("of another")]) is None
    assert visible(graph(archive).take(state)) == ["one", "two", "three"]
