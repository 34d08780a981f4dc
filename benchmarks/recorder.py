"""What the flight recorder costs, and how often it finds again.

    THALWEG_RECORDED=folder python -m benchmarks.recorder [--messages 10000,100000]
    THALWEG_RECORDED=folder python -m benchmarks.recorder --questions FILE [FILE ...]
    THALWEG_RECORDED=folder python -m benchmarks.recorder --summaries
    THALWEG_RECORDED=folder python -m benchmarks.recorder --growing

Import of all recorded sessions, CPU and size; needles over all of them in one archive and in
their own threads; the latency of the hook next to that of an empty Python; with `--messages`, a
search in archives that hold the sessions again and again. With `--questions`, only how often the
first hit, one of the first five, and any has the answer: of `search_sessions` and, for the first
five alone, of FTS5. A line of a
file has `question`, `needle` and `alternatives`, verbatim passages that answer it. With
`--summaries`, how many of the requests that a compaction of Claude Code took out of the context
are in the summary that the recorder gives it afterwards. With `--growing`, the CPU of an import
after one new row of a log of 36 MB: the rows of Claude Code's recorded logs, again and again, with
ids and times of their own.
"""

import argparse
import gzip
import json
import os
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice, zip_longest
from pathlib import Path

from thalweg.archive import Archive, Logged, ThreadKey, open_archive, render_passages
from thalweg.archive.search.index import split_passages
from thalweg.engine.tokens import exact_counter
from thalweg.engine.transcript import as_text
from thalweg.engine.words import STOP_WORDS
from thalweg_recorder import hook, import_sessions
from thalweg_recorder.recordings import find_recordings
from thalweg_recorder.recordings.files import read_recording
from thalweg_recorder.recordings.source import open_source
from thalweg_recorder.replay.questions import REQUEST_CHARS, find_questions, requests_of
from thalweg_recorder.replay.recorded import is_lost
from thalweg_recorder.searching import render_found, search_sessions
from thalweg_recorder.worker import summarize

HOOKS = 100
OWNER = "local"
TOKENS = 2_000
"""Of an answer."""


@dataclass(frozen=True, slots=True)
class Needle:
    """A question about a session, and words of the answer."""

    session: str
    question: str
    answer: str

    def is_in(self, threads: Collection[str]) -> bool:
        """Return whether its session is among some threads."""
        return any(name.partition(":")[2].rpartition("-")[0] == self.session for name in threads)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", default="", help="sizes of archives to search in")
    parser.add_argument("--questions", nargs="+", type=Path, help="files with questions")
    parser.add_argument(
        "--calls", nargs="+", type=Path, default=[], help="for each, calls of recall"
    )
    parser.add_argument("--summaries", action="store_true", help="only the summaries")
    parser.add_argument("--growing", action="store_true", help="only a log that grows")
    options = parser.parse_args()
    sizes = [int(size) for size in options.messages.split(",") if size]
    folder = Path(os.environ["THALWEG_RECORDED"])
    logs = sorted((folder / "originals").glob("cc-*.jsonl.gz"))
    if options.summaries or options.growing:
        (_summaries if options.summaries else _append)(logs)
        return
    with tempfile.TemporaryDirectory() as place:
        archive = open_archive(Path(place, "a.db"))
        folders = [folder, folder / "nc"] if options.questions else [folder]
        _import(archive, [one / "trajectories" for one in folders], Path(place, "a.db"))
        if options.questions:
            _ask(archive, options.questions, options.calls)
            return
        needles = read_needles(folder)
        _search(archive, needles)
        _hooks(Path(place))
        for size in sizes:
            _grow(archive, size)
            _timed(f"search in {size:,} messages", archive, needles[:10])


def _import(archive: Archive, folders: Sequence[Path], place: Path) -> None:
    paths = find_recordings([one for one in folders if one.is_dir()])
    start = time.process_time()
    messages = sum(one.new for one in import_sessions(archive, paths))
    taken = time.process_time() - start
    again = time.process_time()
    assert not any(one.new for one in import_sessions(archive, paths))
    unchanged = time.process_time() - again
    files = {path if path.exists() else Path(str(path).partition("#")[0]) for path in paths}
    source = sum(path.stat().st_size for path in files) / 1e6
    print(f"import: {len(paths)} sessions, {messages:,} messages, {source:.1f} MB of files")
    print(f"  CPU {taken:.2f} s, again {unchanged:.2f} s; archive {_size(place):.1f} MB")
    start = time.process_time()
    archive.update_index(OWNER)
    print(f"  index: CPU {time.process_time() - start:.2f} s; with it {_size(place):.1f} MB")


