"""Each reason for which something is recalled, apart."""

from dataclasses import replace

import pytest

from memory_tests.unit.memory.facts.recalled import SmallMemory, fact, turn
from thalweg_memory.facts.recall.ranking import Ranked, RecallFeatures, links


def _features(ranked: list[Ranked], text: str) -> RecallFeatures:
    return next(one.features for one in ranked if one.item.text == text)


def test_rare_words_say_more_than_frequent_ones() -> None:
    memory = SmallMemory.of(
        *(turn(f"I like tea number {n}", 10 * n, thread=f"t{n}") for n in range(9)),
        turn("the telescope arrived", thread="other"),
    )
    assert memory.first("Do I like the telescope?") == "the telescope arrived"


def test_a_short_turn_says_more_than_a_long_one_with_the_same_words() -> None:
    long = "my telescope and " + " ".join(f"word{n}" for n in range(80))
    memory = SmallMemory.of(turn(long, thread="a"), turn("my telescope", thread="b"))
    assert memory.first("telescope") == "my telescope"


def test_an_answer_is_found_by_the_question_before_it() -> None:
    memory = SmallMemory.of(
        turn("What instrument do you play?", 0),
        turn("The cello, since I was six.", 1),
        *(turn(f"nothing of the kind {n}", 9 + 3 * n) for n in range(8)),
    )
    ranked = memory.rank("Which instrument is played?")
    assert {one.item.number for one in ranked[:2]} == {1, 2}
    assert _features(ranked, "The cello, since I was six.").around > 0


def test_what_was_said_on_another_day_is_not_beside() -> None:
    memory = SmallMemory.of(
        turn("We spoke of the telescope", 0, day="2023-05-08"),
        turn("Good morning", 1, day="2023-06-08"),
    )
    ranked = memory.rank("telescope")
    assert [one.item.number for one in ranked] == [1]


def test_words_that_stand_together_say_more_than_the_same_apart() -> None:
    memory = SmallMemory.of(
        turn("red kite", 0, thread="a"),
        turn("red", 0, thread="b"),
        turn("kite", 0, thread="c"),
    )
    ranked = memory.rank("the red kite")
    together = [_features(ranked, text).together for text in ("red kite", "red", "kite")]
    assert together == [1.0, pytest.approx(0.5), pytest.approx(0.5)]


def test_the_best_of_a_day_speaks_for_the_others() -> None:
    memory = SmallMemory.of(
        turn("the telescope arrived in its telescope box", 0),
        *(turn("nothing", n) for n in range(1, 9)),
        turn("a telescope", 9),
    )
    ranked = memory.rank("telescope")
    best = max(one.features.words for one in ranked)
    assert {one.features.session for one in ranked} == {best}


def test_who_is_named_is_asked() -> None:
    memory = SmallMemory.of(
        turn("I adopted a dog", 0, author="Ann", thread="a"),
        turn("I adopted a dog", 0, author="Bob", thread="b"),
    )
    for name in ("Ann", "Bob"):
        first = memory.rank(f"What did {name} adopt?")[0].item.turn
        assert first is not None
        assert first.author == name


def test_the_users_own_words_go_before_the_assistants() -> None:
    memory = SmallMemory.of(
        turn("A book on gardens", 0, role="assistant", thread="a"),
        turn("A book on gardens", 0, role="user", thread="b"),
    )
    assert memory.rank("Which book on gardens did I read?")[0].item.number == 2


def test_an_assistant_whom_the_question_names_is_asked() -> None:
    """An agent with a name signs its answers; they count like the user's where it is meant."""
    memory = SmallMemory.of(turn("A book on gardens", 0, role="assistant", author="Bob"))
    assert memory.rank("Which book on gardens did Bob read?")[0].features.role == 0.0
    assert memory.rank("Which book on gardens did Ann read?")[0].features.role == 1.0


def test_a_question_seldom_answers_one() -> None:
    memory = SmallMemory.of(
        turn("Is the telescope red?", 0, thread="a"), turn("The telescope is red.", 0, thread="b")
    )
    assert memory.first("telescope red") == "The telescope is red."


def test_when_is_answered_by_a_time() -> None:
    memory = SmallMemory.of(
        turn("We saw the comet tail", 0, thread="a"), turn("We saw the comet Friday", 0, thread="b")
    )
    assert memory.first("When did we see the comet?") == "We saw the comet Friday"


