"""A text that is still written is cut into blocks, however it comes."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from thalweg_server.cli.chat.event_rendering import BlockSplitter

pieces = st.sampled_from(
    ["word ", "\n", "\n\n", "# Head\n", "- item\n", "1. one\n", "  deeper\n", "```py\n", "```\n",
     "~~~\n", "| a | b |\n", "> said\n", "\r\n", "  ", "鳥", "*b*", "`c`"]
)  # fmt: skip
texts = st.lists(pieces | st.text(max_size=6), max_size=30).map("".join)


def cut(text: str, at: list[int]) -> list[str]:
    places = sorted({0, len(text), *(place % (len(text) + 1) for place in at)})
    return [text[a:b] for a, b in pairwise(places)]


def blocks_of(parts: list[str]) -> list[str]:
    blocks = BlockSplitter()
    return [block for part in parts for block in blocks.feed(part)] + blocks.end()


@given(texts, st.lists(st.integers(0, 10_000), max_size=8))
def test_blocks_do_not_depend_on_how_a_text_comes(text: str, at: list[int]) -> None:
    assert blocks_of(cut(text, at)) == blocks_of([text])


@given(texts)
def test_no_word_is_lost_and_none_comes_twice(text: str) -> None:
    assert "".join(" ".join(blocks_of([text])).split()) == "".join(text.split())


@given(texts, texts)
def test_what_is_finished_and_what_is_not_are_the_whole(one: str, other: str) -> None:
    blocks = BlockSplitter()
    finished = [*blocks.feed(one), *blocks.feed(other)]
    assert "".join(" ".join([*finished, blocks.rest]).split()) == "".join((one + other).split())


def test_lists_and_code_stay_whole() -> None:
    text = (
        "Intro\ngoes on.\n\n1. one\n\n   more of one\n2. two\n\n"
        "```py\na = 1\n\nb = 2\n```\nAfter.\n# Head\nUnder.\n"
    )
    assert blocks_of([text]) == [
        "Intro\ngoes on.",
        "1. one\n\n   more of one\n2. two",
        "```py\na = 1\n\nb = 2\n```",
        "After.",
        "# Head",
        "Under.",
    ]


def test_a_fence_within_a_fence_is_code() -> None:
    text = "````md\n```py\n\n```\n````\nx"
    assert blocks_of([text]) == ["````md\n```py\n\n```\n````", "x"]


def test_code_within_a_list_belongs_to_it() -> None:
    text = "1. one\n\n   ```sh\n   ls\n\n   ```\n2. two\n\nAfter."
    assert blocks_of([text]) == ["1. one\n\n   ```sh\n   ls\n\n   ```\n2. two", "After."]
