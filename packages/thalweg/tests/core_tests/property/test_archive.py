"""Laws of the archive's pure parts, for any text."""

import sqlite3
from collections.abc import Callable, Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from thalweg.archive.reading import read_piece
from thalweg.archive.search.excerpts import best_window, segments, widen
from thalweg.archive.search.index import MAX_CHARS, MAX_LINE_CHARS, split_passages
from thalweg.archive.search.question import ask
from thalweg.archive.table_rows import pack, put_together, take_apart, unpack
from thalweg.engine.entries import Message, Opaque, Part, Text, Thinking, ToolCall
from thalweg.engine.words import find_tokens, stem, token_words, words

any_text = st.text(st.characters(), max_size=400)
"""Every character there is, lone surrogates included."""
texts = st.one_of(
    any_text,
    st.builds(str.__mul__, st.sampled_from(["a", "word ", "漢", "line\n", "\n", "\\n", "\ud800"]),
              st.integers(0, 3_000)),
)  # fmt: skip
parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, texts),
    st.builds(Thinking, texts, signature=texts),
    st.builds(ToolCall, any_text, any_text, texts),
    st.builds(Opaque, any_text, texts),
)


@given(st.lists(parts, max_size=4))
def test_a_message_taken_apart_is_put_together_equal(drawn: list[Part]) -> None:
    """Its parts may hold anything, and what is stored of it is ASCII."""
    message = Message("assistant", tuple(drawn))
    stored = take_apart(message)
    kept = {blob.hash: unpack(blob.data, packed=blob.packed) for blob in stored.blobs}

    assert stored.body.isascii()
    assert put_together(stored.body, stored.holes, kept.__getitem__) == message


@given(texts)
def test_the_same_text_is_the_same_blob(text: str) -> None:
    """Stored once, however often it is held."""
    assert pack(text) == pack(text)
    assert unpack(pack(text).data, packed=pack(text).packed) == text


@given(texts)
def test_passages_add_up_to_their_text(text: str) -> None:
    """None is empty, none is much too large, and each is at the position it declares."""
    pieces = split_passages(text)

    assert "".join(piece for _, piece in pieces) == text
    assert all(text.startswith(piece, start) for start, piece in pieces)
    assert all(0 < len(piece) <= max(MAX_CHARS, MAX_LINE_CHARS) for _, piece in pieces)


def passages(text: str) -> list[tuple[int, int]]:
    """Return where the passages of a text begin and end."""
    return [(start, start + len(piece)) for start, piece in split_passages(text)]


@pytest.mark.parametrize("pieces", [segments, passages])
@given(text=texts)
def test_pieces_of_a_text_join_without_gaps(
    pieces: Callable[[str], list[tuple[int, int]]], text: str
) -> None:
    """From the first character to the last."""
    found = pieces(text)

    assert [start for start, _ in found] == [0, *(end for _, end in found)][: len(found)]
    assert (found[-1][1] if found else 0) == len(text)


@given(texts.filter(bool), st.lists(st.integers(0, 7), min_size=200, max_size=200))
def test_an_excerpt_holds_its_window_and_only_whole_lines(text: str, masks: list[int]) -> None:
    """Widening takes nothing away."""
    lines = segments(text)[:200]
    first, last = best_window(lines, masks[: len(lines)], int.bit_count)
    start, end = widen(lines, first, last, 500)

    assert start <= lines[first][0] < lines[last][1] <= end
    assert start in {a for a, _ in lines}
    assert end in {b for _, b in lines}


@given(st.integers(1, 40), st.integers(0, 39), st.integers(1, 40))
def test_widening_takes_as_much_after_as_before(count: int, core: int, fits: int) -> None:
    """Unless the text ends there; an answer follows its question more often than not."""
    lines = [(at * 10, at * 10 + 10) for at in range(count)]
    core = min(core, count - 1)
    start, end = widen(lines, core, core, fits * 10)
    before, after = core - start // 10, end // 10 - 1 - core

    assert before + after + 1 == min(fits, count)
    assert before <= after <= before + 1 or start == 0 or end == lines[-1][1]