def test_what_was_said_in_the_time_asked_about_goes_first() -> None:
    memory = SmallMemory.of(
        turn("I ran a race", 0, day="2023-06-08", thread="a"),
        turn("I ran a race", 0, day="2023-07-08", thread="b"),
    )
    assert memory.rank("Which race did I run in June?")[0].item.number == 1
    assert memory.rank("Which race did I run in July?")[0].item.number == 2


def test_the_day_is_among_the_words() -> None:
    memory = SmallMemory.of(
        turn("I ran a race", 0, day="2023-05-08", thread="a"),
        turn("I ran a race", 0, day="2023-07-11", thread="b"),
    )
    assert memory.rank("race on a Tuesday")[0].item.number == 2


def test_chinese_is_found_by_pairs_of_letters() -> None:
    memory = SmallMemory.of(
        turn("我昨天看了一部科幻电影《星际穿越》", 0, thread="a"),
        turn("今天天气不错，我去公园散步了", 0, thread="b"),
    )
    assert memory.rank("我推荐过哪部科幻电影？")[0].item.number == 1


def test_facts_and_turns_stand_in_one_ranking() -> None:
    said = turn("I moved to Lisbon last week", 3)
    memory = SmallMemory.of(turn("hello", 0), said, fact("User lives in Lisbon", of=said))
    ranked = memory.rank("Who lives in Lisbon?")
    assert ranked[0].item.number == 3
    assert _features(ranked, "User lives in Lisbon").around > 0


def test_confidence_decides_between_equals_only() -> None:
    sure, unsure = fact("Plays chess", "fact-1"), fact("Plays chess", "fact-2")
    memory = SmallMemory.of(unsure, sure)
    assert memory.rank("chess")[0].item.fact == sure  # the newer one
    shaky = SmallMemory.of(sure, replace(unsure, confidence=0.5))
    assert shaky.rank("chess")[0].item.fact == sure
    relevant = SmallMemory.of(fact("Plays golf"), replace(fact("Plays chess"), confidence=0.5))
    assert relevant.first("chess") == "Plays chess"


def test_what_holds_no_more_is_recalled_for_the_past_only() -> None:
    old = replace(
        fact("Lives in Berlin", "fact-1"), status="superseded", valid_to="2023-06-01T00:00:00Z"
    )
    memory = SmallMemory.of(old, fact("Lives in Lisbon", "fact-2"))
    assert [one.item.text for one in memory.rank("Who lives where?")] == ["Lives in Lisbon"]
    past = {one.item.text for one in memory.rank("Who lived where before?")}
    assert past == {"Lives in Lisbon", "Lives in Berlin"}


def test_a_turn_that_tells_what_holds_no_more_is_not_recalled_either() -> None:
    old = turn("I live in Berlin", 0, thread="a")
    memory = SmallMemory.of(old, turn("I live in Lisbon now", 0, thread="b"))
    stale = {old.uid: ["I live in Berlin"]}
    assert [one.item.number for one in memory.rank("Who lives where?", stale=stale)] == [2]
    assert len(memory.rank("Where did I live before that?", stale=stale)) == 2


def test_a_turn_most_of_which_holds_no_more_is_not_told_for_the_rest_of_it() -> None:
    said = "I have moved: I now live in Berlin."
    old = turn(said, 0, thread="a")
    memory = SmallMemory.of(old, turn("I live in Lisbon now", 0, thread="b"))
    stale = {old.uid: ["I now live in Berlin"]}
    assert [one.item.number for one in memory.rank("Who lives where?", stale=stale)] == [2]
    assert len(memory.rank("Where did I live before that?", stale=stale)) == 2


def test_a_piece_of_which_a_part_holds_no_more_is_not_told() -> None:
    old = turn("I live in Berlin, and I adopted a dog called Rex from the shelter", 0)
    memory = SmallMemory.of(old)
    stale = {old.uid: ["I live in Berlin"]}
    assert [one.item.number for one in memory.rank("dog live", stale=stale)] == []
    assert len(memory.rank("Where did I live before that?", stale=stale)) == 1


def test_neighbours_speak_for_each_other_both_ways() -> None:
    assert links({7: [5, 6, 8]}) == {
        7: {6: 0.4, 5: 0.2, 8: 0.3},
        6: {7: 0.3},
        5: {7: 0.2},
        8: {7: 0.4},
    }


def test_nothing_is_recalled_for_a_question_that_nothing_has_a_word_of() -> None:
    assert SmallMemory.of(turn("a lorry")).rank("feline") == []
    assert SmallMemory.of().rank("feline") == []
