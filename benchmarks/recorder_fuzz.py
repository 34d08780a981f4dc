"""Fuzz the readers of agents' logs: 20,000 mutants of every format, opencode's database included.

    uv run python -m benchmarks.recorder_fuzz [--mutants 20000] [--seed 1] [FOLDER…]

A mutant has one to three values of a log replaced by null, a list, a number and so on, or removed,
or lines cut, doubled or exchanged. It must be read, or refused with a `RecordingError` that names
it: any other error is a crash. Of a mutant that is read, each text of a message, found with `json`
alone (`benchmarks.agent_logs`), is in the recording, or the recording notes or counts one more row
that it did not read: else it is a silent loss. The exit code is 0 without crashes and losses.
"""

import argparse
import json
import random
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.agent_logs import count, missing, rows_of
from thalweg.errors import RecordingError
from thalweg_recorder.recordings import Recording, read_recording
from thalweg_recorder.recordings.files import sessions_in

LOGS = Path("packages/thalweg-recorder/tests/recorder_tests/agent_logs")
VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1e300,
    "",
    "x",
    [],
    {},
    [None],
    {"type": []},
    [[]],
    "\0",
)
SCHEMA = """
CREATE TABLE session(id TEXT, directory TEXT, title TEXT, version TEXT, time_created, time_updated,
    parent_id TEXT);
CREATE TABLE message(id TEXT, session_id TEXT, time_created, time_updated, data);
CREATE TABLE part(id TEXT, message_id TEXT, session_id TEXT, time_created, time_updated, data);
"""
ROWS = [
    ("message", "m1", {"role": "user", "time": {"created": 1}}),
    ("part", "m1", {"type": "text", "text": "the request about the heron"}),
    (
        "message",
        "m2",
        {"role": "assistant", "modelID": "m", "time": {"created": 2, "completed": 3}},
    ),
    ("part", "m2", {"type": "reasoning", "text": "a thought about the heron", "time": {"end": 3}}),
    (
        "part",
        "m2",
        {
            "type": "tool",
            "tool": "bash",
            "callID": "c1",
            "state": {"status": "completed", "input": {"a": 1}, "output": "the ring of the heron"},
        },
    ),
    ("part", "m2", {"type": "text", "text": "the answer about the heron", "time": {"end": 3}}),
]
"""Rows of a session in opencode's database: table, message, data."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What is not read of a log as it is."""

    unread: Counter[str] = field(default_factory=Counter)
    lost: frozenset[str] = frozenset()


def mutate(value: Any, dice: random.Random) -> Any:  # noqa: ANN401 (any JSON)
    """Replace or remove one value somewhere inside."""
    inner = [*value.items()] if isinstance(value, dict) else []
    inner = [*enumerate(value)] if isinstance(value, list) else inner
    if not inner or not dice.randrange(7):
        return dice.choice(VALUES)
    key, one = dice.choice(inner)
    changed = value.copy()
    if not dice.randrange(10):
        del changed[key]
    else:
        changed[key] = mutate(one, dice)
    return changed


def mutate_text(text: str, dice: random.Random) -> str:
    """Mutate the values of some lines, and now and then the lines themselves."""
    lines = text.splitlines()
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(lines))
        match dice.randrange(8):
            case 0:
                lines[at] = lines[at][: dice.randrange(len(lines[at]) + 1)]
            case 1:
                lines.insert(at, dice.choice(lines))
            case 2:
                other = dice.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case _:
                try:
                    lines[at] = json.dumps(mutate(json.loads(lines[at]), dice))
                except ValueError:
                    lines[at] = "{"
    return "\n".join(lines)


def write_database(path: Path, dice: random.Random) -> list[Any]:
    """Write a database with mutated rows; return its data as JSON values."""
    path.unlink(missing_ok=True)
    kept = []
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(SCHEMA)
        session: list[Any] = ["s1", "/src", "Birds", "1.18", 1, 2]
        if not dice.randrange(5):
            session[dice.randrange(1, 6)] = dice.choice([None, 5, b"\xff", "x"])
        db.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, NULL)", session)
        chosen = dice.sample(range(len(ROWS)), dice.randint(1, 3))
        for number, (table, message, data) in enumerate(ROWS):
            value = mutate(data, dice) if number in chosen else data
            text: Any = json.dumps(value)
            if number in chosen and not dice.randrange(10):
                text = dice.choice(["{", "", 7, b"\xff", "null"])
            else:
                kept.append(value)
            when = dice.choice([number, number, "x", None])
            row = (message, "s1") if table == "message" else (f"p{number}", message, "s1")
            marks = ", ".join("?" * (len(row) + 3))
            db.execute(f"INSERT INTO {table} VALUES ({marks})", (*row, when, when, text))  # noqa: S608 (ours)
    return kept