@given(texts)
@example("ﬀ İstanbul ǅ x_y.z-w A.B's O'Neill’s")
def test_every_word_is_plain_ascii_and_short(text: str) -> None:
    """So that no version of SQLite takes it apart differently."""
    for word in words(text):
        assert word.isascii()
        assert word.isalnum()
        assert 0 < len(word) <= 64


@given(texts)
def test_a_text_is_found_by_any_of_its_tokens(text: str) -> None:
    """A question and a text go through the same function."""
    have = set(words(text))

    assert all(set(token_words(token)) <= have for token in find_tokens(text))


endings = st.sampled_from([
    "ational", "tional", "enci", "anci", "izer", "logi", "bli", "alli", "entli", "eli", "ousli",
    "ization", "ation", "ator", "alism", "iveness", "fulness", "ousness", "aliti", "iviti",
    "biliti", "icate", "ative", "alize", "iciti", "ical", "ful", "ness", "al", "ance", "ence", "er",
    "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "sion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize", "s", "es", "ies", "sses", "ss", "eed", "ed", "ing", "y", "e", "ll", "ble",
])  # fmt: skip
inflected = st.builds("{}{}{}".format, st.text("aeiouybcdlstzwx1", max_size=5), endings,
                      st.one_of(st.just(""), endings))  # fmt: skip


@pytest.fixture(scope="module")
def stemmer() -> Iterator[Callable[[list[str]], list[str]]]:
    """Return SQLite's own function from words to stems."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.execute("CREATE VIRTUAL TABLE said USING fts5 (word, tokenize='porter unicode61')")
    db.execute("CREATE VIRTUAL TABLE terms USING fts5vocab (said, instance)")

    def stems(words: list[str]) -> list[str]:
        db.execute("DELETE FROM said")
        db.executemany(
            "INSERT INTO said (rowid, word) VALUES (?, ?)", list(enumerate(words, start=1))
        )
        return [term for (term,) in db.execute("SELECT term FROM terms ORDER BY doc")]

    yield stems
    db.close()


@given(st.lists(inflected, min_size=1, max_size=100), texts)
def test_a_word_has_the_stem_that_sqlite_takes(
    stemmer: Callable[[list[str]], list[str]], drawn: list[str], text: str
) -> None:
    """So that search finds the same in every kind of archive."""
    listed = [*drawn, *words(text)[:200]]

    assert [stem(word) for word in listed] == stemmer(listed)


@given(texts)
def test_any_text_can_be_asked(text: str) -> None:
    """Its words are different, and no more than are searched for."""
    question = ask(text)

    assert len(set(question.words)) == len(question.words) <= 48


@given(texts, st.integers(1, 900), st.data())
def test_what_is_read_by_characters_is_what_stands_there(
    text: str, max_chars: int, data: st.DataObject
) -> None:
    """And reading on from its end comes to the end."""
    start = data.draw(st.integers(0, max(0, len(text) - 1)))
    end = data.draw(st.integers(start + 1, start + 2_000))
    reading = read_piece("h", text, chars=(start, end), max_chars=max_chars)

    assert reading.text == text[start : min(end, start + max_chars)]
    assert bool(reading.next) == (start + len(reading.text) < len(text))


@given(texts.filter(bool), st.data())
def test_lines_read_one_by_one_add_up(text: str, data: st.DataObject) -> None:
    """Numbered as an editor numbers them."""
    total = read_piece("h", text).total_lines
    lines = [
        read_piece("h", text, lines=(n, n), max_chars=99_999).text
        for n in range(1, min(total, 50) + 1)
    ]
    stop = data.draw(st.integers(1, len(lines)))

    assert lines[: total - 1] == text.split("\n")[: min(total - 1, 50)]
    assert read_piece("h", text, lines=(1, stop), max_chars=99_999).text == "\n".join(lines[:stop])
