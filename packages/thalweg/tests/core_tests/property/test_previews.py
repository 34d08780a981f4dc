"""A preview of a list counts every item, mixes none, and shows the one that was asked for."""

import csv
import gzip
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_tests.property.driving import quick_count
from core_tests.recorded import RECORDED, WHY_SKIPPED
from thalweg.engine.compaction.item_lists import parse
from thalweg.engine.compaction.preview import preview
from thalweg.engine.tokens import exact_counter

POINTER = 'recall(handle="aaaaaaaaaaaaaaaa")'
OWNER = re.compile(r"-(\d{5})-")
"""A value states the number of its item; one that is cut inside it states none."""
Item = dict[str, Any]


def as_csv(items: Sequence[Item], separator: str = ",") -> str:
    """Write items as rows."""
    text = io.StringIO()
    rows = csv.writer(text, delimiter=separator, lineterminator="\n")
    rows.writerow(items[0])
    rows.writerows(item.values() for item in items)
    return text.getvalue().rstrip("\n")


def as_table(items: Sequence[Item]) -> str:
    """Write items as a Markdown table."""
    rows = [list(items[0]), ["---"] * len(items[0]), *(list(item.values()) for item in items)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


FLAT: Mapping[str, Callable[[Sequence[Item]], str]] = {
    "CSV": as_csv,
    "TSV": lambda items: as_csv(items, "\t"),
    "table": as_table,
    "log": lambda items: "\n".join(
        f"09:{k % 60:02} INFO {' '.join(item.values())} done" for k, item in enumerate(items)
    ),
}
NESTED: Mapping[str, Callable[[Sequence[Item]], str]] = {
    "JSON": json.dumps,
    "indented": lambda items: json.dumps(items, indent=2),
    "wrapped": lambda items: json.dumps({"data": {"items": items}, "next": None}),
    "with a title": lambda items: f"Found these:\n{json.dumps(items)}\n",
    "by key": lambda items: json.dumps({item["id"]: item for item in items}),
    "JSON lines": lambda items: "\n".join(map(json.dumps, items)),
    "Python": repr,
}
FIELDS = st.lists(
    st.sampled_from(["name", "city", "total", "state", "note", "owner", "size"]),
    unique=True,
    min_size=1,
)


@st.composite
def lists_of_items(
    draw: st.DrawFn, *, is_nested: bool, least: int = 2
) -> tuple[str, str, list[Item]]:
    """Draw a format, a text in it and its items."""
    names, size = draw(FIELDS), draw(st.integers(least, 120))
    filler = draw(st.sampled_from(["", "long text " * 9, "it's 50 % \u4e0a"]))
    items: list[Item] = [
        {"id": f"K-{k:05d}-", **{name: f"{name}-{k:05d}-{filler}".strip() for name in names}}
        for k in range(size)
    ]
    if is_nested:
        for k, item in enumerate(items):
            item["inner"] = {"ref": f"r-{k:05d}-"}
            item["rows"] = [
                {"at": f"t-{k:05d}-", "n": n} for n in range(draw(st.integers(0, 1)) * 3)
            ]
    formats = NESTED if is_nested else FLAT
    name = draw(st.sampled_from(sorted(formats)))
    return name, formats[name](items), items


LISTS = st.booleans().flatmap(lambda is_nested: lists_of_items(is_nested=is_nested))


@given(LISTS, st.integers(20, 2_000), st.sampled_from(["", "What of K-00001-?", "total size"]))
def test_a_preview_fits_is_the_same_each_time_and_mixes_no_items(
    case: tuple[str, str, list[Item]], tokens: int, request_: str
) -> None:
    """Every line has values of one item at most."""
    _, text, _ = case
    for count in (quick_count, exact_counter()):
        shown = preview(text, tokens, count, POINTER, request=request_)
        head = count(shown.split("\n", 1)[0])
        assert count(shown) <= max(tokens, head)
        assert shown == preview(text, tokens, count, POINTER, request=request_)
        for line in shown.split("\n"):
            assert len(set(OWNER.findall(line))) <= 1


@given(LISTS, st.integers(60, 2_000), st.sampled_from(["", "What of K-00001-?"]))
def test_no_item_disappears_without_being_counted(
    case: tuple[str, str, list[Item]], tokens: int, request_: str
) -> None:
    """Rows and the number of omitted ones are all items; few rows never stand for a list."""
    name, text, items = case
    lines = preview(text, tokens, exact_counter(), POINTER, request=request_).split("\n")[1:]
    if not lines:
        return
    body = [line for line in lines if not re.match(r"\S*\[\S+\] = |… \d\d:", line)]
    if name == "log":
        rows = [line for line in body if not re.match("… |In most lines", line)]
    else:
        start = next(k for k, line in enumerate(body) if f"{len(items):,} items" in line)
        start += name == "wrapped"
        assert f"{len(items):,} items" in body[start]
        stop = next((k for k, line in enumerate(body) if line.startswith("other text: ")), None)
        rows = [line for line in body[start + 1 : stop] if not line.startswith("… ")]
    omitted = sum(
        int(found[1].replace(",", ""))
        for line in body
        if (found := re.fullmatch(r"… ([\d,]+) more (?:items|lines) …", line))
    )
    matched = len(lines) - len(body) if name == "log" and omitted else 0
    if rows:
        assert len(rows) + omitted + matched == len(items)
        assert len(rows) >= min(4, len(items)) or name == "log"


@given(
    st.booleans().flatmap(lambda is_nested: lists_of_items(is_nested=is_nested, least=40)),
    st.data(),
)
def test_the_item_that_was_asked_for_is_shown(
    case: tuple[str, str, list[Item]], data: st.DataObject
) -> None:
    """With its values, wherever it is in the list."""
    _, text, items = case
    asked = data.draw(st.integers(0, len(items) - 1))
    name = data.draw(st.sampled_from([key for key in items[0] if key not in {"inner", "rows"}]))
    question = f"What is the {name} of K-{asked:05d}-?"
    shown = preview(text, 600, exact_counter(), POINTER, request=question)

    assert items[asked][name][:9] in shown


@pytest.mark.parametrize("write", [*FLAT.values(), *NESTED.values()])
def test_the_time_of_a_preview_is_linear(write: Callable[[Sequence[Item]], str]) -> None:
    """Counted in calls of functions: four times the items take at most five times as many."""
    sizes = (1_000, 4_000)
    texts = [
        write([{"id": f"K-{k:05d}-", "name": f"n-{k:05d}-"} for k in range(size)]) for size in sizes
    ]
    small, large = (
        count_calls(partial(preview, text, 600, quick_count, POINTER, request="K-00007-"))
        for text in texts
    )

    assert large < 5 * small


def test_a_preview_is_the_same_in_every_process() -> None:
    """Also if strings have other hashes."""
    code = (
        "from core_tests.property.test_previews import *\n"
        "items = [{'id': f'K-{k}', 'name': f'n{k} of the list'} for k in range(40)]\n"
        "for write in (*FLAT.values(), *NESTED.values()):\n"
        "    print(preview(write(items), 300, quick_count, POINTER, request='the name of K-7'))\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }

    assert len(outputs) == 1
    assert b"In most lines" in outputs.pop()


def count_calls(function: Callable[[], object]) -> int:
    """Count the calls of functions, those written in C included."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        del frame, argument
        calls += event in {"call", "c_call"}

    previous = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(previous)
    return calls


@given(st.text("[]{}()'\",:|\\\n\t ;+-=a1\u4e0a\ud800", max_size=200), st.integers(1, 300))
@settings(max_examples=300)
def test_any_text_has_a_preview_that_fits(text: str, tokens: int) -> None:
    """Damaged JSON and tables included."""
    shown = preview(text * 3, tokens, quick_count, POINTER, request="a1")
    assert POINTER in shown
    assert "\n" not in shown or quick_count(shown) <= tokens


@given(st.integers(0, 4_000), st.integers(10, 60))
def test_of_a_list_whose_end_is_missing_the_whole_items_are_shown(end: int, size: int) -> None:
    """The result of a tool that cut it is no JSON."""
    items = [{"id": f"K-{k:05d}-", "name": f"n-{k:05d}-"} for k in range(size)]
    text = json.dumps({"items": items})
    cut = text[: min(end + 100, len(text) - 2)]
    parsed = parse(cut)

    assert parsed is not None
    (found,) = parsed.lists
    assert list(found.values) == items[: len(found.values)]
    assert len(found.values) == cut.count("}")


def recorded_results() -> Iterator[str]:
    """Yield the large results of recorded sessions."""
    for file in sorted((RECORDED / "trajectories").glob("*.jsonl*")):
        data = file.read_bytes()
        content = gzip.decompress(data) if file.suffix == ".gz" else data
        for line in content.decode().splitlines():
            message = json.loads(line)
            text = message.get("content")
            if message["role"] == "tool" and isinstance(text, str) and len(text) > 8_000:
                yield text


@pytest.mark.skipif(not RECORDED.exists(), reason=WHY_SKIPPED)
def test_previews_of_recorded_results_fit_and_count_their_items() -> None:
    """Results of tools that other people wrote, among them lists of JSON."""
    count, lists = exact_counter(), 0
    for text in recorded_results():
        shown = preview(text, 600, count, POINTER, request="Which error has the last item?")
        assert count(shown) <= 600
        parsed = parse(text)
        for items in parsed.lists[:1] if parsed else ():
            lists += 1
            assert f"{len(items.values):,} items" in shown
    assert lists > 10
