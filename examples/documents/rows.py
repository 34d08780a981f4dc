"""The rows of docs/deerflow-features.md: each a feature of the documents, and a function that runs it."""

from collections.abc import Callable
from typing import NamedTuple

Run = Callable[[], None]


class Row(NamedTuple):
    """One feature of the documents."""

    number: int
    feature: str
    here: str
    """`as written`, or `different: …` with the setting that makes it as written, if there is one."""
    run: Run


ROWS: dict[int, Row] = {}
COMMAND = "uv run python examples/documents"
SECTIONS = {
    1: "Summaries and the window (DeerFlow)",
    22: "Memory (DeerFlow)",
    53: "Subagents and files (DeerFlow)",
    79: "Memory for users (DeerFlow)",
    102: "Recall by likeness (DeerFlow)",
    113: "Context of Deep Agents",
    149: "Evals of Deep Agents",
}
"""Headings of the table, by the number of the row that each begins with."""


class RowError(Exception):
    """What a row shows is not what it states."""


def row(number: int, feature: str, here: str = "as written") -> Callable[[Run], Run]:
    """Register a function as the command of a row. It prints what it sees, with `seen`."""

    def register(run: Run) -> Run:
        if number in ROWS:
            problem = f"row {number} has two functions: {ROWS[number].run.__name__}, {run.__name__}"
            raise ValueError(problem)
        ROWS[number] = Row(number, feature, here, run)
        return run

    return register


def seen(what: str, value: object, expected: object = True) -> None:
    """Print an observation.

    Args:
        what: What is observed.
        value: The observed value.
        expected: The value that the row states.

    Raises:
        RowError: The values differ.
    """
    print(f"    {what}: {'yes' if value is True else value}")
    if value != expected:
        problem = f"{what}: {value!r}, not {expected!r}"
        raise RowError(problem)


def table() -> str:
    """Return the part of docs/deerflow-features.md that lists the rows."""
    different = [row for row in ROWS.values() if row.here.startswith("different")]
    settable = sum("as written" in row.here for row in different)
    lines = [
        f"Of {len(ROWS)}, {len(ROWS) - len(different)} are as written (some of them with a setting "
        f"that the row names) and {len(different)} are different: {settable} with a setting that "
        f"makes it as written, {len(different) - settable} without one.",
    ]
    for number in sorted(ROWS):
        if number in SECTIONS:
            head = "| # | feature | here | command |"
            lines += ["", f"## {SECTIONS[number]}", "", head, "|---|---|---|---|"]
        row = ROWS[number]
        cells = (str(number), row.feature, row.here, f"`{COMMAND} {number}`")
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines) + "\n"
