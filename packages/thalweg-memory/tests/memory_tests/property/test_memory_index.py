"""Laws of the index of memories: it finds what reading every item would find."""

import random
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from core_tests.postgres import fresh_database
from thalweg.database.base import Rows
from thalweg.database.postgres import PostgresRows
from thalweg.database.sqlite import SqliteRows
from thalweg.database.sqlite_files import connect
from thalweg_memory.search.index import BLOCK, LENGTHS, SIZE, TOTALS, Index, IndexEntry
from thalweg_memory.store.postgres import PostgresMemory

SECRET = b"fixed"
WORDS = [f"word{n}" for n in range(12)]
EVERYWHERE, OFTEN, SELDOM = WORDS[:3]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def db(request: pytest.FixtureRequest) -> Iterator[Rows]:
    """Yield the tables of an index on each database, in a transaction that is never ended."""
    with _connected(request) as rows:
        yield rows


@contextmanager
def _connected(request: pytest.FixtureRequest) -> Iterator[Rows]:
    if request.param == "sqlite":
        connection = connect(":memory:", "memory", 1.0)
        yield SqliteRows(connection)
        connection.close()
        return
    server: str = request.getfixturevalue("postgres_server")
    with fresh_database(server) as url:
        PostgresMemory(url).close()
        with psycopg.connect(url) as connected:
            yield PostgresRows(connected)
            connected.rollback()


@dataclass
class Model:
    """An index that reads every item."""

    items: dict[int, Sequence[str]] = field(default_factory=dict)

    def best(self, words: Sequence[str], limit: int) -> set[int]:
        """Choose the items with the rarest words, of equally rare ones the newest."""
        counts = self.counts(words)
        rarest = {
            number: min((counts[word] for word in words if word in listed), default=0)
            for number, listed in self.items.items()
        }
        by_score = sorted((rare, -number) for number, rare in rarest.items() if rare)
        return {-number for _, number in by_score[:limit]}

    def counts(self, words: Sequence[str]) -> dict[str, int]:
        """Count the items that have each word."""
        return {word: sum(word in listed for listed in self.items.values()) for word in words}


def many(number: int, seed: int) -> list[list[str]]:
    """Make up items, in which some words are much more frequent than others."""
    dice = random.Random(seed)  # noqa: S311 (not a secret)
    share = {EVERYWHERE: 0.9, OFTEN: 0.3, SELDOM: 0.02}
    made = []
    for _ in range(number):
        words = [word for word, chance in share.items() if dice.random() < chance]
        made.append([*words, *dice.choices(WORDS[3:], k=dice.randrange(5))])
    return made


listed = st.lists(st.sampled_from(WORDS), max_size=8)
few = st.lists(listed, min_size=1, max_size=4)
additions = few | st.builds(many, st.sampled_from([300, 600, 1_200]), st.integers(0, 9))
begun_with = st.builds(many, st.sampled_from([0, 3, 300, 2_000]), st.integers(0, 9))
more = st.lists(
    st.one_of(
        st.tuples(st.just("add"), additions),
        st.tuples(st.just("remove"), st.lists(st.floats(0, 1, exclude_max=True), max_size=5)),
        st.tuples(
            st.just("remove all but"), st.lists(st.floats(0, 1, exclude_max=True), max_size=5)
        ),
        st.tuples(st.just("replace"), st.tuples(st.floats(0, 1, exclude_max=True), listed)),
    ),
    max_size=8,
)
steps = st.builds(lambda first, rest: [("add", first), *rest], begun_with, more)
questions = st.lists(st.sampled_from([*WORDS, "unknown"]), min_size=1, max_size=6, unique=True)
begins = st.sampled_from([1, BLOCK - 700, BLOCK - 2])
"""Numbers from which items are numbered: those of some examples are in two blocks."""


def begun(db: Rows, scope: int, number: int) -> Index:
    """Make an index as if it had had items before, all of which were removed."""
    state = struct.pack("<qq", number, 0)
    db.run("INSERT INTO memory_word VALUES (?, 0, 0, ?)", (scope, state))
    return Index(db, scope, SECRET)


def take(index: Index, model: Model, step: tuple[str, object]) -> None:
    """Take a step with an index and with its model."""
    numbers = list(model.items)
    match step:
        case "add", list(added):
            given = index.add([IndexEntry(words, seq=n) for n, words in enumerate(added)])
            assert given == sorted(set(given))
            assert not numbers or given[0] > numbers[-1]
            model.items.update(zip(given, added, strict=True))
        case "remove" | "remove all but" as how, list(places):
            named = {numbers[int(place * len(numbers))] for place in places if numbers}
            gone = named if how == "remove" else set(numbers) - named
            index.remove({number: model.items.pop(number) for number in sorted(gone)})
        case "replace", (float(place), list(words)) if numbers:
            number = numbers[int(place * len(numbers))]
            index.replace(number, model.items[number], words)
            model.items[number] = words


scopes = iter(range(1, 1_000_000))


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(steps, questions, begins, st.sampled_from([5, 100, 10_000]))
def test_it_finds_what_reading_every_item_finds(
    db: Rows, steps: list[tuple[str, object]], words: list[str], begin: int, limit: int
) -> None:
    """Words, how often they occur where, lengths and totals are as they are in the items."""
    index, model = begun(db, next(scopes), begin), Model()
    for step in steps:
        take(index, model, step)
    best = model.best(words, limit)
    event("all" if len(best) < limit else "the best")

    found = index.find(words, limit)

    assert set(found.lengths) == best
    assert found.lengths == {number: len(model.items[number]) for number in best}
    assert found.places == {
        word: {
            number: Counter(model.items[number])[word]
            for number in best
            if word in model.items[number]
        }
        for word in words
    }
    assert found.counts == model.counts(words)
    assert found.total == len(model.items)
    assert found.mean_words == pytest.approx(
        sum(map(len, model.items.values())) / max(1, len(model.items))
    )


def test_rare_words_share_rows(db: Rows) -> None:
    """A row stores eight words on average, after one insertion or many."""
    scope = next(scopes)
    index = begun(db, scope, 1)
    index.add([IndexEntry([f"rare{n}" for n in range(100)])])
    for number in range(100, 1_000, 10):
        index.add([IndexEntry([f"rare{n}" for n in range(number, number + 10)])])

    assert 125 - 20 <= len(rows_of_words(db, scope)) <= 125
    assert index.find(["rare7", "rare999"], 10).counts == {"rare7": 1, "rare999": 1}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(steps, begins)
def test_nothing_is_left_of_items_that_are_removed(
    db: Rows, steps: list[tuple[str, object]], begin: int
) -> None:
    """After the last item's last word, the only row is what numbers the next item."""
    scope = next(scopes)
    index, model = begun(db, scope, begin), Model()
    for step in steps:
        take(index, model, step)

    index.remove(model.items)

    assert [*db.rows("SELECT * FROM memory_item WHERE scope = ?", (scope,))] == []
    assert rows_of_words(db, scope) == []


def rows_of_words(db: Rows, scope: int) -> list[int]:
    """List the keys under which a scope has words."""
    rows = db.rows(
        "SELECT word FROM memory_word WHERE scope = ?"
        " UNION ALL SELECT word FROM memory_posting WHERE scope = ?",
        (scope, scope),
    )
    return [word for (word,) in rows if word not in {TOTALS, LENGTHS, SIZE}]
