"""Tables fit a terminal without a broken word or a hidden cost; a pipe has everything."""

import io
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def lines_at(width: int | None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    if width is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", f"{width}")
    return table(ROWS, COLUMNS)


def test_in_a_pipe_a_row_is_one_line_with_every_column(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines_at(None, monkeypatch) == [
        "newest            calls  kind        cost  title",
        f"2026-11-29 15:00     12  codex  $1,234.56  {WORDS}",
        "  /src/shop",
        "2026-11-29 16:00      3  pi             -  苍鹭",
    ]


def test_a_terminal_wraps_the_text_and_omits_columns_by_rank(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert lines_at(66, monkeypatch)[1:4] == [
        "2026-11-29 15:00     12  codex  $1,234.56  Refactoring the trailer",
        "                                           of a very long request",
        "  /src/shop",
    ]
    assert lines_at(50, monkeypatch)[:3] == [
        "newest                 cost  title",
        "2026-11-29 15:00  $1,234.56  Refactoring the",
        "                             trailer of a very",
    ]


def test_a_word_that_does_not_fit_is_below_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    thread = "0b3c9a4e-aaaa-bbbb-cccc-1234567890ab"
    lines = table([("1,200", "-", thread)], [*map(Column, ("messages", "calls", "thread"))])
    assert lines == ["messages  calls", "  thread", "1,200     -", f"  {thread}"]


def test_columns_that_are_never_omitted_continue_in_a_second_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    columns = [Column("probe"), *(Column(f"policy-{n}", is_number=True) for n in range(4))]
    assert table([("needle", "1 of 1", "2 of 2", "3 of 3", "4 of 4")], columns) == [
        "probe   policy-0  policy-1",
        "needle    1 of 1    2 of 2",
        "",
        "probe   policy-2  policy-3",
        "needle    3 of 3    4 of 4",
    ]


@given(st.text(alphabet="ab 苍", max_size=90), st.integers(10, 100), st.integers(0, 6))
def test_a_folded_text_has_each_word_whole(text: str, width: int, indent: int) -> None:
    lines = fold(text, " " * indent, width)
    assert " ".join(lines).split() == text.split()
    assert all(
        cell_width(line) <= width or len(line.split()) == 1 or "苍" in line for line in lines
    )


def test_a_style_takes_no_cells_and_is_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert styled("lost", 31) == "lost"

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    lines = table([(styled("3 kB", 31), "x")], [*map(Column, ("lost", "of"))])
    assert lines[1] == "\x1b[31m3 kB\x1b[0m  x"
    assert [re.sub(r"\x1b\[\d*m", "", line) for line in lines] == ["lost  of", "3 kB  x"]
    monkeypatch.setenv("NO_COLOR", "1")
    assert styled("lost", 31) == "lost"
