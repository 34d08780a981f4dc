"""The report of a replay: one page that needs nothing but a browser."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from thalweg_recorder.pages import check_place, render_page, write_page
from thalweg_recorder.replay.payload import payload
from thalweg_recorder.replay.results import ReplayRun

SCRIPTS = ("data.js", "marks.js", "charts.js", "tables.js", "savings.js", "outline.js", "page.js")
"""The scripts of the page, in the order of its parts."""
_PAGE = files("thalweg_recorder.replay") / "page"


def write_report(runs: Sequence[ReplayRun], path: Path) -> None:
    """Write the report of these runs to a file, whole or not at all.

    Raises:
        ConfigError: The file cannot be written.
    """
    check_place(path)
    write_page(render_report(runs), path)


def render_report(runs: Sequence[ReplayRun]) -> str:
    """Return the page: deterministic, and without external references.

    Example:
        >>> render_report([]).startswith("<!doctype html>")
        True
    """
    return render_page("Thalweg replay", _PAGE, SCRIPTS, payload(runs))
