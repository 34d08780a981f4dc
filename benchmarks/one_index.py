"""What one word index for archive and memory would cost, against the two that there are.

    THALWEG_RECORDED=folder python -m benchmarks.one_index

The archive in a SQLite file lists passages in FTS5. Compared with it, the same archive lists them
in memory's index (`WordRows`). Memory's index is `memory.search.index`. Compared
with it, the same items are in FTS5. CPU time of this process, bytes as the process wrote them.
"""

import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.archive_recall import Thread, cases_of, read_thread
from benchmarks.state import OF_THREAD, bytes_written
from thalweg.archive import SqliteArchive, ThreadKey
from thalweg.archive.search.index import split_passages
from thalweg.archive.sqlite import Transaction
from thalweg.database.sqlite import SqliteRows
from thalweg.database.sqlite_files import connect
from thalweg.engine.transcript import as_text
from thalweg.engine.words import stem
from thalweg_memory.facts.recall.ranking import ask, index_words
from thalweg_memory.search.index import BLOCK_BITS, Index, IndexEntry, WordRows

KEY = ThreadKey("bench", "t")
NEWEST = 40
"""Messages that come one by one, each before a search."""
ITEMS = 10_000


class OneIndexRows(Transaction):
    """The archive's transaction, with memory's index in the place of FTS5."""

    def list_words(self, listed: Iterable[tuple[int, str]]) -> None:
        """See `ArchiveRows.list_words`."""
        added = {id_ & 0xFFFFFFFF: [*map(stem, words.split())] for id_, words in listed}
        WordRows(self, 1, b"fixed").change(added, {})

    def listed_under(
        self,
        words: Sequence[str],
        first: int,
        end: int,
        limit: int,
        *,
        any_of: Sequence[str] = (),
    ) -> list[int]:
        """See `ArchiveRows.listed_under`; without `any_of`."""
        del any_of
        rows = WordRows(self, 1, b"fixed")
        keys = {rows.key(stem(word)) for word in words}
        blocks = rows.blocks(rows.words(keys))
        base, found = first >> 32 << 32, list[int]()
        for block in sorted(blocks, reverse=True):
            if keys <= blocks[block].keys():
                shared = set.intersection(*(set(p.offsets()) for p in blocks[block].values()))
                ids = (base + (block << BLOCK_BITS) + at for at in sorted(shared, reverse=True))
                found += [id_ for id_ in ids if first <= id_ < end]
        return found[:limit]


def archive(thread: Thread, questions: Sequence[str], rows: type[Transaction]) -> list[float]:
    """Measure an archive: bulk, one by one, searches, kB."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "archive.db"
        with connect(str(path), "memory", 1.0):
            pass
        with SqliteArchive(path) as kept:
            kept._database._rows = rows  # noqa: SLF001 (the index is what is compared)
            kept.append(KEY, thread.logged[:-NEWEST])
            began = time.process_time()
            kept.search(KEY, "index it")
            bulk = time.process_time() - began
            each, wrote = 0.0, 0
            for logged in thread.logged[-NEWEST:]:
                kept.append(KEY, [logged])
                began, before = time.process_time(), bytes_written(OF_THREAD)
                kept.search(KEY, "")
                each += time.process_time() - began
                wrote += bytes_written(OF_THREAD) - before
            searches = [_timed(kept, question) for question in questions]
        return [bulk, each / NEWEST * 1_000, statistics.median(searches), wrote / NEWEST / 1_000]


def _timed(kept: SqliteArchive, question: str) -> float:
    began = time.process_time()
    kept.search(KEY, question)
    return (time.process_time() - began) * 1_000


def memory(texts: Sequence[str], questions: Sequence[str]) -> tuple[list[float], list[float]]:
    """Measure memory's index and FTS5 over the same items: ms to add one, ms to find."""
    connection = connect(":memory:", "memory", 1.0)
    index = Index(SqliteRows(connection), 1, b"fixed")
    words = [index_words(text) for text in texts]
    began = time.process_time()
    for one in words:
        index.add([IndexEntry(one)])
    added = (time.process_time() - began) / len(texts) * 1_000
    word_lists = [ask(text).words for text in questions]
    began = time.process_time()
    for question in word_lists:
        index.find(question, 500)
    ours = [added, (time.process_time() - began) / len(word_lists) * 1_000]
    plain = sqlite3.connect(":memory:", isolation_level=None)
    plain.execute("CREATE VIRTUAL TABLE w USING fts5(words, content='', detail=none)")
    began = time.process_time()
    for number, one in enumerate(words):
        plain.execute("INSERT INTO w (rowid, words) VALUES (?, ?)", (number, " ".join(one)))
    added = (time.process_time() - began) / len(texts) * 1_000
    ranked = "SELECT rowid, bm25(w) FROM w WHERE w MATCH ? ORDER BY 2 LIMIT 500"
    began = time.process_time()
    for question in word_lists:
        plain.execute(ranked, (" OR ".join(f'"{word}"' for word in question),)).fetchall()
    return ours, [added, (time.process_time() - began) / len(word_lists) * 1_000]


def main() -> None:
    """Print both tables."""
    recorded = Path(os.environ["THALWEG_RECORDED"])
    threads = dict(cases_of(recorded, "needles.jsonl"))
    path = max(threads, key=lambda path: path.stat().st_size)
    thread, questions = read_thread(path), [case.question for case in threads[path]][:40]
    print(f"archive: {path.name}, {len(thread.logged)} messages")
    print(f"{'index':12}{'bulk, s':>9}{'a message, ms':>15}{'a search, ms':>14}{'kB':>8}")
    for name, rows in (("FTS5", Transaction), ("memory's", OneIndexRows)) * 2:
        bulk, each, search, wrote = archive(thread, questions, rows)
        print(f"{name:12}{bulk:9.2f}{each:15.2f}{search:14.1f}{wrote:8.1f}")
    texts = [
        text[:300]
        for each in threads
        for logged in read_thread(each).logged
        for _, text in split_passages(as_text(logged.message))
    ][:ITEMS]
    questions = [case.question for cases in threads.values() for case in cases][:200]
    ours, plain = memory(texts, questions)
    print(f"memory: {len(texts)} items\n{'index':12}{'an item, ms':>13}{'a search, ms':>14}")
    print(f"{'ours':12}{ours[0]:13.3f}{ours[1]:14.2f}\n{'FTS5':12}{plain[0]:13.3f}{plain[1]:14.2f}")


if __name__ == "__main__":
    main()
