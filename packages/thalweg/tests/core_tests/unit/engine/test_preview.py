"""Previews state the kind of a text and never more than they may."""

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_tests.property.driving import quick_count
from thalweg.engine.compaction.preview import (
    LINE_WIDTHS,
    MAX_REQUESTED_LINES,
    preview,
    requested_lines,
)
from thalweg.engine.tokens import exact_counter

POINTER = 'recall(handle="aaaaaaaaaaaaaaaa")'
LOG = "\n".join(f"{n} ok" for n in range(900)) + "\nTypeError: boom\n" + "tail\n" * 900


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        (
            json.dumps({"items": [{"id": 7}] * 900, "next": None}),
            "JSON: {items: 900 items, next: null}\nitems: 900 items, id:\n7\n7\n",
        ),
        (LOG, "… TypeError: boom"),
        ("x" * 50_000, "[…"),
        ("上下文" * 9_000, "[…"),
        ("\ud800\n" * 5_000, "…"),
        ('{"a": 1}{"b": 2}\n' * 900, '{"a": 1}'),
        ("[" * 100_000, "[…"),
        ("", "1 line, 0 characters"),
    ],
)
def test_a_preview_shows_the_kind_and_the_way_back(text: str, sign: str) -> None:
    """Within its bound, by either counter."""
    for count in (quick_count, exact_counter()):
        shown = preview(text, 400, count, POINTER)
        assert POINTER in shown
        assert sign in shown
        assert count(shown) <= 400


def test_a_line_that_a_cut_would_not_shorten_is_whole() -> None:
    line = "abcdefghij" * LINE_WIDTHS[0]
    for size in range(LINE_WIDTHS[0] - 2, LINE_WIDTHS[0] + 30):
        text = "\n".join([line[:size], *(f"row {n}" for n in range(900))])

        shown = preview(text, 600, quick_count, POINTER).split("\n")[1]

        assert shown == line[:size] or len(shown) < size


def test_a_line_of_ten_megabytes_is_previewed_in_little_memory() -> None:
    """One copy or two of the text, not hundreds."""
    text = "abcdefghij" * 1_000_000
    tracemalloc.start()
    shown = preview(text, 300, quick_count, POINTER)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert quick_count(shown) <= 300
    assert peak < 5 * len(text)


@pytest.mark.parametrize("lines", [1, 2, 4, 10, 31])
def test_a_preview_of_plain_text_has_so_many_lines_from_both_ends(lines: int) -> None:
    """The odd one comes from the head; one more states what was omitted."""
    text = "\n".join(f"row {n}" for n in range(500))
    shown = preview(text, 600, quick_count, POINTER, lines).split("\n")[1:]
    head, tail = (lines + 1) // 2, lines // 2

    first = [f"row {n}" for n in range(head)]
    last = [f"row {n}" for n in range(500 - tail, 500)]
    assert shown == [*first, f"… {500 - lines} more lines …", *last]


def test_more_lines_than_fit_become_as_many_as_usual() -> None:
    """Better than none."""
    text = "\n".join(f"row {n} " + "x" * 90 for n in range(5_000))
    shown = preview(text, 300, quick_count, POINTER, 1_000)

    assert "row 4 " in shown
    assert "row 4999" in shown
    assert quick_count(shown) <= 300


def test_a_preview_shows_the_line_that_was_requested() -> None:
    """The rest of a long log has none of the request's rare words."""
    log = "\n".join([*(f"row {n} ok" for n in range(900)), "harbor: p95 is 181 ms", *["ok"] * 900])

    assert "… harbor: p95 is 181 ms" in preview(
        log, 300, quick_count, POINTER, request="Run the check harbor and report its p95."
    )
    assert "p95" not in preview(log, 300, quick_count, POINTER, request="Is row 5 ok?")
    assert preview(log, 300, quick_count, POINTER, request="   ") == preview(
        log, 300, quick_count, POINTER
    )


@pytest.mark.parametrize("place", [0, 11, 899])
def test_a_requested_line_is_shown_once_wherever_it_is(place: int) -> None:
    """Its width differs from that of the others; the lines that are shown and omitted are all."""
    wanted = f"harbor: p95 is 181 ms {'and more ' * 12}".strip()
    log = [f"row {n} ok {'x' * 500}" for n in range(900)]
    log[place] = wanted
    shown = preview(
        "\n".join(log), 300, quick_count, POINTER, request="Report the harbor's p95."
    ).split("\n")[1:]
    omitted = next(line for line in shown if line.endswith(" more lines …"))

    assert [line.removeprefix("… ") for line in shown if "harbor" in line] == [wanted]
    assert len(shown) - 1 + int(omitted.split()[1]) == 900


def test_of_all_lines_only_a_shortened_one_is_repeated_for_the_request() -> None:
    text = "\n".join(["harbor: 181 ms", *(f"row {n} {'x' * 450}" for n in range(8))])
    shown = preview(text, 2_000, quick_count, POINTER, request="harbor")

    assert shown.count("harbor: 181 ms") == 1
    assert shown.count("row ") == 8


@pytest.mark.parametrize(
    ("request_", "line"),
    [("港口的延迟是多少?", "港口 延迟 181 毫秒"), ("ЗАДЕРЖКА порта", "задержка: 181")],
)
def test_a_requested_line_is_found_in_any_language(request_: str, line: str) -> None:
    """Words are those of the search."""
    assert requested_lines("\n".join(["ok"] * 50 + [line] + ["ok"] * 50), request_) == [line]


@given(st.lists(st.text("ab \u4e0a.", max_size=9), max_size=30), st.text("ab \u4e0a.", max_size=20))
def test_requested_lines_are_few_and_lines_of_the_text(lines: list[str], request_: str) -> None:
    """In the order of the text, each once."""
    found = requested_lines("\n".join(lines), request_)
    places = [[line.strip() for line in lines].index(line) for line in found]

    assert len(found) <= MAX_REQUESTED_LINES
    assert places == sorted(set(places))
