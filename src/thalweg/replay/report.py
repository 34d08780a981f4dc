"""The report of a replay: one page that needs nothing but a browser."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from thalweg.pages import check_place, render_page, write_page
from thalweg.replay.payload import payload
from thalweg.replay.results import Run

SCRIPTS = ("data.js", "marks.js", "charts.js", "tables.js", "savings.js", "outline.js", "page.js")
"""The script of the page, in the order in which the parts stand."""
_PAGE = files("thalweg.replay") / "page"


def write_report(runs: Sequence[Run], path: Path) -> None:
    """Write the report of these runs to a file, whole or not at all.

    Raises:
        ConfigError: The file cannot be written.
    """
    check_place(path)
    write_page(render_report(runs), path)


def render_report(runs: Sequence[Run]) -> str:
    """Make the page: equal runs give an equal page, and nothing in it points elsewhere.

    Example:
        >>> render_report([]).startswith("<!doctype html>")
        True
    """
    return render_page("Thalweg replay", _PAGE, SCRIPTS, payload(runs))
