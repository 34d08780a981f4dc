"""The report of results: one page that needs nothing but a browser."""

from collections.abc import Sequence
from pathlib import Path

from thalweg.evals.results import Result
from thalweg.pages.places import write_page


def write_report(results: Sequence[Result], path: Path) -> None:
    """Write the report of these results to a file, whole or not at all."""
    write_page("\n".join(f"{one.key}: {one.verdict}" for one in results), path)
