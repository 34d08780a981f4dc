"""What search, import and index of the flight recorder cost as the archive grows.

    THALWEG_RECORDED=folder python -m benchmarks.recorder_scale [--messages 10000,100000,1000000]
        [--folder /dev/shm]

The recorded sessions are imported once. Copies of them are then added below the archive's methods
until it has so many messages: log, journal, passages and word index. Each copy has a project and
identifiers of its own: words in at most 20 passages get a suffix in the copies, in text and index.
So the vocabulary grows. An answer counts from any copy of its session.
At each size: the questions of `needles.jsonl` over all sessions and in one project, CPU time; the
size of the file. At the end: the import and index of the recorded sessions for another owner.
"""

import argparse
import json
import os
import re
import sqlite3
import statistics
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.recorder import OWNER, Needle, read_needles
from thalweg.archive import Archive, open_archive
from thalweg.archive.search.index import PASSAGE_BITS, words_of
from thalweg.database.base import decode, encode
from thalweg_recorder import import_sessions
from thalweg_recorder.recordings import find_recordings
from thalweg_recorder.searching import SearchFilter, render_found, search_sessions
from thalweg_recorder.sessions import list_sessions

OTHER = "other"
"""Owner of what is imported at the end."""
RARE = 20
"""Passages with a word that is an identifier here."""
SUFFIX = "9q9"
APART = 1_000
"""Difference of the thread numbers of two copies."""


class PassageTemplate(NamedTuple):
    """A passage whose identifiers end with `SUFFIX`."""

    id: int
    place: tuple[int, int, int]
    speaker: bytes
    text: str
    words: str

    def row(self, shift: int, suffix: str) -> tuple[int, int, int, int, bytes, bytes]:
        """Return the passage of a copy, as a row of the index."""
        position, start, about = self.place
        text = encode(self.text.replace(SUFFIX, suffix))
        return self.id + shift, position, start, about and about + shift, self.speaker, text


