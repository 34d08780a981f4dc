"""How often one search brings back the answer, on recorded threads.

    THALWEG_RECORDED=folder python benchmarks/archive_recall.py [--misses]

Needles: the answer's own words are in what a search by the question's words shows within
2,000 tokens. Conversations: the share of the evidence messages that are among the hits. Next
to each, the same with plain FTS5 (whole passages by bm25).
"""

import argparse
import gzip
import json
import os
import sqlite3
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg.archive import Logged, Passage, SqliteArchive, ThreadKey, render_passages
from thalweg.archive.search.index import split_passages
from thalweg.engine.entries import Message, Role, Text, ToolCall
from thalweg.engine.tokens import exact_counter
from thalweg.engine.transcript import as_text, speaker

BUDGET = 2_000
ABOUT_CHARS = 300
ROLES: dict[str, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


@dataclass(frozen=True, slots=True)
class Case:
    """A question about a recorded thread."""

    question: str
    answer: str = ""
    evidence: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Thread:
    """A recorded thread, with the line number of each message."""

    logged: list[Logged]
    lines: list[int]


def read_thread(path: Path) -> Thread:
    """Read a trajectory, without its compaction summaries."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    logged: list[Logged] = []
    lines: list[int] = []
    calls: dict[str, str] = {}
    for number, line in enumerate(raw.decode().splitlines()):
        item = json.loads(line)
        if (item.get("x") or {}).get("is_compact_summary"):
            continue
        message = read_message(item)
        calls.update((call.id, about(call)) for call in message.calls)
        logged.append(Logged(message, calls.get(message.answers, "")))
        lines.append(number)
    return Thread(logged, lines)


def read_message(item: dict[str, Any]) -> Message:
    """Read a message in OpenAI's chat form."""
    content = item.get("content") or []
    parts = [{"text": content}] if isinstance(content, str) else content
    texts = [Text(part["text"]) for part in parts if part.get("text")]
    calls = [
        ToolCall(call.get("id") or "", call["function"]["name"], call["function"]["arguments"])
        for call in item.get("tool_calls") or []
    ]
    return Message(
        ROLES[item["role"]],
        (*texts, *calls),
        answers=item.get("tool_call_id") or "",
        name=item.get("name") or "",
    )


def about(call: ToolCall) -> str:
    """Return what a result is about: its call on one line."""
    try:
        arguments = json.loads(call.arguments)
        values = " ".join(map(str, arguments.values()))
    except (ValueError, AttributeError):
        values = call.arguments
    return " ".join(f"{call.name} {values}".split())[:ABOUT_CHARS]


class Plain:
    """Whole passages by bm25: what search is without any ranking of our own."""

    def __init__(self, thread: Thread) -> None:
        self.db = sqlite3.connect(":memory:")
        self.db.execute(
            "CREATE VIRTUAL TABLE w USING fts5(text, about, position UNINDEXED,"
            " speaker UNINDEXED, start UNINDEXED, tokenize='porter unicode61')"
        )
        for position, logged in enumerate(thread.logged):
            rows = [
                (text, logged.about, position, speaker(logged.message), start)
                for start, text in split_passages(as_text(logged.message))
            ]
            self.db.executemany("INSERT INTO w VALUES (?, ?, ?, ?, ?)", rows)

    def search(self, query: str) -> list[Passage]:
        """Pack the best passages into the budget."""
        found = "".join(c if c.isalnum() else " " for c in query).split()
        match = " OR ".join(f'"{word}"' for word in found)
        count = exact_counter()
        chosen: list[Passage] = []
        for text, call, position, who, start in self.db.execute(
            "SELECT text, about, position, speaker, start FROM w WHERE w MATCH ?"
            " ORDER BY bm25(w) LIMIT 60",
            (match,),
        ):
            more = [*chosen, Passage(position, who, text, start, call[:100])]
            if count(render_passages(more)) <= BUDGET:
                chosen = more
        return chosen


def cases_of(recorded: Path, name: str) -> Iterator[tuple[Path, list[Case]]]:
    """Yield the questions of one file, by trajectory."""
    found: dict[str, list[Case]] = {}
    for line in (recorded / name).read_text().splitlines():
        item = json.loads(line)
        at = item["message_index"]
        evidence = tuple(at) if isinstance(at, list) else (at,)
        case = Case(item["question"], str(item.get("answer", "")), evidence)
        found.setdefault(item["trajectory"], []).append(case)
    folder = (recorded / name).parent / "trajectories"
    for trajectory, cases in found.items():
        yield next(folder.glob(f"{trajectory}.jsonl*")), cases


@dataclass(slots=True)
class Score:
    """What came of the questions of one file."""

    ours: list[float]
    plain: list[float]
    times_ms: list[float]
    tokens: list[int]


def run(recorded: Path, name: str, *, by_answer: bool, misses: bool, limit: int) -> Score:
    """Ask every question of a file."""
    score = Score([], [], [], [])
    for path, cases in cases_of(recorded, name):
        thread = read_thread(path)
        archive = SqliteArchive(":memory:")
        key = ThreadKey("bench", path.name)
        archive.append(key, thread.logged)
        archive.search(key, "index it")
        plain = Plain(thread)
        for case in cases[:limit]:
            if not case.evidence:
                continue
            start = time.process_time()
            found = archive.search(key, case.question, max_tokens=BUDGET)
            score.times_ms.append((time.process_time() - start) * 1_000)
            score.tokens.append(exact_counter()(render_passages(found)))
            score.ours.append(share(case, found, thread, by_answer=by_answer))
            score.plain.append(
                share(case, plain.search(case.question), thread, by_answer=by_answer)
            )
            if misses and score.ours[-1] < 1:
                note = "" if score.plain[-1] < 1 else "  (plain finds it)"
                print(f"  missed: {path.name}: {case.question} -> {case.answer}{note}")
        archive.close()
    return score


def share(case: Case, found: list[Passage], thread: Thread, *, by_answer: bool) -> float:
    """Return how much of what was asked for is among the hits."""
    if by_answer:
        return float(case.answer in render_passages(found))
    shown = {thread.lines[passage.position] for passage in found}
    return sum(line in shown for line in case.evidence) / len(case.evidence)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--misses", action="store_true", help="name the questions not answered")
    parser.add_argument("--limit", type=int, default=10_000, help="questions of a trajectory")
    parser.add_argument("--only", default="", help="only the file whose name has this in it")
    options = parser.parse_args()
    recorded = Path(os.environ.get("THALWEG_RECORDED", ""))
    if not (recorded / "needles.jsonl").is_file():
        print("set THALWEG_RECORDED to a folder of recorded threads", file=sys.stderr)
        return 0
    print(
        f"{'':28}{'questions':>10}{'ours':>9}{'plain':>9}{'cpu ms p50':>12}{'p95':>7}{'tokens':>8}"
    )
    for name, by_answer in (("needles.jsonl", True), ("nc/locomo_qa.jsonl", False)):
        if options.only not in name:
            continue
        score = run(recorded, name, by_answer=by_answer, misses=options.misses, limit=options.limit)
        times = sorted(score.times_ms)
        print(
            f"{name:28}{len(times):10}{statistics.mean(score.ours):9.1%}"
            f"{statistics.mean(score.plain):9.1%}{statistics.median(times):8.1f}"
            f"{times[int(len(times) * 0.95)]:7.1f}{statistics.mean(score.tokens):8.0f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
