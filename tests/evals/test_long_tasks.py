"""The probes about long tasks fail where what they ask about is broken, and not before.

The model of these tests writes summaries that say nothing, so that what it still knows after a
compaction was kept by the engine: the newest request, the record, the archive.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.evals.long_tasks import tried
from thalweg.context import record as records
from thalweg.context.fold import Record
from thalweg.context.scene import Scene
from thalweg.middleware import tools

Break = Callable[[pytest.MonkeyPatch], None]


def goalless(patch: pytest.MonkeyPatch) -> None:
    """Let a fold keep no request: neither the newest as it was said, nor others in the record."""
    patch.setattr(Scene, "latest_request", None)
    patch.setattr(records, "_requests", lambda *_: [])


def without_progress(patch: pytest.MonkeyPatch) -> None:
    """Leave out of the record what was done."""
    written = records.render

    def render(record: Record, **given: object) -> str:
        bare = replace(record, runs=(), notes=(), names=(), files={})
        return written(bare, **given)  # type: ignore[arg-type]

    patch.setattr("thalweg.context.plan.render", render)


def unreadable(patch: pytest.MonkeyPatch) -> None:
    """Let nothing be read back from the archive."""
    patch.setattr(tools, "recall", lambda *_, **__: "Nothing was found.")


def both(*breaks: Break) -> Break:
    """Break several things."""

    def apply(patch: pytest.MonkeyPatch) -> None:
        for one in breaks:
            one(patch)

    return apply


CASES = [
    ("objective", "5"),
    ("clarification", "said_once"),
    ("clarification", "changed"),
    ("continuing", "2"),
    ("premature", "2"),
]


@pytest.mark.parametrize(("probe", "variant"), CASES)
@pytest.mark.parametrize("harmed", [None, without_progress, goalless])
def test_a_model_that_can_look_passes_as_long_as_the_archive_can_be_read(
    probe: str, variant: str, harmed: Break | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one mechanism loses, the other brings back: neither alone is what the probe hangs on."""
    if harmed is not None:
        harmed(monkeypatch)
    score, _ = tried(probe, variant, tmp_path)

    assert (score.verdict, score.value or 0) == ("passed", score.value or 0), score.why
