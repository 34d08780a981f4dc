"""The dollars of each recorded session are the sum of the usage rows of its log.

The rows are read here without any reader of the recorder, and priced from the dollars below.
"""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from core_tests.archives import archive_in_memory
from core_tests.recorded import RECORDED, WHY_SKIPPED
from thalweg_recorder import RecordedSession, import_sessions, list_sessions

ORIGINALS = RECORDED / "originals"
DOLLARS = {
    "claude-opus-4-5-20251101": (5, 0.5, 6.25, 10, 25),
    "claude-opus-4-6": (5, 0.5, 6.25, 10, 25),
    "claude-sonnet-4-5-20250929": (3, 0.3, 3.75, 6, 15),
    "claude-sonnet-4-5": (3, 0.3, 3.75, 6, 15),
    "gemini-2.5-flash": (0.3, 0.03, 0.3, 0.3, 2.5),
}
"""For a million tokens: input, cache reads, writes for five minutes and an hour, output."""
TEXT_LIMIT = 200_000
"""Claude Sonnet 4.5 costs 2 times the input and 1.5 times the output above this input."""
NAMES = sorted(
    path.name.partition(".")[0]
    for pattern in ("cc-*", "pi-*", "gemini-*")
    for path in ORIGINALS.glob(pattern)
)

pytestmark = pytest.mark.skipif(not NAMES, reason=WHY_SKIPPED)

Tokens = tuple[int, int, int, int, int]
"""Plain input, cache reads, writes for five minutes and an hour, output."""


@cache
def original(name: str) -> bytes:
    """Return the log of a session."""
    (path,) = ORIGINALS.glob(f"{name}.orig.*")
    return gzip.decompress(path.read_bytes())


def _rows(log: bytes) -> Iterator[dict[str, Any]]:
    for line in log.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            yield row


def answers_of(name: str) -> list[tuple[str, Tokens]]:
    """Return the model and the tokens of each answer, from the rows of a log."""
    log = original(name)
    if name.startswith("cc-"):
        return list(_claude(log).values())
    return list(_pi(log) if name.startswith("pi-") else _gemini(log))


def _claude(log: bytes) -> dict[str, tuple[str, Tokens]]:
    last: dict[str, tuple[str, Tokens]] = {}
    for row in _rows(log):
        if row.get("type") != "assistant" or row.get("isSidechain"):
            continue
        message = row["message"]
        usage = message["usage"]
        long = usage.get("cache_creation", {}).get("ephemeral_1h_input_tokens", 0)
        written = usage.get("cache_creation_input_tokens", 0)
        read = usage.get("cache_read_input_tokens", 0)
        tokens = usage["input_tokens"], read, written - long, long, usage["output_tokens"]
        last[message["id"]] = message["model"], tokens
    return last


def _pi(log: bytes) -> Iterator[tuple[str, Tokens]]:
    for row in _rows(log):
        message = row.get("message", {})
        if usage := message.get("usage"):
            cached, written = usage["cacheRead"], usage["cacheWrite"]
            yield message["model"], (usage["input"], cached, written, 0, usage["output"])


def _gemini(log: bytes) -> Iterator[tuple[str, Tokens]]:
    for message in json.loads(log)["messages"]:
        if tokens := message.get("tokens"):
            cached, output = tokens["cached"], tokens["output"] + tokens["thoughts"]
            yield message["model"], (tokens["input"] - cached, cached, 0, 0, output)


def dollars_of(model: str, tokens: Tokens) -> float:
    """Price one answer by hand."""
    if not any(tokens):
        return 0.0
    prices = DOLLARS[model]
    is_long = "sonnet-4-5" in model and sum(tokens[:4]) > TEXT_LIMIT
    factors = (2, 2, 2, 2, 1.5) if is_long else (1,) * 5
    return sum(n * p * f for n, p, f in zip(tokens, prices, factors, strict=True)) / 1e6


def imported(name: str, folder: Path) -> RecordedSession:
    """Import the log of a session, and return what `thalweg record search` lists."""
    ending = "json" if name.startswith("gemini-") else "jsonl"
    path = folder / f"{name}.{ending}"
    path.write_bytes(original(name))
    archive = archive_in_memory()
    (done,) = import_sessions(archive, [path])
    assert not done.error
    ((_, session),) = list_sessions(archive)
    return session


@pytest.mark.parametrize("name", NAMES)
def test_dollars_are_the_sum_of_the_usage_rows(name: str, tmp_path: Path) -> None:
    answers = answers_of(name)
    session = imported(name, tmp_path)

    assert session.cost == pytest.approx(sum(dollars_of(*one) for one in answers), rel=0.01)
    counted = [tokens for _, tokens in answers if any(tokens)]
    assert session.total.calls == len(counted)
    assert session.total.written_long == sum(tokens[3] for tokens in counted)
    assert session.total.output == sum(tokens[4] for tokens in counted)
