"""Tables fit a terminal without a broken word or a hidden cost; a pipe has everything."""

import io
import re
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_tests.terminals import terminal
from thalweg.cli.printing import Column, Row, cell_width, fold, styled, table

COLUMNS = [
    Column("newest"),
    Column("calls", is_number=True, rank=2),
    Column("kind", rank=1),
    Column("cost", is_number=True),
    Column("title"),
]
WORDS = "Refactoring the trailer of a very long request"
ROWS = [
    Row(("2026-11-29 15:00", "12", "codex", "$1,234.56", WORDS), below=["  /src/shop"]),
    Row(("2026-11-29 16:00", "3", "pi", "-", "苍鹭")),
]


def lines_at(width: int | None) -> list[str]:
    with terminal(width):
        return table(ROWS, COLUMNS)


def test_in_a_pipe_a_row_is_one_line_with_every_column() -> None:
    """Also if a shell exports `COLUMNS`."""
    assert lines_at(None) == [
        "newest            calls  kind        cost  title",
        f"2026-11-29 15:00     12  codex  $1,234.56  {WORDS}",
        "  /src/shop",
        "2026-11-29 16:00      3  pi             -  苍鹭",
    ]


def test_a_terminal_wraps_the_text_and_names_the_columns_that_it_omits() -> None:
    assert lines_at(66)[1:4] == [
        "2026-11-29 15:00     12  codex  $1,234.56  Refactoring the trailer",
        "                                           of a very long request",
        "  /src/shop",
    ]
    lines = lines_at(50)
    assert lines[:3] == [
        "newest                 cost  title",
        "2026-11-29 15:00  $1,234.56  Refactoring the",
        "                             trailer of a very",
    ]
    assert lines[-1] == "Hidden: calls, kind."


def test_a_word_that_does_not_fit_is_below_its_row() -> None:
    thread = "0b3c9a4e-aaaa-bbbb-cccc-1234567890ab"
    with terminal(30):
        lines = table([("1,200", "-", thread)], [*map(Column, ("messages", "calls", "thread"))])
    assert lines == ["messages  calls", "  thread", "1,200     -", f"  {thread}"]


def test_a_long_word_moves_the_text_of_its_own_row_alone() -> None:
    path = "/src/shop/trailers/of/every/request.py"
    with terminal(40):
        lines = table([("1,200", path), ("3", "a short text")], [*map(Column, ("calls", "title"))])
    assert lines == ["calls  title", "1,200", f"  {path}", "3      a short text"]


def test_columns_that_are_never_omitted_continue_in_a_second_table() -> None:
    """With the line before each row, and none of them is hidden."""
    columns = [Column("probe"), *(Column(f"policy-{n}", is_number=True) for n in range(4))]
    cells = ("needle", "1 of 1", "2 of 2", "3 of 3", "4 of 4")
    with terminal(30):
        lines = table([Row(cells, above="t1")], columns)
    assert lines == [
        "probe   policy-0  policy-1",
        "t1",
        "needle    1 of 1    2 of 2",
        "",
        "probe   policy-2  policy-3",
        "t1",
        "needle    3 of 3    4 of 4",
    ]


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("heron", 5),
        ("苍鹭", 4),
        ("e\u0301", 1),
        ("นกกระสาที่", 8),  # three marks of Thai
        ("हिन्दी", 5),  # the virama of Devanagari is a mark, its vowels are not
        ("❤\ufe0f", 1),
        ("a\u200db", 2),
        ("1\u20dd", 1),
    ],
)
def test_a_mark_over_a_letter_and_an_invisible_character_take_no_cells(
    text: str, cells: int
) -> None:
    assert cell_width(text) == cells


@given(st.text(alphabet="ab 苍", max_size=90), st.integers(10, 100), st.integers(0, 6))
def test_a_folded_text_fits_and_is_broken_at_spaces_or_between_wide_characters(
    text: str, width: int, indent: int
) -> None:
    lines = [line[indent:] for line in fold(text, " " * indent, width)]
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    for line in lines:
        words = line.replace("苍苍", "苍 苍").replace("苍苍", "苍 苍").split()
        assert cell_width(line) + indent <= width or len(words) == 1
    at = 0
    for line, following in pairwise(lines):
        at = text.index(line.strip(), at) + len(line.strip())
        assert text[at] == " " or (line[-1], following.lstrip()[0]) == ("苍", "苍")


def test_a_text_without_spaces_is_broken_between_its_wide_characters() -> None:
    assert fold("苍鹭在河边等待abc鱼", "  ", 10) == ["  苍鹭在河", "  边等", "  待abc鱼"]


def test_a_style_takes_no_cells_and_is_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert styled("lost", 31) == "lost"

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.delenv("NO_COLOR", raising=False)
    lines = table([(styled("3 kB", 31), "x")], [*map(Column, ("lost", "of"))])
    assert lines[1] == "\x1b[31m3 kB\x1b[0m  x"
    assert [re.sub(r"\x1b\[\d*m", "", line) for line in lines] == ["lost  of", "3 kB  x"]
    monkeypatch.setenv("NO_COLOR", "1")
    assert styled("lost", 31) == "lost"
