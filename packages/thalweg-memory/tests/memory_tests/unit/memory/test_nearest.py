"""Vectors of items: the nearest are found, and removed ones are found no more."""

import struct
from collections.abc import Iterator

import pytest

from thalweg.database.sqlite import SqliteRows
from thalweg.database.sqlite_files import connect
from thalweg_memory.search import nearest as nearest_module
from thalweg_memory.search.index import Index, IndexEntry

pytest.importorskip("numpy", reason="vectors need NumPy")


@pytest.fixture
def index() -> Iterator[Index]:
    """Yield an index with three items that have vectors and one that has none."""
    connection = connect(":memory:", "memory", 1.0)
    index = Index(SqliteRows(connection), 1, b"fixed")
    numbers = index.add([IndexEntry([f"word{n}"]) for n in range(4)])
    index.vectors.put({numbers[0]: vector(1, 0), numbers[1]: vector(0.6, 0.8)})
    index.vectors.put({numbers[2]: vector(0, 1)})
    yield index
    connection.close()


def vector(*values: float) -> bytes:
    """Write a vector."""
    return struct.pack(f"<{len(values)}f", *values)


def near(kept: nearest_module.VectorIndex, index: Index, limit: int = 10) -> dict[int, float]:
    """Find what is near to the first item's vector, in hundredths."""
    found = kept.find(index.vectors, vector(1, 0), limit, [1, 2, 3, 4])
    return {number: round(cosine, 2) for number, cosine in sorted(found.items())}


def test_the_nearest_are_found_with_their_cosines(index: Index) -> None:
    """At most as many as are wanted."""
    kept = nearest_module.VectorIndex()

    assert near(kept, index) == {1: 1.0, 2: 0.6, 3: 0.0}
    assert near(kept, index, limit=2) == {1: 1.0, 2: 0.6}


def test_what_was_written_or_removed_since_is_seen(index: Index) -> None:
    """A process that looked before sees it: what it keeps is brought up to date."""
    kept = nearest_module.VectorIndex()
    near(kept, index)

    index.vectors.put({4: vector(0.8, 0.6)})
    index.remove({1: ["word0"]})
    index.replace(2, ["word1"], ["other"])

    assert near(kept, index) == {3: 0.0, 4: 0.8}


def test_an_item_that_was_only_removed_is_found_no_more(index: Index) -> None:
    """Nothing need be written for that to be seen."""
    kept = nearest_module.VectorIndex()
    near(kept, index)

    index.remove({1: ["word0"]})

    assert near(kept, index) == {2: 0.6, 3: 0.0}


def test_a_vector_of_another_length_is_passed_over(index: Index) -> None:
    """Another model made it."""
    index.vectors.put({4: vector(1, 0, 0)})

    assert 4 not in near(nearest_module.VectorIndex(), index)


def test_nothing_is_found_once_all_are_cleared(index: Index) -> None:
    """And what comes afterwards is not mixed with what was."""
    kept = nearest_module.VectorIndex()
    near(kept, index)

    index.clear()
    assert near(kept, index) == {}

    (number,) = index.add([IndexEntry(["word"])])
    index.vectors.put({number: vector(0, 1)})
    assert near(kept, index) == {number: 0.0}


def test_of_very_many_only_those_are_compared_that_words_found(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scope with more vectors than fit in memory is searched by words first."""
    monkeypatch.setattr(nearest_module, "MOST_SCANNED", 2)

    found = nearest_module.VectorIndex().find(index.vectors, vector(1, 0), 10, [2, 4])

    assert [*found] == [2]


def test_what_was_asked_for_last_is_kept(index: Index) -> None:
    """Memory is bounded; a scope that fell out is read again."""
    kept = nearest_module.VectorIndex(most_bytes=1)

    assert near(kept, index) == near(kept, index) == {1: 1.0, 2: 0.6, 3: 0.0}
