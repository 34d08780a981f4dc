"""Output of the commands: lines and tables for people, or JSON for programs.

Two rules of tables: no word is broken and no cell is cut; in a pipe a row is one line with every
column, also if `COLUMNS` is exported.
"""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from shutil import get_terminal_size
from typing import Any, TextIO
from unicodedata import category, east_asian_width

from thalweg.engine.transcript import clip, printable

_GAP = 2
"""Cells between two columns."""
_LEAST_TEXT = 20
"""Cells that the text of a row has behind other columns; where fewer are left, it is below them."""
_STYLE = re.compile(r"\x1b\[[\d;]*m")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        title: Its heading.
        is_number: Whether its cells are aligned to the right.
        rank: Where columns do not fit, those of the highest rank are omitted first; 0 is never.
    """

    title: str
    is_number: bool = False
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table, with lines around it.

    Attributes:
        cells: One for each column; the last one wraps at spaces if it is not a number.
        above: A line before the row; empty for none.
        below: Lines after the row, as they are.
    """

    cells: Sequence[str]
    above: str = ""
    below: Sequence[str] = ()


def terminal_width(stream: TextIO | None = None) -> int | None:
    """Return the columns of the terminal, which `COLUMNS` overrides; `None` in a pipe.

    Args:
        stream: Where it is written. Default: stdout.
    """
    return get_terminal_size().columns if (stream or sys.stdout).isatty() else None


def styled(text: str, code: int) -> str:
    """Return a text in a style of ANSI on a terminal (0 is none, 1 bold, 31 red), else as it is."""
    is_plain = not sys.stdout.isatty() or os.environ.get("NO_COLOR")
    return text if is_plain or not (text and code) else f"\x1b[{code}m{text}\x1b[0m"


def cell_width(text: str) -> int:
    """Return the cells that a text takes on a terminal.

    Example:
        >>> cell_width("heron"), cell_width("苍鹭"), cell_width("นกกระสาที่")
        (5, 4, 8)
    """
    return sum(map(_cells, _STYLE.sub("", text)))


def _cells(c: str) -> int:
    """Return the cells of a character: none for one that is drawn over another or is invisible."""
    return 0 if category(c) in {"Mn", "Me", "Cf"} else 1 + (east_asian_width(c) in "WF")


def fold(text: str, indent: str = "", width: int | None = None) -> list[str]:
    """Return a text in lines that fit, all with an indentation.

    It is broken at spaces, and between two wide characters, whose scripts have no spaces.

    Args:
        text: One line; spaces at its beginning are further indentation.
        indent: The indentation.
        width: Cells of a line; by default those of the terminal. A pipe has lines of any length.

    Example:
        >>> fold("herons and walruses", "  ", 10)
        ['  herons', '  and', '  walruses']
    """
    width = terminal_width() if width is None else width
    if width is None or cell_width(text) + len(indent) <= width:
        return [f"{indent}{text}"]
    indent += text[: len(text) - len(text.lstrip())]
    lines = [""]
    for part in _parts(text.strip()):
        if lines[-1] and cell_width(lines[-1] + part) > width - len(indent):
            lines.append(part.lstrip())
        else:
            lines[-1] += part
    return [f"{indent}{line}" for line in lines]


def _parts(text: str) -> Iterator[str]:
    """Yield the parts between which a text may be broken, each with the spaces before it."""
    start = 0
    for at in range(1, len(text)):
        if text[at - 1] != " " == text[at] or min(map(_cells, text[at - 1 : at + 1])) > 1:
            yield text[start:at]
            start = at
    yield text[start:]


