"""Laws of lines: windows add up, numbers count them, an edit touches nothing else."""

import re

from hypothesis import assume, event, given
from hypothesis import strategies as st

from thalweg_agent.backends.protocol import FileData
from thalweg_agent.backends.searches.matches import matching_lines
from thalweg_agent.backends.text import (
    MAX_LINE_LENGTH,
    edit_text,
    format_content_with_line_numbers,
    lines_of,
    perform_string_replacement,
    slice_read_response,
    with_plain_ends,
)

ends = st.sampled_from(("\n", "\r\n", "\r"))
bits = st.sampled_from(("a", "b", "ab", " ", "", "\x0c", "\u2028", "\x85", "ü"))
contents = st.lists(st.one_of(bits, ends), max_size=14).map("".join)
snippets = st.lists(st.one_of(bits, ends), min_size=1, max_size=3).map("".join)


@given(contents)
def test_lines_add_up_to_the_text(content: str) -> None:
    """Each has at most one end, and only the last may have none."""
    lines = lines_of(content)

    assert "".join(lines) == content
    assert all(re.fullmatch(r"[^\r\n]*(\r\n|\r|\n)", line) for line in lines[:-1])
    assert all(re.fullmatch(r"[^\r\n]*(\r\n|\r|\n)?", line) for line in lines)


@given(contents, st.integers(1, 4))
def test_windows_read_one_after_another_add_up_to_the_text(content: str, limit: int) -> None:
    """The text has plain ends; every window reports correctly which lines it has."""
    assume(content.strip())
    seen, offset = "", 0
    while True:
        read = slice_read_response(FileData(content=content, encoding="utf-8"), offset, limit)
        assert read.file_data is not None
        assert read.start_line == offset + 1
        assert read.end_line == offset + len(lines_of(read.file_data["content"]))
        seen += read.file_data["content"]
        if read.next_offset is None:
            break
        offset = read.next_offset

    assert seen == with_plain_ends(content)
    assert read.end_line == read.total_lines == len(lines_of(content))


@given(contents, st.sampled_from(("a", "b", "ü", "\x0c")))
def test_a_line_found_is_the_line_that_is_read(content: str, text: str) -> None:
    """A search and a window count alike."""
    file = FileData(content=content, encoding="utf-8")
    for match in matching_lines("/a", content, text):
        read = slice_read_response(file, match["line"] - 1, 1)
        assert read.file_data is not None
        assert read.file_data["content"].rstrip("\n") == match["text"]


@given(st.lists(st.sampled_from(("a", "", "x" * (MAX_LINE_LENGTH + 1), "y" * 10_000))))
def test_numbers_lose_nothing_of_a_line(lines: list[str]) -> None:
    """Rows of one line, put together, are the line."""
    found: dict[str, str] = {}
    for row in format_content_with_line_numbers(lines, 7).split("\n") if lines else []:
        marker, _, text = row.lstrip().partition("  ")
        number = marker.partition(".")[0]
        found[number] = found.get(number, "") + text

    assert found == {str(number): line for number, line in enumerate(lines, 7)}


@given(content=contents, old=snippets, new=snippets, every=st.booleans())
def test_an_edit_does_what_it_says_whatever_the_ends(
    content: str, old: str, new: str, *, every: bool
) -> None:
    """With plain ends it is the plain replacement, and refused where that is."""
    edited = edit_text(content, old, new, replace_all=every)
    plain = perform_string_replacement(
        with_plain_ends(content), with_plain_ends(old), with_plain_ends(new), every
    )

    event("edited" if isinstance(edited, tuple) else "refused")
    if isinstance(edited, str) or isinstance(plain, str):
        assert edited == plain
    else:
        assert (with_plain_ends(edited[0]), edited[1]) == plain


@given(contents, st.sampled_from(("a", "b", "ab")), st.sampled_from(("", "c", "ca")))
def test_an_edit_within_lines_changes_no_end(content: str, old: str, new: str) -> None:
    """However the ends are mixed."""
    edited = edit_text(content, old, new, replace_all=True)
    if isinstance(edited, tuple):
        assert re.findall(r"\r\n|\r|\n", edited[0]) == re.findall(r"\r\n|\r|\n", content)
        assert edited[0] == content.replace(old, new)


@given(contents, snippets)
def test_an_edit_back_and_forth_is_no_edit(content: str, text: str) -> None:
    """A text replaced by a mark and the mark by the text, in a file of one kind of ends."""
    for end in ("\n", "\r\n"):
        alike = with_plain_ends(content).replace("\n", end)
        there = edit_text(alike, text, "<mark>")
        if isinstance(there, tuple) and end in there[0]:
            assert edit_text(there[0], "<mark>", text) == (alike, 1)
