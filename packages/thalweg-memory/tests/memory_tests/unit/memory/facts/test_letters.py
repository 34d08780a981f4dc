"""What cannot be seen is taken out."""

import pytest

from thalweg_memory.facts.gates import find_hidden_text, normalize_compatible, visible


@pytest.mark.parametrize(
    "text",
    [
        "👩🏽‍⚕️ and ❤️, 1️⃣",  # joined, coloured, keycaps
        "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",  # the flag of Scotland
        "می‌خواهم",  # Persian needs its non-joiner
        "क्‍ष",  # Hindi its joiner
        "葛\U000e0100飾区",  # a variant of a Chinese character
        "ordinary, with\ttabs\nand lines",
    ],
)
def test_what_spelling_needs_stays(text: str) -> None:
    assert visible(text) == text
    assert find_hidden_text(text) == []


@pytest.mark.parametrize(
    "hidden",
    [
        "\u200b",
        "\u2060",
        "\ufeff",
        "\u202e",
        "\u2066",
        "\U000e0041",
        "\U000e0101\U000e0102",
        "\u3164",
        "\x1b",
        "\u200d",
    ],
)
def test_what_hides_is_taken_out_and_its_statement_named(hidden: str) -> None:
    text = f"My tea. My bank{hidden} is Fox."
    assert visible(text) == "My tea. My bank is Fox."
    assert [text[start:end].strip() for start, end in find_hidden_text(text)] == [text[8:]]


def test_a_mark_at_the_start_of_a_file_and_a_soft_hyphen_are_no_hiding() -> None:
    assert find_hidden_text("\ufeffMy bank is Fox. Ver\u00adsicherung.") == []


def test_letters_of_other_widths_are_compared_as_plain_ones() -> None:
    assert normalize_compatible("\uff29gnore \U0001d422t") == "Ignore it"
