"""The tool that a record and its previews promise to a model."""

import inspect
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_tests.archives import archive_in_memory
from thalweg.archive import RECALL_TOOL, Archive, Logged, Span, ThreadKey, open_archive, recall
from thalweg.engine.entries import Message, Text, ToolCall
from thalweg.engine.tokens import exact_counter

KEY = ThreadKey("ada", "t1")
TEXTS = [
    f"message {n} about {'apples' if n % 7 else 'wombats'} 漢字 " + "y " * n for n in range(99)
]


@pytest.fixture(scope="module")
def archive() -> Iterator[Archive]:
    with open_archive(":memory:") as opened:
        opened.append(KEY, [Logged(Message("user", (Text(text),))) for text in TEXTS])
        yield opened


def test_a_handle_is_read(archive: Archive) -> None:
    handle = archive.handle(KEY, Span(3, 9))

    assert recall(archive, KEY, handle=f"{handle}#4") == TEXTS[4]
    assert recall(archive, KEY, handle=f"{handle}#4", chars=[0, 9]).startswith(TEXTS[4][:9])
    assert recall(archive, KEY, handle=f"{handle}#4", lines=[1, 1]) == TEXTS[4]


def test_following_what_an_answer_says_leads_to_the_end(archive: Archive) -> None:
    """Every message of a long span is listed on the way."""
    name: str = archive.handle(KEY, Span(0, 98))
    seen: set[str] = set()

    while True:
        told = recall(archive, KEY, handle=name, max_tokens=400)
        assert exact_counter()(told) <= 400
        seen |= set(re.findall(r"^#(\d+) user", told, re.MULTILINE))
        follows = re.search(r'what follows with recall\(handle="([^"]+)"\)', told)
        if follows is None:
            break
        name = follows[1]

    assert seen == {str(n) for n in range(99)}


def test_words_are_found_in_the_thread_or_inside_a_handle(archive: Archive) -> None:
    handle = archive.handle(KEY, Span(10, 15))

    assert "#98 user" in recall(archive, KEY, query="wombats")
    inside = recall(archive, KEY, query="wombats", handle=handle)
    assert re.findall(r"^#(\d+) ", inside, re.MULTILINE) == ["14"]
    assert recall(archive, KEY, query="quokka").startswith("Nothing was found")


def test_its_own_earlier_answers_are_not_found_again() -> None:
    """They quote what is found anyway, and each other."""
    with open_archive(":memory:") as archive:
        said = "The docking code of the ferry is QX-4471. " + "Mist over the quay. " * 40
        archive.append(KEY, [Logged(Message("user", (Text(said),)))])
        for number in range(5):
            told = recall(archive, KEY, query="docking code of the ferry", max_tokens=300)
            assert told.startswith("#0 user"), told
            use = ToolCall(f"c{number}", "recall", '{"query": "docking code of the ferry"}')
            answer = Message("tool", (Text(told),), answers=f"c{number}", name="recall")
            archive.append(KEY, [Logged(Message("assistant", (use,))), Logged(answer)])
            assert "assistant" not in told


def test_words_that_are_given_for_a_handle_are_searched_for(archive: Archive) -> None:
    found = recall(archive, KEY, handle="wombats")
    assert "is no handle" in found
    assert recall(archive, KEY, query="wombats") in found
    assert "no handle 'xylophones'" in recall(archive, KEY, handle="xylophones")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, "Give a handle"),
        ({"handle": "nonsense"}, "no handle 'nonsense'"),
        ({"query": "x", "handle": "nonsense"}, "no handle 'nonsense'"),
        ({"handle": "HANDLE", "lines": [5, 9]}, "lines 5-9 are out of range"),
        ({"handle": "HANDLE", "lines": [5]}, "lines takes two whole numbers"),
        ({"handle": "HANDLE", "chars": ["0", "9"]}, "chars takes two whole numbers"),
        ({"handle": "HANDLE", "path": "$"}, "not JSON"),
        ({"query": "x", "path": "$"}, "goes with a handle alone"),
    ],
)
def test_what_is_wrong_is_told_and_not_raised(
    archive: Archive, asked: dict[str, Any], told: str
) -> None:
    """The model can fix it; the run continues."""
    if asked.get("handle") == "HANDLE":
        asked = {**asked, "handle": archive.handle(KEY, Span(1, 1))}
    answer = recall(archive, KEY, **asked)
    assert told in answer
    assert "\n" not in answer


def test_an_archive_that_fails_is_told_without_its_place() -> None:
    """Paths of the machine are not the model's."""
    archive = archive_in_memory()
    archive.close()
    assert recall(archive, KEY, query="x") == recall(archive, KEY, handle="x" * 16)


