"""Search over several threads: the thread of a passage is evidence, and a filter is exact."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from core_tests.archives import archive_in_memory
from thalweg.archive import Logged, SqliteArchive, ThreadKey
from thalweg.archive.search import across
from thalweg.archive.sqlite import Transaction
from thalweg.engine.entries import Message, Text


def _archive(threads: dict[str, list[str]]) -> SqliteArchive:
    archive = archive_in_memory()
    for name, texts in threads.items():
        archive.append(
            ThreadKey("o", name), [Logged(Message("user", (Text(text),))) for text in texts]
        )
    return archive


def test_of_equal_passages_the_one_of_the_thread_with_the_other_words_is_first() -> None:
    texts = {f"t{i}": ["The test took long.", f"Nothing else happened, {i}."] for i in range(20)}
    texts["t7"] += ["We merge the zebra branch."] + [f"Step {i} of the work." for i in range(40)]
    with _archive(texts) as archive:
        found = archive.search_threads("o", "How did the test go after the zebra merge?")
        threads = [hit.thread for hit in found if "test took" in hit.passage.text]
    assert threads[0] == "t7"


def test_of_equal_exchanges_the_one_with_the_words_around_it_is_first_and_is_whole() -> None:
    filler = [f"Step {i} of the work." for i in range(40)]
    answer = "It was the clock of the runner, which is two minutes slow."
    texts = {
        "t": [
            *["The heron test fails.", answer, "Why does it fail in the night only?"],
            *filler,
            *["The heron test fails.", "It is skipped."],
        ]
    }
    with _archive(texts) as archive:
        question = "why does the heron test fail in the night"
        first, *_ = archive.search_threads("o", question, exchanges=True)
    shown = [first.passage, *first.exchange]
    assert answer in [passage.text for passage in shown]


def test_an_exchange_shows_the_rest_of_a_long_message() -> None:
    lines = [f"Line {i} of many about nothing in it at all, really." for i in range(60)]
    text = "\n".join([*lines[:30], "The heron test is slow: see the answer below.", *lines[30:]])
    with _archive({"t": [text]}) as archive:
        (hit,) = archive.search_threads("o", "slow heron test", exchanges=True, max_tokens=2_000)
    shown = [(one.start, one.start + len(one.text)) for one in (hit.passage, *hit.exchange)]
    assert len(shown) > 1
    assert all(end <= start for (_, end), (start, _) in pairwise(sorted(shown)))
    assert all(one.text == text[one.start : one.start + len(one.text)] for one in hit.exchange)


def test_a_text_that_many_threads_repeat_takes_the_place_of_no_other() -> None:
    repeated = "The heron test fails at night: the heron test fails."
    texts = {f"t{i}": [repeated] for i in range(across.EXCHANGES + 4)}
    texts["why"] = ["The heron test was slow, since its runner had the wrong clock."]
    with _archive(texts) as archive:
        found = archive.search_threads("o", "heron test fails at night", exchanges=True)
    assert len(found) == 2
    assert "why" in [hit.thread for hit in found]


def test_after_the_first_exchanges_come_the_next_best_passages() -> None:
    texts = {
        f"t{i}": [
            f"The heron test fails at night, case {i}.",
            *[f"A heron was seen at {i} by person {j} {'and so on ' * 9}" for j in range(9)],
        ]
        for i in range(9)
    }
    with _archive(texts) as archive:
        question = "heron test fails at night"
        found = archive.search_threads("o", question, exchanges=True, max_tokens=1_000)
    assert {hit.thread for hit in found} == texts.keys()
    assert all(hit.passage.text.startswith("The heron test") for hit in found)
    assert all(hit.exchange for hit in found[:5])


def test_a_passage_that_is_found_by_itself_is_shown_in_the_exchange_it_is_in() -> None:
    prose = [f"We look at the clock of heron {i}. {'It is so. ' * 30}" for i in range(9)]
    deep = "\n".join([*["import os"] * 1_500, "HERON_CLOCK = 1719  # slow"])
    with _archive({"t": [*prose[:4], "Why is the heron clock slow?", *prose[4:8]]}) as archive:
        archive.append(ThreadKey("o", "t"), [Logged(Message("tool", (Text(deep),), name="Read"))])
        (hit,) = archive.search_threads("o", "slow heron clock", exchanges=True, max_tokens=700)
    shown = [hit.passage, *hit.exchange]
    assert any("1719" in passage.text for passage in shown)
    assert [one.position for one in hit.exchange] == sorted(one.position for one in hit.exchange)


def test_an_exchange_shows_a_file_that_was_read_twice_once() -> None:
    file = "\n".join(f"line {i} of the heron file" for i in range(8))
    with _archive({"t": ["Which heron file has the clock?", file, file, "It is set."]}) as archive:
        (hit,) = archive.search_threads("o", "clock heron file", exchanges=True)
    shown = "\n".join(passage.text for passage in (hit.passage, *hit.exchange))
    assert shown.count("line 5 of the heron file") == 1


def test_what_another_phrasing_finds_is_found_and_what_two_find_is_first() -> None:
    texts = {
        "one": ["The heron test fails."],
        "two": ["The clock of the runner is slow.", "So the watch was wrong."],
        "three": ["A bittern sleeps in the reeds of the pond."],
    }
    with _archive(texts) as archive:
        phrasings = ["heron test", "slow runner clock", "wrong watch"]
        found = archive.search_threads("o", phrasings, exchanges=True)
        alone = archive.search_threads("o", phrasings[:1], exchanges=True)
    assert [hit.thread for hit in found] == ["two", "one"]
    assert [hit.thread for hit in alone] == ["one"]


def test_an_exchange_shows_what_each_of_two_phrasings_finds_in_it() -> None:
    filler = [
        f"Output of the tool {k}: the login of portal {k} has an outage now. " for k in (0, 1)
    ]
    answer = "The certificate had expired, so certbot renewed it."
    texts = {
        "t": ["Please look at the login outage.", *filler, answer, *["x"] * 7, "later login"],
        "u": [*["nothing"] * 10, "A login outage of another day."],
    }
    for phrasings in (
        ["login outage", "certificate expired"],
        ["certificate expired", "login outage"],
    ):
        with _archive(texts) as archive:
            found = archive.search_threads("o", phrasings, exchanges=True, max_tokens=300)
        shown = [one.text for hit in found for one in (hit.passage, *hit.exchange)]
        assert any("certbot" in text for text in shown)


def test_a_text_of_two_threads_is_found_once_by_several_phrasings() -> None:
    shared = ["The heron nests early.", *["nothing"] * 20]
    texts = {"a": [*shared, "The bittern sleeps."], "b": [*shared, "The crane flies."]}
    with _archive(texts) as archive:
        found = archive.search_threads("o", ["heron bittern", "heron crane"], exchanges=True)
    assert [hit.passage.text for hit in found].count("The heron nests early.") == 1


def test_phrasings_without_exchanges_are_one_query() -> None:
    with _archive({"one": ["The heron fails."], "two": ["The crane flies."]}) as archive:
        found = archive.search_threads("o", ["heron", "crane"])
    assert {hit.thread for hit in found} == {"one", "two"}


@pytest.mark.parametrize("word", ["i", "I", "y", "ı"])
def test_a_word_of_one_letter_ends(word: str) -> None:
    """The beginning of a word is sought without the `i` that a `y` became."""
    with _archive({"one": [f"What {word} did not get to\nis left. {word}"]}) as archive:
        found = archive.search_threads("o", f"{word} did not get to {word}", exchanges=True)
    assert len(found) == 1


def test_a_filter_finds_what_the_newest_of_other_threads_would_push_out() -> None:
    many = across.MAX_HITS + across.MAX_LISTED + 10
    texts = {"old": ["common answer"], "other": ["common word"] * many, "new": ["nothing"]}
    with _archive(texts) as archive:
        archive.update_index("o")
        found = archive.search_threads("o", "common", threads={"old", "new"})
    assert [hit.thread for hit in found] == ["old"]


def test_a_thread_is_found_that_has_older_passages_with_a_word_than_are_read_of_all() -> None:
    texts = {"old": ["common answer"], "new": ["common word"] * (across.MAX_HITS + 10)}
    with _archive(texts) as archive:
        archive.update_index("o")
        found = archive.find_threads("o", "common")
    assert {hit.thread for hit in found} == {"old", "new"}


def test_threads_that_are_read_one_by_one_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database may restrict a statement to one thread: then the limits held for each already."""
    texts = {"old": ["common answer"], "new": ["common word"] * (across.MAX_HITS + 10)}
    listed, lookups = Transaction.listed_under, list[int]()

    def counted(
        self: Transaction,
        words: Sequence[str],
        first: int,
        end: int,
        limit: int,
        *,
        any_of: Sequence[str] = (),
    ) -> list[int]:
        lookups.append(first)
        return listed(self, words, first, end, limit, any_of=any_of)

    with _archive(texts) as archive:
        archive.update_index("o")
        monkeypatch.setattr(Transaction, "bound", "1")
        monkeypatch.setattr(Transaction, "listed_under", counted)
        found = archive.find_threads("o", "common")
    assert {hit.thread for hit in found} == {"old", "new"}
    assert len(lookups) == len(texts)