def _size(place: Path) -> float:
    return sum(one.stat().st_size for one in place.parent.glob(f"{place.name}*")) / 1e6


def read_needles(folder: Path) -> list[Needle]:
    """Return the questions about the recorded sessions."""
    lines = (folder / "needles.jsonl").read_text("utf-8").splitlines()
    plain = [json.loads(line) for line in lines]
    return [Needle(one["trajectory"], one["question"], one["answer"]) for one in plain]


def _search(archive: Archive, needles: Sequence[Needle]) -> None:
    threads = {name.partition(":")[2].rpartition("-")[0]: name for name in archive.threads(OWNER)}
    known = [needle for needle in needles if needle.session in threads]
    own = sum(
        needle.answer
        in render_passages(
            archive.search(ThreadKey(OWNER, threads[needle.session]), needle.question)
        )
        for needle in known
    )
    print(f"needles, one search of 2,000 tokens: in their own session {own} of {len(known)}")
    found = _timed("  over all sessions", archive, known)
    print(f"  over all sessions {found} of {len(known)}")
    shown = [render_found(search_sessions(archive, needle.question)) for needle in known]
    found = sum(needle.answer in text for needle, text in zip(known, shown, strict=True))
    print(f"  `record search`, 3,000 tokens over all sessions: {found} of {len(known)}")
    _plain_fts5(archive, known)


def _plain_fts5(archive: Archive, needles: Sequence[Needle]) -> None:
    """Ask an FTS5 table of the same texts, by BM25, with the same budget."""
    texts: list[str] = []
    for name in archive.threads(OWNER):
        for message in archive.messages(ThreadKey(OWNER, name)):
            texts += [text for _, text in split_passages(as_text(message))]
    db = _fts5(texts)
    start, found = time.process_time(), 0
    for needle in needles:
        found += needle.answer in _within_budget(_ask_fts5(db, needle.question, 50))
    taken = (time.process_time() - start) / len(needles) * 1e3
    print(
        f"  plain FTS5 over all sessions: {found} of {len(needles)}, CPU {taken:.0f} ms a question"
    )


def _fts5(texts: Sequence[str]) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE passage USING fts5 (text, tokenize='porter unicode61')")
    db.executemany("INSERT INTO passage VALUES (?)", [(text,) for text in texts])
    return db


def _ask_fts5(db: sqlite3.Connection, question: str, limit: int) -> list[str]:
    words = re.findall(r"\w+", question.lower())
    words = [word for word in words if word not in STOP_WORDS] or words
    match = " OR ".join(f'"{word}"' for word in words)
    return [text for (text,) in db.execute(_BEST, (match, limit))]


_BEST = "SELECT text FROM passage WHERE passage MATCH ? ORDER BY rank LIMIT ?"
_CHARACTERS = (2_000, 3_000)
"""Of a passage of FTS5: the mean of our first five hits, and of our first hit."""