@given(
    max_tokens=st.integers(-1, 300),
    span=st.integers(0, 98).map(lambda first: Span(first, min(98, first + first % 5 * 20))),
    asked=st.sampled_from(
        [{}, {"query": "apples wombats"}, {"chars": [0, 90]}, {"path": "$" * 99}]
    ),
)
def test_an_answer_is_bounded_whatever_was_asked(
    archive: Archive, max_tokens: int, span: Span, asked: dict[str, Any]
) -> None:
    for count in (exact_counter(), len):
        handle = archive.handle(KEY, span)
        told = recall(archive, KEY, handle=handle, max_tokens=max_tokens, count=count, **asked)
        assert count(told) <= max(max_tokens, 0)
        told = recall(archive, KEY, handle="h" * 9_999, max_tokens=max_tokens, count=count)
        assert count(told) <= max(max_tokens, 0)


def test_the_tool_is_data_and_names_what_recall_takes() -> None:
    """A model's arguments go straight in."""
    assert json.loads(json.dumps(RECALL_TOOL)) == RECALL_TOOL
    takes = inspect.signature(recall).parameters
    own = {"archive", "key", "max_tokens", "count", "within", "name"}
    assert set(RECALL_TOOL["parameters"]["properties"]) == set(takes) - own
    assert RECALL_TOOL["name"] == recall.__name__


def test_what_left_the_thread_is_neither_found_nor_read(archive: Archive) -> None:
    """Handles of it are unknown; of a stretch, the rest is returned."""
    left = [Span(0, 6), Span(8, 20), Span(40, 98)]
    gone, crossing = archive.handle(KEY, Span(21, 30)), archive.handle(KEY, Span(5, 9))

    assert "#7 user" in recall(archive, KEY, query="wombats")
    found = recall(archive, KEY, query="wombats", within=left)
    positions = {int(p) for p in re.findall(r"^#(\d+) ", found, re.MULTILINE)}
    assert positions == {0, 14, *range(42, 99, 7)}
    assert "no handle" in recall(archive, KEY, handle=gone, within=left)
    outside = recall(archive, KEY, handle=f"{crossing}#7", within=left)
    assert outside == f"{crossing}: it has no position 7; it has 5-6, 8-9"
    assert "no handle" in recall(archive, KEY, query="wombats", handle=gone, within=left)
    assert recall(archive, KEY, handle=f"{crossing}#8", within=left) == TEXTS[8]
    cases: list[dict[str, Any]] = [{}, {"lines": [1, 99]}, {"chars": [0, 9_999]}]
    for asked in cases:
        told = recall(archive, KEY, handle=crossing, within=left, **asked)
        assert re.findall(r"^#(\d+) ", told, re.MULTILINE) == ["5", "6", "8", "9"]


@given(
    dropped=st.sets(st.integers(0, 98), max_size=60),
    first=st.integers(0, 98),
    size=st.integers(0, 98),
    max_tokens=st.integers(100, 600),
)
def test_following_an_answer_tells_all_that_is_left_of_a_span_and_nothing_else(
    archive: Archive, dropped: set[int], first: int, size: int, max_tokens: int
) -> None:
    """This holds for any messages that were removed."""
    within = [Span(p, p) for p in range(99) if p not in dropped]
    span = Span(first, min(98, first + size))
    name: str = archive.handle(KEY, span)
    wanted = {str(p) for p in range(span.first, span.last + 1)} - {str(p) for p in dropped}
    seen: set[str] = set()

    while True:
        at = archive.span(KEY, name)
        told = recall(archive, KEY, handle=name, max_tokens=max_tokens, within=within)
        kept = [p for p in range(at.first, at.last + 1) if p not in dropped]
        if len(kept) == 1 and told.startswith(TEXTS[kept[0]][:9]):  # alone, it has no heading
            seen.add(str(kept[0]))
        seen |= set(re.findall(r"^#(\d+) user", told, re.MULTILINE))
        follows = re.search(r'what follows with recall\(handle="([^"]+)"\)', told)
        if follows is None:
            break
        name = follows[1]

    assert seen == wanted


def test_a_thread_of_very_many_pieces_is_searched_at_once() -> None:
    """Every other message was removed; none of those is found."""
    with open_archive(":memory:") as archive:
        archive.append(KEY, [Logged(Message("user", (Text(f"heron {n}"),))) for n in range(400)])
        within = [Span(n, n) for n in range(0, 400, 2)]
        found = recall(archive, KEY, query="heron", within=within)

    positions = [int(p) for p in re.findall(r"^#(\d+) ", found, re.MULTILINE)]
    assert positions
    assert not any(position % 2 for position in positions)
