"""A thread continues regardless of the contents of its engine snapshots and turn records (I55)."""

import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_tests.unit.archive.threads.driver import KEY, Driver
from thalweg.archive import SqliteArchive, ThreadKey
from thalweg.archive.threads.contexts import context_at
from thalweg.archive.threads.journal import TurnRecord, page_at, read_pages
from thalweg.archive.threads.operations import compact, pin, undo, unpin
from thalweg.engine.edits import Fold
from thalweg.errors import ArchiveError

Plain = dict[str, Any]


class DamagedArchive(SqliteArchive):
    """An archive whose engine snapshots and turn records are read with damage."""

    def __init__(self) -> None:
        super().__init__(":memory:", secret=b"x")
        OPENED.append(self)
        self.damage: Callable[[bytes], bytes] = lambda saved: saved
        self.damaged_rows: frozenset[int] = frozenset()
        self.damage_row: Callable[[str], str] = lambda row: row

    def turn_state(self, key: ThreadKey, turn: int) -> bytes:
        """See `Archive.turn_state`."""
        return self.damage(super().turn_state(key, turn))

    def turns(self, key: ThreadKey, first: int = 0, last: int | None = None) -> list[str]:
        """See `Archive.turns`."""
        rows = enumerate(super().turns(key, first, last), first)
        return [
            "{" if number in self.damaged_rows else self.damage_row(row) for number, row in rows
        ]


OPENED: list[DamagedArchive] = []


@pytest.fixture(autouse=True, scope="module")
def _archives_are_closed() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def compacted() -> tuple[Driver, DamagedArchive]:
    """Return a thread with a compaction and pinned words since then."""
    archive = DamagedArchive()
    driver = Driver(archive=archive)
    for number in range(3):
        driver.ask(f"Count bank {number}. Never skip the herons.", tools=2)
    pages = read_pages(archive, KEY).values()
    assert any(isinstance(edit, Fold) for page in pages for edit in page.edits)
    pin(archive, KEY, 0, "Never skip the herons")
    driver.ask("And now?", tools=0)
    return driver, archive


def changed(change: Callable[[Plain], object]) -> Callable[[bytes], bytes]:
    """Return a damage that changes the content of a snapshot."""

    def damage(saved: bytes) -> bytes:
        plain = json.loads(zlib.decompress(saved))
        change(plain)
        return zlib.compress(json.dumps(plain).encode())

    return damage


def goes_on(driver: Driver) -> TurnRecord:
    """Check that the next requests are made, with every message of the thread in its branch once.

    Returns:
        The record of the next turn.
    """
    before = page_at(driver.archive, KEY)[0]
    driver.ask("Where were we?")
    page = read_pages(driver.archive, KEY)[before + 1]
    log = driver.archive.messages(KEY)
    assert [log[p].text for p in page_at(driver.archive, KEY)[1].line] == driver.said
    return page


