"""The probe of artifacts sees a trail that is lost."""

import re

import pytest

from evals_tests.evals.played import played
from thalweg.archive.recalled_media import Recalled
from thalweg.context.turn import context_tools
from thalweg.engine.compaction import summary_rendering

VARIANTS = ("which", "state", "change")


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_trail_holds(variant: str) -> None:
    result = played(f"artifacts/{variant}")

    assert result.verdict == "passed", result.why


@pytest.mark.parametrize(
    ("variant", "why"),
    [
        ("which", "/berths/[a-z0-9]+.txt was not reported"),
        ("state", r"berth \d+ of the \w+ was not reported"),
        ("change", r"the file of the \w+ is 'ship: "),
    ],
)
def test_a_record_without_files_and_a_recall_that_finds_nothing_lose_the_trail(
    variant: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary_rendering, "_sections", lambda *_: [])
    monkeypatch.setattr(summary_rendering, "_summary_text", lambda *_: "")
    nothing = Recalled("Nothing was found.")
    monkeypatch.setattr(context_tools, "recall_content", lambda *_, **__: nothing)

    result = played(f"artifacts/{variant}")

    assert result.verdict == "failed", result.why
    assert re.search(why, result.why), result.why


@pytest.mark.parametrize("variant", VARIANTS)
def test_recall_alone_brings_the_trail_back(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary_rendering, "_sections", lambda *_: [])
    monkeypatch.setattr(summary_rendering, "_summary_text", lambda *_: "")

    result = played(f"artifacts/{variant}")

    assert result.verdict == "passed", result.why
    assert any(call.name == "recall" for _, call in result.trace.calls())
