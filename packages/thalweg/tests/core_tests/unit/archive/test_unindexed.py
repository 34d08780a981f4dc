"""A search in a thread without an index states what it did not search; an archive indexes it."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from thalweg.archive import Archive, Logged, SqliteArchive, ThreadKey, recall
from thalweg.archive.search import unindexed
from thalweg.archive.tables import INDEXED_AT_ONCE
from thalweg.engine.entries import Message, Text

KEY = ThreadKey("local", "t")
MANY = 3 * INDEXED_AT_ONCE


def messages(words: dict[int, str]) -> list[Logged]:
    """Return many messages; those at some positions end in words."""
    texts = (f"reading {n} of the gauge {words.get(n, '')}" for n in range(MANY))
    return [Logged(Message("user", (Text(text),))) for text in texts]


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[SqliteArchive]:
    with SqliteArchive(tmp_path / "a.db") as opened:
        yield opened


def wait_for_index(archive: Archive) -> None:
    for thread in threading.enumerate():
        if thread.name == "thalweg-index":
            thread.join()
    assert archive.unindexed(KEY) is None


def test_few_messages_are_indexed_by_the_search(archive: SqliteArchive) -> None:
    archive.append(KEY, messages({})[:INDEXED_AT_ONCE])
    assert archive.unindexed(KEY) is None
    assert archive.search(KEY, "gauge", wait=False)
    assert archive.search(KEY, "gauge", wait=False) == archive.search(KEY, "gauge")


def scan_only(newest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unindexed, "SCANNED_CHARS", newest)
    monkeypatch.setattr(unindexed, "_PAGE_MESSAGES", 8)


def test_recall_states_what_was_not_searched(
    archive: SqliteArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is no error, and the same call returns the message when it is indexed."""
    scan_only(1, monkeypatch)
    archive.append(KEY, messages({7: "heron"}))
    answer = recall(archive, KEY, query="heron")
    assert answer.startswith(f"[Messages 0-{MANY - 1} are still being indexed")
    assert "Nothing was found" not in answer
    assert "no handle" in recall(archive, KEY, handle="heron")
    wait_for_index(archive)
    assert "#7 user" in (answer := recall(archive, KEY, query="heron"))
    assert "indexed" not in answer


def test_an_answer_with_the_note_fits(archive: SqliteArchive) -> None:
    archive.append(KEY, messages(dict.fromkeys(range(MANY), "heron")))
    answer = recall(archive, KEY, query="heron", max_tokens=120, count=len)
    assert len(answer) <= 120


def test_closing_ends_the_index_in_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An archive has no thread after `close`; the next process can index."""
    monkeypatch.setattr("thalweg.archive.search.BATCH_CHARS", 100)
    begun = threading.Event()

    class Slow(SqliteArchive):
        def _index_batch(self, key: ThreadKey) -> bool:
            begun.set()
            return super()._index_batch(key)

    with Slow(tmp_path / "a.db") as archive:
        archive.append(KEY, messages({7: "heron"}))
        archive.index_soon(KEY)
        archive.index_soon(KEY)
        assert begun.wait(10)
        names = [thread.name for thread in threading.enumerate()]
        assert names.count("thalweg-index") == 1
    assert "thalweg-index" not in {thread.name for thread in threading.enumerate()}
    with SqliteArchive(tmp_path / "a.db") as reopened:
        assert reopened.unindexed(KEY)
        assert reopened.search(KEY, "heron")[0].position == 7
