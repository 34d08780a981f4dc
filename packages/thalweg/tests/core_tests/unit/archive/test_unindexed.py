"""A search in a thread without an index states what it did not search; an archive indexes it."""

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from thalweg.archive import Archive, Logged, SqliteArchive, ThreadKey, recall, table_rows
from thalweg.archive.base import Span
from thalweg.archive.search import unindexed
from thalweg.archive.table_rows import ArchiveRows
from thalweg.archive.tables import INDEXED_AT_ONCE
from thalweg.database import sqlite, sqlite_files
from thalweg.database.migrations.schema import Component
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


@pytest.mark.parametrize("new", [1, MANY])
def test_a_read_only_archive_is_searched_without_an_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new: int
) -> None:
    """Messages without an index are scanned in their thread; other searches read the index."""
    path, old = tmp_path / "a.db", 70
    with SqliteArchive(path) as archive:
        archive.append(KEY, messages({3: "egret"})[:old])
        archive.update_index(KEY.owner)
        archive.append(KEY, messages({0: "heron"})[:new])

    def connect(path: str, component: Component, timeout: float, **_: int) -> sqlite3.Connection:
        return sqlite_files._open_read_only(path, component, timeout)  # noqa: SLF001 (root may write any file)

    monkeypatch.setattr(sqlite, "connect", connect)
    with SqliteArchive(path) as archive:
        archive.update_index(KEY.owner)
        assert archive.unindexed(KEY) == Span(old, old + new - 1)
        assert archive.search(KEY, "heron")[0].position == old
        assert archive.search(KEY, "egret")[0].position == 3
        assert archive.search_threads(KEY.owner, "egret")[0].passage.position == 3
        assert archive.find_threads(KEY.owner, "egret")[0].passage.position == 3
        assert archive.search_threads(KEY.owner, "heron") == []
        answer = recall(archive, KEY, query="heron")
        assert f"#{old} user" in answer
        assert "archive is read-only" in answer
        assert "indexed:" not in answer
        assert "minute" not in answer
        assert "thalweg-index" not in {thread.name for thread in threading.enumerate()}


def test_a_search_within_spans_reads_only_these(
    archive: SqliteArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest messages of the spans are read, even if others are newer."""
    scan_only(500, monkeypatch)
    archive.append(KEY, messages({7: "heron", 40: "heron", MANY - 1: "heron"}))
    found = archive.search(KEY, "heron", within=[Span(7, 7), Span(0, 40)], wait=False)
    assert [hit.position for hit in found] == [40]
    assert archive.search(KEY, "heron", within=[], wait=False) == []
    handle = archive.handle(KEY, Span(4, 9))
    assert "#7 user" in recall(archive, KEY, query="heron", handle=handle)


def test_a_search_reads_no_more_large_texts_than_its_limit(
    archive: SqliteArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large texts are read by the message, and none after the last that is searched."""
    monkeypatch.setattr(unindexed, "SCANNED_CHARS", 20_000)
    read: list[int] = []

    def large_texts(db: ArchiveRows, digests: set[bytes]) -> dict[bytes, str]:
        read.append(len(digests))
        return texts_of(db, digests)

    texts_of = table_rows.large_texts
    monkeypatch.setattr(unindexed, "large_texts", large_texts)
    texts = [f"heron {n} " + "x" * 9_000 for n in range(MANY)]
    archive.append(KEY, [Logged(Message("user", (Text(text),))) for text in texts])
    found = archive.search(KEY, "heron", wait=False)
    assert {hit.position for hit in found} == {MANY - 3, MANY - 2, MANY - 1}
    assert read == [1, 1, 1]


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


def test_a_thread_that_cannot_be_started_is_indexed_later(
    archive: SqliteArchive, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """At the limit of threads `index_soon` raises nothing, and the next call indexes."""
    caplog.set_level("DEBUG", "thalweg.archive")

    def refuse(_: threading.Thread) -> None:
        message = "can't start new thread"
        raise RuntimeError(message)

    archive.append(KEY, messages({}))
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        archive.index_soon(KEY)
    assert "can't start new thread" in caplog.text
    archive.index_soon(KEY)
    wait_for_index(archive)


def test_nothing_is_indexed_while_a_thread_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deleting does not compete with the background; a new thread of the name is indexed."""
    monkeypatch.setattr("thalweg.archive.search.index.BATCH_PASSAGES", MANY // 3)
    indexed: list[bool] = []

    class Busy(SqliteArchive):
        def _unindex_batch(self, key: ThreadKey) -> bool:
            is_more = super()._unindex_batch(key)
            if is_more:
                indexed.append(self._index_batch(key))
            return is_more and len(indexed) < 10

    with Busy(tmp_path / "a.db") as archive:
        archive.append(KEY, messages({}))
        archive.update_index(KEY.owner)
        archive.delete(KEY)
        assert indexed
        assert not any(indexed)
        archive.append(KEY, messages({}))
        archive.index_soon(KEY)
        wait_for_index(archive)