def _ask(archive: Archive, files: Sequence[Path], calls: Sequence[Path]) -> None:
    """Print how often the answer is in the first hit, in one of the first five, and in any.

    Args:
        archive: The archive of all sessions.
        files: Questions, with words of their answers.
        calls: For each file, the calls of `recall` that a model would make: `query`, `other_words`.
    """
    texts: dict[int, list[str]] = {size: [] for size in _CHARACTERS}
    for name in archive.threads(OWNER):
        for message in archive.messages(ThreadKey(OWNER, name)):
            text = as_text(message)
            for size, pieces in texts.items():
                pieces += [text[at : at + size] for at in range(0, len(text), size)]
    dbs = {f"FTS5, {size:,} characters": _fts5(pieces) for size, pieces in texts.items()}
    for file, called in zip_longest(files, calls):
        counts = {who: [0, 0, 0] for who in ("search", *(["other words"] if called else []), *dbs)}
        rows = called.read_text("utf-8").splitlines() if called else ()
        phrasings = {
            row["index"]: [row["query"], *row["other_words"]] for row in map(json.loads, rows)
        }
        questions = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        for index, one in enumerate(questions):
            wanted = [_joined(text) for text in (one["needle"], *one["alternatives"])]
            plain = {who: _ask_fts5(db, one["question"], 5) for who, db in dbs.items()}
            plain["search"] = _hits(archive, one["question"])
            if called:
                plain["other words"] = _hits(archive, phrasings[index])
            for who, found in plain.items():
                right = [any(text in _joined(hit) for text in wanted) for hit in found]
                for at, hits in enumerate((right[:1], right[:5], right)):
                    counts[who][at] += any(hits)
        for who, (first, five, whole) in counts.items():
            print(
                f"{file.name}: {who}: first hit {first}, first five {five}, any {whole} of"
                f" {len(questions)}"
            )


def _hits(archive: Archive, query: str | Sequence[str]) -> list[str]:
    return [
        "\n".join([hit.passage.about, hit.passage.text, *(p.text for p in hit.exchange)])
        for hit in search_sessions(archive, query)
    ]


def _summaries(logs: Sequence[Path]) -> None:
    """Import each log up to its last compaction, and look for lost requests in its summary."""
    row = "{:34} {:>11} {:>9} {:>5} {:>8} {:>10} {:>6}"
    print(
        row.format("session", "compactions", "requests", "lost", "restored", "first line", "tokens")
    )
    total = [0] * 5
    for log in logs:
        recording = read_recording(log)
        if not recording.compactions:
            continue
        last = recording.compactions[-1]
        kept = [message for message in recording.messages if message.line > last.line]
        known = find_questions(log).get(recording.name)
        goals = known.goals if known and known.goals else requests_of(recording)
        lost = [goal for goal in goals if is_lost(goal, kept, last.summary)]
        text = _summary_at(log, last.line)
        whole = sum(goal.quote in text for goal in lost)
        first = sum(goal.quote.strip().split("\n")[0][:REQUEST_CHARS] in text for goal in lost)
        cells = [len(recording.compactions), len(goals), len(lost), whole, first]
        total = [a + b for a, b in zip(total, cells, strict=True)]
        print(row.format(recording.name, *cells, exact_counter()(text)))
    print(row.format("all", *total, ""))


def _summary_at(log: Path, line: int) -> str:
    """Return the summary of the session of a log as it was before a row of it."""
    with tempfile.TemporaryDirectory() as place, gzip.open(log, "rb") as rows:
        cut = Path(place, log.stem)
        cut.write_bytes(b"".join(islice(rows, line - 1)))
        archive = open_archive(Path(place, "a.db"))
        threads = [one.thread for one in import_sessions(archive, [cut]) if one.thread]
        return summarize(archive, ThreadKey(OWNER, threads[0]))


def _append(logs: Sequence[Path]) -> None:
    """Import a long log, and again after a request, an answer and another request."""
    with tempfile.TemporaryDirectory() as place:
        log, home = Path(place, f"{_SESSION}.jsonl"), Path(place, "home")
        size = _write_log(log, logs)
        request = {"type": "user", "sessionId": _SESSION, "message": {"role": "user"}}
        with open_archive(Path(place, "a.db")) as archive:
            for count in range(4):
                start = time.process_time()
                (one,) = import_sessions(archive, [log])
                archive.update_index(OWNER)
                taken = time.process_time() - start
                print(f"{size / 1e6:.0f} MB, {one.new:,} new messages: CPU {taken:.3f} s")
                row = {**request, "uuid": f"n{count}", "timestamp": f"2027-01-01T00:00:0{count}Z"}
                row["message"] = {"role": "user", "content": f"one more request, {count}"}
                with log.open("a") as file:
                    file.write(f"{json.dumps(row)}\n")
        event = {"hook_event_name": "Stop", "session_id": "s", "transcript_path": str(log)}
        for what in ("the whole log", "one row", "one row"):
            (home / "queue").mkdir(parents=True, exist_ok=True)
            hook.enqueue(str(home / "queue"), event)
            used = os.times()
            _run([sys.executable, "-m", "thalweg_recorder.worker", str(home)], "")
            after = os.times()
            cpu = after.children_user + after.children_system
            cpu -= used.children_user + used.children_system
            print(f"worker's process, {what}: CPU {cpu:.2f} s")
            with log.open("a") as file:
                file.write(f"{json.dumps({**row, 'uuid': what, 'timestamp': '2027-02'})}\n")


