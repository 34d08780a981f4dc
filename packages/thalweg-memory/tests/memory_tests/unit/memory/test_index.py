"""The index of memories: separate scopes, the turns near a turn, and nothing of content in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from thalweg.database.sqlite import SqliteRows
from thalweg.database.sqlite_files import connect
from thalweg_memory.search.index import MOST_WORDS, Index, IndexEntry, hashed

SECRET = b"fixed"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SqliteRows]:
    """Yield the tables of an index in a file."""
    connection = connect(str(tmp_path / "index.db"), "memory", 1.0)
    connection.execute("PRAGMA secure_delete = ON")
    yield SqliteRows(connection)
    connection.close()


def test_a_scope_finds_its_own_items_only(db: SqliteRows) -> None:
    """Two scopes with the same words know nothing of each other."""
    ours, theirs = Index(db, 1, SECRET), Index(db, 2, SECRET)
    ours.add([IndexEntry(["tea"], thread=1)])
    theirs.add([IndexEntry(["tea"]), IndexEntry(["tea", "coffee"], thread=1)])

    found = ours.find(["tea", "coffee"], 100)

    assert found.places == {"tea": {1: 1}, "coffee": {}}
    assert (found.counts, found.total) == ({"tea": 1, "coffee": 0}, 1)


def test_clearing_a_scope_leaves_the_others_and_gives_no_number_twice(db: SqliteRows) -> None:
    """What an old number named is not taken for a later item."""
    ours, theirs = Index(db, 1, SECRET), Index(db, 2, SECRET)
    ours.add([IndexEntry(["tea"], thread=1), IndexEntry(["tea"], thread=1, seq=1)])
    theirs.add([IndexEntry(["tea"])])

    ours.clear()

    assert ours.find(["tea"], 100).total == 0
    assert theirs.find(["tea"], 100).total == 1
    assert ours.add([IndexEntry(["tea"])]) == [3]


def test_what_was_said_beside_is_of_the_same_thread(db: SqliteRows) -> None:
    """Threads of the same time are not mixed; facts have no turns near them."""
    index = Index(db, 1, SECRET)
    first = [index.add([IndexEntry(["a"], thread=1, seq=n), IndexEntry(["b"], thread=2, seq=n)])[0]
             for n in range(6)]  # fmt: skip
    facts = index.add([IndexEntry(["c"]), IndexEntry(["c"], seq=1)])

    beside = index.neighbours([first[0], first[3], *facts], 2)

    assert beside == {
        first[0]: [first[1], first[2]],
        first[3]: [first[1], first[2], first[4], first[5]],
    }


def test_the_pieces_of_a_long_turn_stand_beside_each_other(db: SqliteRows) -> None:
    """Reach is counted in pieces: of a long answer before, only its end is near."""
    index = Index(db, 1, SECRET)
    index.add([IndexEntry(["a"], thread=1, seq=0, start=n, stop=n + 1) for n in range(5)])
    (after,) = index.add([IndexEntry(["b"], thread=1, seq=1)])

    assert index.neighbours([after, 1], 2) == {after: [4, 5], 1: [2, 3]}


def test_a_word_is_named_by_a_keyed_hash(db: SqliteRows) -> None:
    """Anyone who has the file and not the secret cannot see by its name whether a word is in it."""
    Index(db, 1, SECRET).add([IndexEntry(["zanzibar"])])

    assert hashed(SECRET, "zanzibar") != hashed(b"other", "zanzibar")
    assert -(1 << 63) <= hashed(SECRET, "zanzibar") < 1 << 63


def test_no_word_of_an_item_is_in_the_file(db: SqliteRows, tmp_path: Path) -> None:
    """Neither while it is found nor afterwards."""
    index = Index(db, 1, SECRET)
    (number,) = index.add([IndexEntry(["zanzibar", "quetzalcoatl"])])

    assert index.find(["zanzibar"], 10).places["zanzibar"] == {number: 1}
    for file in tmp_path.iterdir():
        assert b"zanzibar" not in file.read_bytes()
        assert b"quetzal" not in file.read_bytes()


def test_of_very_many_words_those_are_looked_up_that_few_items_have(db: SqliteRows) -> None:
    """A long question costs no more than a question of moderate length."""
    index = Index(db, 1, SECRET)
    common = [f"common{n}" for n in range(MOST_WORDS + 8)]
    index.add([IndexEntry(common), IndexEntry([*common, "rare"])])

    found = index.find([*common, "rare"], 10)

    assert found.places["rare"] == {2: 1}
    assert sum(bool(places) for places in found.places.values()) == MOST_WORDS
    assert found.counts["common39"] == 2
