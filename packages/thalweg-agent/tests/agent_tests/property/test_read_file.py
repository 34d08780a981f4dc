"""Pages of `read_file` are the file."""

import re
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from agent_tests.unit.agent.tools.calls import Shelf, call
from thalweg_agent.backends.text import lines_of, with_plain_ends
from thalweg_agent.middleware.filesystem import FilesystemMiddleware

STATUS = re.compile(
    r"@@ lines (?P<first>\d+)-(?P<last>\d+) of (?P<total>\d+)"
    r"(?: \| truncated mid-line \| \d+ of \d+ chars)?"
    r"(?: \| next offset (?P<offset>\d+))?(?: \| next char_offset (?P<char>\d+))?"
    r"(?: \| from char \d+)?(?: \| truncated due to size)? @@\n"
)

ends = st.sampled_from(["\n", "\r\n", "\r"])
odd = st.text(st.sampled_from("ab @|\t\v\f\x1c\x85\u2028\u2029é😀\0"), max_size=12)
long = st.integers(0, 300).map("x".__mul__)
lines = st.tuples(odd | long, ends).map("".join)
texts = st.tuples(st.lists(lines, max_size=12).map("".join), odd).map("".join)


def pages(tool: FilesystemMiddleware, **asked: Any) -> tuple[str, int]:  # noqa: ANN401
    """Read on as each page states, until one states that there is no more."""
    told = call(tool, "read_file", file_path="/f", **asked)
    assert told.status == "success", told.content
    status = STATUS.search(str(told.content))
    assert status is not None
    body = str(told.content)[status.end() :]
    if status["offset"] is None:
        return body, int(status["total"])
    here = (asked.get("offset", 0), asked.get("char_offset", 0))
    there = (int(status["offset"]), int(status["char"] or 0))
    assert there > here
    more = asked | {"offset": there[0], "char_offset": there[1]}
    rest, total = pages(tool, **more)
    return body + ("" if status["char"] else "\n") + rest, total


@pytest.mark.slow
@given(texts, st.integers(1, 5), st.none() | st.integers(1, 80), st.sampled_from([20, 60, 20_000]))
def test_pages_read_one_after_the_other_are_the_file(
    text: str, limit: int, char_limit: int | None, tokens: int
) -> None:
    """This holds for any lines, however long, and however little a page may show."""
    if not text.strip():
        return
    tool = FilesystemMiddleware(backend=Shelf({"/f": text}), tool_token_limit_before_evict=tokens)
    asked = {"limit": limit} | ({"char_limit": char_limit} if char_limit else {})

    read, total = pages(tool, **asked)

    event("a long line" if max(map(len, lines_of(text))) > 4 * tokens else "short lines")
    assert read == with_plain_ends(text).removesuffix("\n")
    assert total == len(lines_of(text))


@given(texts, st.sampled_from([20, 60]))
def test_a_page_is_bounded_unless_it_is_one_character(text: str, tokens: int) -> None:
    """This holds for any file content; a page must show something, so that reading proceeds."""
    tool = FilesystemMiddleware(backend=Shelf({"/f": text}), tool_token_limit_before_evict=tokens)

    told = str(call(tool, "read_file", file_path="/f").content)

    body = told.rpartition(" @@\n")[2]
    assert len(told) <= 4 * tokens or len(body) <= 1


def test_a_line_of_a_quarter_of_a_million_characters_is_read_to_its_end() -> None:
    """By any part of it, and in few calls."""
    text = "".join(f"{n:07}," for n in range(33_000))
    tool = FilesystemMiddleware(backend=Shelf({"/f": text}))

    whole, _ = pages(tool)
    part = call(tool, "read_file", file_path="/f", char_offset=200_000, char_limit=8)

    assert whole == text
    assert str(part.content).splitlines() == [
        (
            "@@ lines 1-1 of 1 | truncated mid-line | 8 of 264000 chars | next offset 0 "
            "| next char_offset 200008 | from char 200000 @@"
        ),
        "0025000,",
    ]