_SESSION = "5f1d3c1e-0000-4000-8000-000000000000"
_LOG_BYTES = 36_000_000


def _write_log(log: Path, logs: Sequence[Path]) -> int:
    """Write a session of `_LOG_BYTES` made of the rows of others; return its size in bytes."""
    size = 0
    with log.open("w", encoding="utf-8") as file:
        for copy, one in enumerate(cycle(logs)):
            for number, recorded in enumerate(open_source(one).objects):
                row = {**recorded, "sessionId": _SESSION}
                row |= {key: f"{row[key]}-{copy}" for key in ("uuid", "parentUuid") if row.get(key)}
                if "timestamp" in row:
                    row["timestamp"] = f"2026-01-01T{copy:04}:{number:06}Z"
                if isinstance(message := row.get("message"), dict) and "id" in message:
                    row["message"] = {**message, "id": f"{message['id']}-{copy}"}
                text = f"{json.dumps(row, ensure_ascii=False)}\n"
                size += len(text.encode())
                file.write(text)
                if size >= _LOG_BYTES:
                    return size
    return size


def _joined(text: str) -> str:
    return " ".join(text.split())


def _within_budget(texts: Sequence[str]) -> str:
    count, shown = exact_counter(), ""
    for text in texts:
        if count(shown + text) > TOKENS:
            break
        shown += f"{text}\n"
    return shown


def _timed(what: str, archive: Archive, needles: Sequence[Needle]) -> int:
    start = time.process_time()
    found = 0
    for needle in needles:
        hits = archive.search_threads(OWNER, needle.question)
        found += needle.answer in render_passages([hit.passage for hit in hits])
    print(f"{what}: CPU {(time.process_time() - start) / len(needles) * 1e3:.0f} ms a question")
    return found


def _grow(archive: Archive, size: int) -> None:
    """Add the sessions again as other threads until there are so many messages."""
    first = archive.threads(OWNER)
    count = sum(archive.length(ThreadKey(OWNER, name)) for name in first)
    k = 0
    while count < size:
        messages = archive.messages(ThreadKey(OWNER, first[k % len(first)]))
        key = ThreadKey(OWNER, f"copy-{size}-{k}")
        count = count + archive.append(key, [Logged(message) for message in messages])
        k += 1
    archive.update_index(OWNER)


def _hooks(folder: Path) -> None:
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "transcript_path": "/x"}
    stop = {**event, "hook_event_name": "Stop"}
    command = [sys.executable, "-I", "-S", hook.__file__, str(folder / "home")]
    bare = _latency(lambda: _run([sys.executable, "-I", "-S", "-c", ""], ""))
    print(f"python -I -S: {bare}")
    print(f"hook at a prompt: {_latency(lambda: _run(command, json.dumps(event)))}")
    for size in (1, 10):
        log = folder / f"{size}.jsonl"
        log.write_bytes(b" " * size * 1_000_000)
        given = json.dumps({**stop, "transcript_path": str(log)})
        took = _latency(partial(_run, command, given))
        print(f"hook at the end of a turn, log of {size} MB: {took}")


def _run(command: Sequence[str], given: str) -> None:
    subprocess.run(command, input=given, text=True, check=True)  # noqa: S603 (the hook)


def _latency(call: Callable[[], None]) -> str:
    times: list[float] = []
    used = os.times()
    for _ in range(HOOKS):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    after = os.times()
    cpu = (
        after.children_user + after.children_system - used.children_user - used.children_system
    ) / HOOKS
    times.sort()
    p50, p99 = statistics.median(times), times[int(HOOKS * 0.99) - 1]
    return f"p50 {p50:.0f} ms, p99 {p99:.0f} ms, CPU {cpu * 1e3:.0f} ms"


if __name__ == "__main__":
    main()
