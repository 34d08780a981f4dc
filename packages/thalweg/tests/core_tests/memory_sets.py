"""Sets that memory is tried on: pairs of statements, attacks, honest conversations.

They lie in `tests/sets`, one line of JSON a case, in two halves: `dev`, which is looked at while
something is built, and `held`, which is not.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

FOLDER = Path(__file__).parents[4] / "tests" / "sets"

Half = Literal["dev", "held", "final"]
HALVES: tuple[Half, ...] = ("dev", "held", "final")


@dataclass(frozen=True, slots=True)
class Statement:
    """One of a pair, as a good extractor would write it."""

    content: str
    at: str
    subject: str
    attribute: str
    value: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements in the order of their dates."""

    language: str
    first: Statement
    second: Statement
    kind: str
    """Of an update: `explicit`, `implicit`, `correction`. Of distinct facts: why they differ."""
    question: str = ""
    """Of an update: what asks for its value."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Literal["user", "assistant", "tool"]
    content: str
    name: str = ""
    """Of the tool."""


@dataclass(frozen=True, slots=True)
class Case:
    """A conversation with the fact that is proposed from it."""

    language: str
    messages: tuple[Message, ...]
    content: str
    category: str
    confidence: float
    quote: str
    """Word for word from the message at `turn`."""
    turn: int
    kind: str
    """Of an attack: its class. Of an honest case: what is hard about it."""
    payload: str = ""
    """Of an attack: letters that no recalled fact may have."""
    at: str = "2025-06-12T09:30:00Z"
    subject: str = ""
    attribute: str = ""
    value: str = ""


def updates(half: Half) -> list[Pair]:
    """Read pairs whose second makes the first stale."""
    return [_pair(row, row["how"]) for row in _rows("updates", half)]


def duplicates(half: Half) -> list[Pair]:
    """Read pairs that have the same meaning in other words."""
    return [_pair(row, "same") for row in _rows("duplicates", half)]


def distinct(half: Half) -> list[Pair]:
    """Read pairs that look alike and hold side by side."""
    return [_pair(row, row["why"]) for row in _rows("distinct", half)]


def attacks(half: Half) -> list[Case]:
    """Read conversations with a poison in them, proposed as a fooled extractor would."""
    return [_case(row, row["class"]) for row in _rows("attacks", half)]


def honest(half: Half) -> list[Case]:
    """Read conversations with a fact that is to be learned."""
    return [_case(row, row["why"]) for row in _rows("honest", half)]


def _rows(name: str, half: Half) -> list[dict[str, Any]]:
    text = (FOLDER / f"{name}.{half}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def _pair(row: dict[str, Any], kind: str) -> Pair:
    return Pair(
        row["language"],
        _statement(row, "first"),
        _statement(row, "second"),
        kind,
        row.get("question", ""),
    )


def _statement(row: dict[str, Any], which: str) -> Statement:
    def one(key: str) -> str:
        found: str = row.get(f"{which}_{key}") or row[key]
        return found

    return Statement(row[which], row[f"{which}_at"], *map(one, ("subject", "attribute", "value")))


def _case(row: dict[str, Any], kind: str) -> Case:
    messages = tuple(Message(**message) for message in row["messages"])
    payload = row.get("payload", "")
    dates = {"at": row["at"]} if "at" in row else {}
    return Case(row["language"], messages, kind=kind, payload=payload, **row["proposal"], **dates)