def main() -> None:
    """Print the figures of each size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", default="10000,100000,1000000")
    parser.add_argument("--folder", help="where the archive is made; it takes 4 kB a message")
    given = parser.parse_args()
    recorded = Path(os.environ["THALWEG_RECORDED"])
    paths = find_recordings([recorded / "trajectories"])
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        place = Path(folder, "archive.db")
        with open_archive(place) as archive:
            messages = sum(one.new for one in import_sessions(archive, paths))
            archive.update_index(OWNER)
            sessions = set(archive.threads(OWNER))
        needles = [one for one in read_needles(recorded) if one.is_in(sessions)]
        copies = 0
        for size in map(int, given.messages.split(",")):
            more = max(0, round(size / messages) - 1 - copies)
            add_copies(place, copies + 1, more)
            copies += more
            with open_archive(place) as archive:
                print(
                    f"{messages * (copies + 1):,} messages, {(copies + 1) * len(sessions)} sessions"
                )
                _searches(archive, needles)
            print(f"  file {place.stat().st_size / 1e6:,.0f} MB{_parts(place)}", flush=True)
        with open_archive(place) as archive:
            _import(archive, paths)


def add_copies(place: Path, first: int, count: int) -> None:
    """Add copies of the threads of the first import to an archive, numbered from `first`."""
    db = sqlite3.connect(place, isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    templates = _templates(db)
    turns = db.execute(
        "SELECT thread, turn, body, state FROM archive_turn WHERE thread < ?", (APART,)
    ).fetchall()
    for copy in range(first, first + count):
        db.execute("BEGIN")
        _add_copy(db, copy, templates, turns)
        db.execute("COMMIT")
    db.close()


def _templates(db: sqlite3.Connection) -> list[PassageTemplate]:
    rows = db.execute(
        "SELECT id, position, start, about, speaker, text FROM archive_passage WHERE id < ?",
        (APART << PASSAGE_BITS,),
    ).fetchall()
    texts = [decode(row[-1]) for row in rows]
    counts = Counter(token for text in texts for token in set(_TOKEN.findall(text)))
    rare = {token for token, count in counts.items() if count <= RARE}
    found: list[PassageTemplate] = []
    for (number, position, start, about, speaker, _), plain in zip(rows, texts, strict=True):
        text = _TOKEN.sub(lambda each: each[0] + SUFFIX * (each[0] in rare), plain)
        words = words_of(decode(speaker), text)
        found.append(PassageTemplate(number, (position, start, about), speaker, text, words))
    return found


_TOKEN = re.compile(r"[^\W_]{5,}")


def _add_copy(
    db: sqlite3.Connection, copy: int, templates: Sequence[PassageTemplate], turns: Sequence[Any]
) -> None:
    apart, suffix = copy * APART, f"{copy}q{copy}"
    db.execute(
        "INSERT INTO archive_thread (id, owner, thread, indexed, passages)"
        " SELECT id + ?, owner, CAST(thread || ? AS BLOB), indexed, passages FROM archive_thread"
        " WHERE id < ?",
        (apart, f"-{copy}".encode(), APART),
    )
    db.execute(
        "INSERT INTO archive_log SELECT thread + ?, position, uid, body, holes, about"
        " FROM archive_log WHERE thread < ? ORDER BY thread, position",
        (apart, APART),
    )
    db.executemany(
        "INSERT INTO archive_turn VALUES (?, ?, ?, ?)",
        [(thread + apart, turn, *_moved(body, state, copy)) for thread, turn, body, state in turns],
    )
    shift = apart << PASSAGE_BITS
    db.executemany(
        "INSERT INTO archive_passage VALUES (?, ?, ?, ?, ?, ?)",
        (one.row(shift, suffix) for one in templates),
    )
    db.executemany(
        "INSERT INTO archive_words (rowid, words) VALUES (?, ?)",
        ((one.id + shift, one.words.replace(SUFFIX, suffix)) for one in templates),
    )


def _moved(body: bytes, state: bytes, copy: int) -> tuple[bytes, bytes]:
    """Return a turn of the journal whose session is in the project of a copy."""
    turn = json.loads(zlib.decompress(body))
    turn["session"]["project"] = project = f"/src/{copy}"
    origin, _, _ = state.rpartition(b"\n")
    return zlib.compress(json.dumps(turn).encode(), 3), origin + b"\n" + project.encode()


def _searches(archive: Archive, needles: Sequence[Needle]) -> None:
    _search("over all sessions", archive, needles, SearchFilter())
    if any(session.project == "/src/1" for _, session in list_sessions(archive)):
        _search("in one project", archive, needles[:10], SearchFilter(project="/src/1"))


def _search(what: str, archive: Archive, needles: Sequence[Needle], only: SearchFilter) -> None:
    times: list[float] = []
    found = 0
    search_sessions(archive, "the first reads the file", only)
    for needle in needles:
        start = time.process_time()
        hits = search_sessions(archive, needle.question, only)
        times.append((time.process_time() - start) * 1e3)
        found += needle.answer in _SUFFIXED.sub("", render_found(hits))
    print(
        f"  search {what}: CPU median {statistics.median(times):.0f} ms, mean"
        f" {statistics.mean(times):.0f}, highest {max(times):.0f};"
        f" needles {found} of {len(needles)}"
    )


_SUFFIXED = re.compile(r"(?P<copy>\d+)q(?P=copy)")
"""The answer in any copy of its session counts."""


def _import(archive: Archive, paths: Sequence[Path]) -> None:
    count = 0

    def read() -> None:
        nonlocal count
        count = sum(one.new for one in import_sessions(archive, paths, owner=OTHER))

    taken = _cpu(read)
    indexed = _cpu(lambda: archive.update_index(OTHER))
    print(f"  import: {count / taken:,.0f} messages a second of CPU; index {count / indexed:,.0f}")


def _cpu(call: Callable[[], None]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _parts(place: Path) -> str:
    """Return the size of what search needs, where SQLite can measure it."""
    db = sqlite3.connect(place)
    try:
        found = dict(db.execute("SELECT name, SUM(pgsize) FROM dbstat GROUP BY name"))
    except sqlite3.OperationalError:
        return ""
    finally:
        db.close()
    words = sum(size for name, size in found.items() if name.startswith("archive_words"))
    passages = found.get("archive_passage", 0)
    return f", of which passages {passages / 1e6:,.0f}, words {words / 1e6:,.0f}"


if __name__ == "__main__":
    main()
