"""Laws of cutting turns into pieces, for any text."""

from hypothesis import given
from hypothesis import strategies as st

from thalweg.engine.words import words
from thalweg_memory.facts.recall.ranking import MOST_WORDS, pieces

texts = st.one_of(
    st.text(max_size=500),
    st.lists(
        st.sampled_from(
            ["word ", "Two words. ", "Why? ", "\n", "\n\n", "我喜欢爬山。", "爬" * 90, "a-b_c "]
        ),
        max_size=300,
    ).map("".join),
)


@given(texts)
def test_pieces_add_up_to_the_text(text: str) -> None:
    """Nothing is omitted, nothing is there twice."""
    found = pieces(text)

    assert "".join(text[start:end] for start, end in found) == text
    assert found[0][0] == 0
    assert all(start < end for start, end in found) or not text


@given(texts)
def test_a_piece_has_no_more_words_than_it_may(text: str) -> None:
    """Only a single token that cannot be cut may be longer."""
    for start, end in pieces(text):
        piece = text[start:end]

        assert len(words(piece)) <= MOST_WORDS or len(piece.strip()) <= MOST_WORDS


@given(texts)
def test_a_short_text_stays_whole(text: str) -> None:
    """It is one piece, even if it is empty."""
    if len(words(text)) <= MOST_WORDS:
        assert pieces(text) == [(0, len(text))]


def test_it_is_cut_where_sentences_end() -> None:
    """Not in the middle of one that fits."""
    text = "It was a long day in the mountains. " * 30

    assert len(pieces(text)) > 2
    assert all(text[:end].endswith(". ") for _, end in pieces(text))