LOST = {
    "nothing is there": lambda _: b"",
    "cut off": lambda saved: saved[: len(saved) // 2],
    "not compressed": lambda _: b"{}",
    "no field": changed(lambda plain: plain.clear()),
    "no record": changed(lambda plain: plain.pop("record")),
    "no kept positions": changed(lambda plain: plain["fold"].pop("kept")),
    "text for a number": changed(lambda plain: plain["fold"].update(last="9")),
    "a number for text": changed(lambda plain: plain["fold"].update(record=9)),
    "no request has a position": changed(lambda plain: plain["record"].update(requests=[{}])),
    "a kind of edit of a newer version": changed(lambda plain: plain["fold"].update(edit="melt")),
}


@pytest.mark.parametrize("damage", LOST.values(), ids=LOST)
def test_a_damaged_snapshot_is_rebuilt_from_the_log(damage: Callable[[bytes], bytes]) -> None:
    """The turn that follows reports it, and pinned words remain pinned."""
    driver, archive = compacted()
    archive.damage = damage

    page = goes_on(driver)

    assert "the context was rebuilt from" in page.note
    archive.damage = lambda saved: saved
    sent = "\n".join(message.text for message in driver.sent[max(driver.sent)])
    assert "Never skip the herons" in sent
    unpin(archive, KEY, 0, "Never skip the herons")  # else a PinError: they are not pinned


def test_a_compaction_whose_snapshot_is_of_no_turn_is_rebuilt_from_the_log() -> None:
    driver, archive = compacted()

    def without_base(row: str) -> str:
        return json.dumps(json.loads(row) | {"base": None})

    archive.damage_row = without_base
    page = goes_on(driver)

    assert "the context was rebuilt from" in page.note
    with pytest.raises(ArchiveError, match="has no engine snapshot"):
        context_at(archive, KEY)


KEPT = {
    "fields of a newer version": changed(
        lambda plain: [part.update(new=1) for part in (plain, plain["fold"], plain["record"])]
    ),
    "an edit of a newer version": changed(lambda plain: plain["rewrites"].append({"edit": "melt"})),
    "a kept position that is not in the log": changed(
        lambda plain: plain["fold"]["kept"].append(10_000)
    ),
    "pinned words outside of the log": changed(
        lambda plain: plain["pins"].append({"position": 10_000, "text": "x"})
    ),
}


@pytest.mark.parametrize("damage", KEPT.values(), ids=KEPT)
def test_what_a_snapshot_has_in_addition_is_ignored(damage: Callable[[bytes], bytes]) -> None:
    """The compaction remains."""
    driver, archive = compacted()
    archive.damage = damage

    page = goes_on(driver)

    assert page.note == ""
    assert page.base is not None


def test_a_damaged_turn_record_is_passed_over() -> None:
    """The state's messages since the turn before it are found in the log again."""
    driver, archive = compacted()
    assert driver.mark is not None
    damaged = driver.turns[driver.mark]
    archive.damaged_rows = frozenset({driver.mark})

    driver.ask("Where were we?")

    log = [message.uid for message in archive.messages(KEY)]
    assert len(set(log)) == len(log)
    with pytest.raises(ArchiveError, match="its row in the archive is damaged"):
        context_at(archive, KEY, damaged)


def test_manual_operations_work_on_a_thread_with_a_damaged_snapshot() -> None:
    """They rebuild the context, too; what an older turn sent cannot be shown."""
    driver, archive = compacted()
    archive.damage = lambda _: b"damaged"

    with pytest.raises(ArchiveError, match="cannot be read"):
        context_at(archive, KEY)
    pin(archive, KEY, 0, "Count bank 0")
    compact(archive, KEY)
    undo(archive, KEY)

    goes_on(driver)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 60) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10_000), JSON), min_size=1, max_size=3))
def test_no_value_in_a_snapshot_ends_a_thread(changes: list[tuple[int, Any]]) -> None:
    """Values anywhere in it are replaced by others."""
    driver, archive = THREAD
    mark, state, said, number = driver.mark, list(driver.state), list(driver.said), driver.number

    def change(plain: Plain) -> None:
        for place, value in changes:
            places = list(_places(plain))
            holder, name = places[place % len(places)]
            holder[name] = value

    archive.damage = changed(change)
    other = replace(driver, state=state, said=said, is_rewound=True)
    other.ask("Where were we?", tools=1)
    archive.damage = lambda saved: saved
    assert (driver.mark, driver.number) == (mark, number)


THREAD = compacted()


def _places(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    """Yield every place in a JSON value: its container, and the key."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in [*entries]:
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from _places(inner)


@pytest.mark.parametrize("operation", [compact, undo])
def test_clearing_a_state_clears_its_thread_after_a_manual_operation(
    operation: Callable[[SqliteArchive, ThreadKey], object],
) -> None:
    """Only a rewind takes precedence over the state."""
    driver, archive = compacted()
    driver.ask("And now?", tools=0)
    driver.end()
    operation(archive, KEY)
    driver.state, driver.said = [], []
    driver.say(driver.message("user", "Begin again"))
    driver.call()

    assert [message.text for message in driver.sent[max(driver.sent)]] == driver.said


@pytest.mark.parametrize("damage", [lambda saved: saved, lambda _: b""], ids=["good", "damaged"])
def test_a_failed_run_from_an_older_checkpoint_does_not_join_a_manual_operation(
    damage: Callable[[bytes], bytes],
) -> None:
    """The operation was on the branch that was abandoned; also if the engine had to be rebuilt."""
    driver, archive = compacted()
    older = max(driver.states)
    driver.ask("And tomorrow?")
    driver.end()
    compact(archive, KEY)
    driver.fork(older)
    state, said = list(driver.state), list(driver.said)
    archive.damage = damage
    driver.say(driver.message("user", "Look at bank 9"))
    driver.call()
    driver.end()
    archive.damage = lambda saved: saved
    driver.state, driver.mark, driver.said = state, older, said
    driver.say(driver.message("user", "Look at bank 10"))
    driver.call()

    _, page = page_at(archive, KEY)
    log = archive.messages(KEY)
    assert [log[position].text for position in page.line] == driver.said
