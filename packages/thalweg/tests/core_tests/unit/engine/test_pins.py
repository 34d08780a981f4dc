"""A request is shortened around what must not be lost."""

from thalweg.engine.compaction.pins import constraint_lines, excerpt

PASTE = "\n".join(f"line {n} of a long paste" for n in range(400))
POINTER = 'recall(handle="h#3")'


def test_lines_that_set_a_constraint_are_found_in_several_languages() -> None:
    """One line each; a paste without line ends is not a sentence."""
    lines = ["Never push.", "绝对不要删除", "nicht löschen", "- no mocks", "fine", "must " * 300]
    text = "\r\n".join(lines)

    assert [text[a:b] for a, b in constraint_lines(text)] == lines[:4]


def test_neighbouring_constraints_stand_together_without_a_marker_between_them() -> None:
    """A line end is no omission."""
    text = f"{PASTE}\nNever push.\nAlways test.\n\nOnly then stop.\n{PASTE}"

    shown = excerpt(text, 160, 0, (), POINTER)

    assert "Never push.\nAlways test.\n\nOnly then stop." in shown
    assert shown.count(POINTER) == 2


def test_a_pin_is_whole_where_it_overlaps_the_head_a_constraint_or_the_tail() -> None:
    """No line end, no marker is put into it."""
    for at in range(0, 700, 7):
        quote = "the quote: never\nsplit\n\nthis"
        text = f"{'x' * at}{quote}{'y' * 900}"
        assert excerpt(text, 160, 100, (quote,), POINTER).count(quote) == 1


def test_constraints_can_be_bounded() -> None:
    """A log with `cannot` in every line is a paste, not a list of constraints."""
    text = "\n".join(f"{n} cannot connect" for n in range(2_000))

    assert excerpt(text, 160, 0, (), POINTER) == text
    assert len(excerpt(text, 160, 0, (), POINTER, max_constraint_chars=400)) < 900


def test_a_constraint_in_the_middle_of_a_long_paragraph_is_a_sentence_of_its_own() -> None:
    """Who dictates a request makes no line ends."""
    talk = "The page is slow when many orders are open. " * 40
    rule = "You must never touch migration 0042.py by hand!"
    text = f"{talk}{rule} {talk}"

    assert [text[start:end] for start, end in constraint_lines(text)] == [rule]
    assert rule in excerpt(text, 160, 0, (), "recall")