def write_log(folder: Path, log: Path, text: str) -> Path:
    """Write a log; one of OpenHands as a conversation, if its name says so."""
    path = folder / log.name
    if log.suffix:
        path.write_text(text)
        return path
    shutil.rmtree(path, ignore_errors=True)
    (path / "events").mkdir(parents=True)
    state, *events = text.splitlines()
    for number, event in enumerate(events):
        (path / "events" / f"event-{number:05}.json").write_text(event)
    (path / "base_state.json").write_text(state)
    return path / "base_state.json"


def unread(recordings: Sequence[Recording]) -> Counter[str]:
    """Count the notes of recordings by their code, and the rows that are no messages by kind."""
    counts = Counter(note.code for one in recordings for note in one.notes)
    return sum((Counter(one.left_out) for one in recordings), counts)


def lost_of(rows: list[Any], recordings: Sequence[Recording]) -> set[str]:
    """Return the texts of a log that none of its recordings has."""
    counted = count(rows)
    return set.intersection(*({*missing(counted, one)[2]} for one in recordings))


def outcome_of(path: Path, rows: list[Any], expected: Baseline) -> str:
    """Read a mutant and say what became of it."""
    try:
        recordings = [*map(read_recording, sessions_in(path))]
        lost = {text for text in lost_of(rows, recordings) if text not in expected.lost}
    except RecordingError as error:
        return "crashed inside" if "report it as a bug" in str(error) else "refused"
    except Exception as error:  # noqa: BLE001 (what is looked for)
        return f"crashed: {type(error).__name__}"
    is_noted = bool(unread(recordings) - expected.unread)
    return "lost silently" if lost and not is_noted else "read"


def main() -> int:
    """Run the mutants and print the figures by log."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--mutants", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    dice, figures = random.Random(options.seed), Counter[tuple[str, str]]()  # noqa: S311 (a fuzzer)
    folders = options.folders or [LOGS]
    logs = [p for f in folders for p in sorted(f.rglob("*")) if p.suffix in {".jsonl", ".md"}]
    texts = {log: log.read_text("utf-8", "replace") for log in logs}
    texts |= {log.with_suffix(""): texts[log] for log in logs if log.stem == "openhands"}
    with tempfile.TemporaryDirectory() as temporary:
        folder, expected = Path(temporary), {}
        for log, text in texts.items():
            path = write_log(folder, log, text)
            recordings = [*map(read_recording, sessions_in(path))]
            lost = frozenset(lost_of(rows_of(path), recordings))
            expected[log.name] = Baseline(unread(recordings), lost)
        for _ in range(options.mutants):
            log = dice.choice([*texts, Path("opencode.db")])
            if log in texts:
                path = write_log(folder, log, mutate_text(texts[log], dice))
                rows = rows_of(path)
            else:
                rows = write_database(path := folder / log.name, dice)
            outcome = outcome_of(path, rows, expected.get(log.name, Baseline()))
            figures[log.name, outcome] += 1
            if outcome not in {"read", "refused"}:
                kept = Path(
                    tempfile.gettempdir(), f"mutant-{figures[log.name, outcome]}-{log.name}"
                )
                (shutil.copytree if path.name == "base_state.json" else shutil.copy)(
                    path.parent if path.name == "base_state.json" else path, kept
                )
                sys.stdout.write(f"{outcome}: {kept}\n")
    for (name, outcome), number in sorted(figures.items()):
        sys.stdout.write(f"{number:>7,}  {outcome:<15} {name}\n")
    return int(any(outcome not in {"read", "refused"} for _, outcome in figures))


if __name__ == "__main__":
    raise SystemExit(main())