def table(
    rows: Iterable[Row | Sequence[str]],
    columns: Sequence[Column] = (),
    legend: Iterable[tuple[str, str]] = (),
) -> list[str]:
    """Return the lines of a table, as wide as the terminal at most.

    Columns of numbers that do not fit and are not omitted follow in a second table with the first
    column again; a text is below its row where it has no room. A last line names omitted columns.

    Args:
        rows: The rows, or their cells.
        columns: The columns; without them there is no heading.
        legend: Titles of columns with their meanings; those of omitted columns are left out.

    Example:
        >>> table([("t1", "1,200")], [Column("thread"), Column("tokens", is_number=True)])
        ['thread  tokens', 't1       1,200']
    """
    own_rows = [row if isinstance(row, Row) else Row(row) for row in rows]
    heading = [Row([styled(column.title, 1) for column in columns])] if columns else []
    if not (all_rows := heading + own_rows):
        return []
    columns = columns or [Column("")] * len(own_rows[0].cells)
    cells = [[cell_width(row.cells[at]) for row in all_rows] for at in range(len(columns))]
    widths = [*map(max, cells)]
    least, width, places = [*widths], terminal_width(), [*range(len(columns))]
    if not columns[-1].is_number:
        least[-1] = min(_LEAST_TEXT, least[-1])

    def is_too_wide() -> bool:
        return width is not None and sum(least[at] + _GAP for at in places) - _GAP > width

    for at in sorted(places, key=lambda at: -columns[at].rank):
        if columns[at].rank and is_too_wide():
            places.remove(at)
    omitted = [column.title for at, column in enumerate(columns) if at not in places]
    later: list[int] = []
    while columns[-1].is_number and places[2:] and is_too_wide():
        later.insert(0, places.pop())
    lines = [*_lines(all_rows, columns, widths, places)]
    if later:
        others = [0, *later]
        rest = (Row([row.cells[at] for at in others], above=row.above) for row in own_rows)
        lines += ["", *table(rest, [columns[at] for at in others])]
    if meanings := table([line for line in legend if line[0] not in omitted]):
        lines += ["", *meanings]
    return lines + (fold(f"Hidden: {', '.join(omitted)}.") if omitted else [])


def _lines(
    rows: Sequence[Row], columns: Sequence[Column], widths: Sequence[int], places: Sequence[int]
) -> Iterator[str]:
    """Yield rows with these columns; the last one wraps, or is below a row that has a long word."""
    head, text = (places, None) if columns[places[-1]].is_number else (places[:-1], places[-1])
    start, width = sum(widths[at] + _GAP for at in head), terminal_width()
    room = None if width is None else max(1, width - start)
    texts = ["" if text is None else row.cells[text] for row in rows]
    least = min(_LEAST_TEXT, widths[places[-1]])
    for row, cell in zip(rows, texts, strict=True):
        longest = max(least, *(cell_width(part.strip()) for part in _parts(cell)))
        is_below = bool(head) and text is not None and room is not None and longest > room
        yield from fold(row.above) if row.above else ()
        first, *more = [""] if is_below else fold(cell, "", room)
        line = ""
        for at in head:
            space = " " * (widths[at] - cell_width(row.cells[at]))
            line += space + row.cells[at] if columns[at].is_number else row.cells[at] + space
            line += " " * _GAP
        yield f"{line}{first}".rstrip()
        yield from (f"{' ' * start}{line}" for line in more)
        yield from fold(cell, " " * _GAP) if is_below and cell else ()
        yield from row.below


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
    return clip(" ".join(printable(text).split()), max_chars)


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


def print_note(text: str) -> None:
    """Print sentences for people on stderr, their lines broken at spaces if that is a terminal.

    A line that has a command, of an installer or of ours, stays whole, so that it can be copied.
    """
    width = terminal_width(sys.stderr)
    for line in text.splitlines():
        has_command = " install " in line or "thalweg " in line.removeprefix("thalweg: ")
        folded = fold(line, "", width) if width and not has_command else [line]
        sys.stderr.writelines(f"{part}\n" for part in folded)


def print_lines(lines: Iterable[str]) -> None:
    """Print for people."""
    sys.stdout.writelines(f"{line}\n" for line in lines)


def print_json(value: dict[str, Any]) -> None:
    """Print for programs."""
    sys.stdout.write(json.dumps(value, indent=1) + "\n")
