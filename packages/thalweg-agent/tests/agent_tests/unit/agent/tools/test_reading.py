"""Pages made of what backends of every kind answer."""

from thalweg_agent.backends.protocol import ReadResult
from thalweg_agent.tools.reading import FilePage, from_char, page_of, rendered, within


def test_blank_lines_that_a_join_lost_are_there() -> None:
    """A backend that joins lines loses a blank one at the end; its window reports it as read."""
    read = ReadResult(total_lines=5, start_line=2, end_line=4, next_offset=4)

    page = page_of(read, "one\n", 1)

    assert page == FilePage(("one", "", ""), first=2, total=5, follows=True)
    assert page.render() == "@@ lines 2-4 of 5 | next offset 4 @@\none\n\n"


def test_a_backend_that_says_nothing_of_its_window_read_what_was_asked_for() -> None:
    """The page is numbered by the offset, and what follows is unknown."""
    assert page_of(ReadResult(), "a\nb", 3).render() == "@@ lines 4-5 @@\na\nb"
    assert page_of(ReadResult(), "a", -3).render() == "@@ lines 1-1 @@\na"
    assert page_of(ReadResult(), "", 0).lines == ("",)


def test_the_end_of_a_file_of_unknown_length_is_not_made_up() -> None:
    """If more may follow, the next offset is stated without a total."""
    read = ReadResult(start_line=1, end_line=1, next_offset=1)

    assert page_of(read, "one", 0).render() == "@@ lines 1-1 | next offset 1 @@\none"


def test_a_page_is_cut_between_lines_if_one_fits() -> None:
    """And within the first, if none does."""
    page = FilePage(("one", "two", "three"), first=1, total=3, follows=False)

    assert within(page, 7).lines == ("one", "two")
    assert within(page, 6).lines == ("one",)
    assert within(page, 2) == FilePage(("on",), 1, 3, follows=True, line_chars=3)
    assert within(from_char(page, 1), 1) == FilePage(
        ("n",), 1, 3, follows=True, skipped=1, line_chars=3
    )
    assert within(page, 99) is page


def test_notices_survive_a_cut() -> None:
    """They are above the status line, which is above the file."""
    page = FilePage(("x" * 500,), first=1, total=1, follows=False)

    told = rendered(page, "/f", 300, ["[Requested offset -1 …]"]).split("\n")

    assert told[0] == "[Requested offset -1 …]"
    assert told[1].startswith("[Output was truncated due to size limits. Read on in /f")
    assert told[2].startswith("@@ lines 1-1 of 1 | truncated mid-line | ")
    assert len("\n".join(told)) <= 300
