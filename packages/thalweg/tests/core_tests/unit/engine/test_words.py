"""The words of a text: each token is folded once, and a long one takes no memory afterwards."""

import pytest

from thalweg.engine.words.words import (
    MAX_WORD_CHARS,
    _cached_words,
    find_tokens,
    token_words,
    words,
)


@pytest.mark.parametrize("text", ["", "user_ids, it's", "Größe 木曜日 user_ids", f"a {'b' * 90} c"])
def test_the_words_of_a_text_are_those_of_its_tokens(text: str) -> None:
    assert words(text) == [word for token in find_tokens(text) for word in token_words(token)]


def test_a_long_token_is_not_kept() -> None:
    words("quite short words")
    before = _cached_words.cache_info().currsize

    words(f"quite {'a' * (MAX_WORD_CHARS + 1)} words")

    assert _cached_words.cache_info().currsize == before
