"""Output of the commands: lines and columns for people, or JSON for programs."""

import json
import sys
from collections.abc import Iterable
from typing import Any

from thalweg.engine.transcript import printable


def columns(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Align the cells of rows in columns.

    Example:
        >>> columns([("a", "1"), ("long", "2")])
        ['a     1', 'long  2']
    """
    all_rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*all_rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in all_rows
    ]


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one.

    Example:
        >>> count(1, "turn"), count(1_000, "turn")
        ('1 turn', '1,000 turns')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def one_line(text: str, max_chars: int) -> str:
    r"""Return a text on one line, safe for a terminal and cut to some characters.

    Example:
        >>> one_line("a text\nof two lines", 8)
        'a text …'
    """
    line = " ".join(printable(text).split())
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"


def print_result(
    lines: Iterable[str], json_value: dict[str, Any], *, as_json: bool, empty_message: str = ""
) -> None:
    """Print a result in one of two forms.

    Args:
        lines: For people.
        json_value: For programs.
        as_json: Whether it is for programs.
        empty_message: A sentence for people on stderr, if there are no lines.
    """
    if as_json:
        print_json(json_value)
        return
    all_lines = [*lines]
    print_lines(all_lines)
    if not all_lines and empty_message:
        sys.stderr.write(f"{empty_message}\n")


def print_lines(lines: Iterable[str]) -> None:
    """Print for people."""
    sys.stdout.writelines(f"{line}\n" for line in lines)


def print_json(value: dict[str, Any]) -> None:
    """Print for programs."""
    sys.stdout.write(json.dumps(value, indent=1) + "\n")
