"""No picture is stale: each shows the figures of today, and a command draws it."""

import json
from pathlib import Path

import pytest

from scripts.pictures import DOCS, PICTURES, stored
from scripts.report_picture import MEASURED, RECORDED, SESSION, replayed_lines


def test_every_picture_has_a_command() -> None:
    drawn = {path.name for kind in ("png", "svg") for path in DOCS.rglob(f"*.{kind}")}

    assert drawn == set(PICTURES) == set(stored())


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_shows_the_figures_of_today(name: str) -> None:
    """After a change of the figures, run its command, then `python -m scripts.pictures NAME`."""
    assert stored()[name] == PICTURES[name].digest, PICTURES[name].command


@pytest.mark.slow
@pytest.mark.nightly
def test_the_session_of_readme_is_as_measured(tmp_path: Path) -> None:
    """Otherwise run `python -m scripts.report_picture`, and write its figures into README."""
    if not RECORDED.is_dir():
        pytest.skip(f"no recorded threads at {RECORDED}; set THALWEG_RECORDED")
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    assert replayed_lines(SESSION, tmp_path / "report.html") == measured[SESSION]
