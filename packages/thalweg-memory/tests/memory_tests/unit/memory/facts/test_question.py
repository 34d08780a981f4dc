"""What is read out of a question."""

import pytest

from thalweg_memory.facts.recall.ranking import MAX_WORDS, ask, ask_further, index_words, tells_time


def test_filler_is_not_looked_up() -> None:
    assert ask("What is it that you have?  Where was the telescope?").words == ("telescop",)


def test_a_question_of_nothing_but_filler_is_taken_at_its_word() -> None:
    assert ask("what is it").words == ("what", "is", "it")


def test_nothing_asks_nothing() -> None:
    assert ask("").words == ()


def test_words_that_shape_a_question_count_less() -> None:
    question = ask("Tell me the name of my telescope")
    weights = dict(zip(question.words, question.weights, strict=True))
    assert weights[index_words("name")[0]] < weights["telescop"]


def test_what_was_said_last_says_most_and_is_looked_up_first() -> None:
    question = ask("and the lens?", "I bought a telescope", "we spoke of stars")
    weights = dict(zip(question.words, question.weights, strict=True))
    assert question.words[0] == "len"
    assert weights["len"] > weights["telescop"] > weights["star"]


def test_chinese_particles_are_no_words() -> None:
    question = ask("我曾经和你推荐过一部科幻电影，它的名字是？")
    weights = dict(zip(question.words, question.weights, strict=True))
    assert {weights[word] for word in index_words("科幻电影")} == {1.0}
    assert not set(index_words("它的")) & set(question.words)
    assert max(weights[word] for word in index_words("荐过")) < 1


def test_a_long_text_is_looked_up_within_bounds() -> None:
    question = ask(" ".join(f"word{n}" for n in range(5_000)))
    assert len(question.words) == MAX_WORDS


def test_people_are_named_whatever_their_script() -> None:
    assert ask("What did Mary Ann's sister say?").names("Mary Ann")
    assert not ask("What did Mary say?").names("Mary Ann")
    assert ask("张曼婷喜欢什么").names("张曼婷")
    assert not ask("What did Mary say?").names("")


@pytest.mark.parametrize(
    "text",
    ["When did he go?", "What day was it?", "How long did it take?", "他什么时候去的", "多久"],
)
def test_a_question_may_ask_for_a_time(text: str) -> None:
    assert ask(text).expects_time


def test_most_questions_do_not_ask_for_a_time() -> None:
    assert not ask("What did he buy in Rome?").expects_time


@pytest.mark.parametrize("text", ["Where did I use to live? I used to", "我以前住在哪里"])
def test_a_question_may_ask_for_the_past(text: str) -> None:
    assert ask(text).expects_past


def test_a_time_that_is_given_asks_for_the_past() -> None:
    assert not ask("Where do I live?").expects_past


def test_a_time_is_told_by_words_or_figures() -> None:
    assert tells_time("We met on Friday.")
    assert tells_time("It was at 10:30")
    assert tells_time("我们上周见的")
    assert not tells_time("We met there")
    assert not tells_time("我们见过")


def test_asking_further_takes_the_words_of_hits_and_none_of_the_question() -> None:
    """A word counts more, the more and the better the hits that hold it."""
    further = ask_further(ask("Any telescope?"), [("a telescope of Piet", 3.0), ("Clara, Piet", 1)])

    assert further.words == ("piet", "clara")
    assert further.weights == (1.0, 0.25)
    assert ask_further(ask("Any telescope?"), []).words == ()
