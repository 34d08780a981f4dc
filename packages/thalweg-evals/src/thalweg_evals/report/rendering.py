"""Render and write the page."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from thalweg_evals.report.payload import payload
from thalweg_evals.results import Result
from thalweg_recorder.pages import check_place, render_page, write_page

SCRIPTS = ("data.js", "choosing.js", "rates.js", "figure.js", "failures.js", "costs.js", "page.js")
"""The parts of the page's script, in order."""
_PAGE = files("thalweg_evals.report") / "page"


def write_report(results: Sequence[Result], path: Path) -> None:
    """Write the report of these results to a file, whole or not at all.

    Raises:
        ConfigError: The file cannot be written.
    """
    check_place(path)
    write_page(render_report(results), path)


def render_report(results: Sequence[Result]) -> str:
    """Render the page: equal results render an equal page, without external references.

    Example:
        >>> render_report([]).startswith("<!doctype html>")
        True
    """
    return render_page("Thalweg evaluation", _PAGE, SCRIPTS, payload(results))
