"""Columns, counts and texts of one line, as every command prints them."""

from collections.abc import Iterable

from thalweg.engine.transcript import printable


def columns(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Align the cells of rows in columns.

    Example:
        >>> columns([("a", "1"), ("long", "2")])
        ['a     1', 'long  2']
    """
    every = list(rows)
    widths = [max(map(len, column)) for column in zip(*every, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in every
    ]


def count(number: int, what: str) -> str:
    """Return a number with its noun, in the plural unless it is one.

    Example:
        >>> count(1, "turn"), count(1_000, "turn")
        ('1 turn', '1,000 turns')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def one_line(text: str, most: int) -> str:
    r"""Return a text on one line, safe for a terminal and cut to some characters.

    Example:
        >>> one_line("a text\nof two lines", 8)
        'a text …'
    """
    line = " ".join(printable(text).split())
    return line if len(line) <= most else line[: most - 1] + "…"
