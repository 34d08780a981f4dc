"""What fits, and what became of the rest."""

from dataclasses import replace

from memory_tests.unit.memory.facts.recalled import fact, turn
from thalweg.engine.tokens import exact_counter
from thalweg_memory.facts.recall.ranking import Ranked, RecallFeatures, RecallItem
from thalweg_memory.facts.recall.rendering import Recalled, pack
from thalweg_memory.facts.values import Fact, Profile, ProfileSection, Statement

_COUNT = exact_counter()


def _ranked(*told: Statement | Fact) -> list[Ranked]:
    """Rank in this order."""
    return [
        Ranked(
            RecallItem(at, turn=one) if isinstance(one, Statement) else RecallItem(at, fact=one),
            replace(RecallFeatures.none(), words=1 / at),
        )
        for at, one in enumerate(told, start=1)
    ]


def _fates(packed: Recalled) -> list[str]:
    return [one.fate for one in packed.placed]


def test_all_that_fits_is_shown() -> None:
    packed = pack(_ranked(turn("one", 0), turn("two", 1)), 500, _COUNT)
    assert _fates(packed) == ["shown", "shown"]
    assert packed.tokens == _COUNT(packed.text) <= 500
    assert [item.number for item in packed.items] == [1, 2]


def test_what_does_not_fit_is_passed_over_and_something_smaller_is_not() -> None:
    long = turn("word " * 300, 1)
    packed = pack(_ranked(turn("one", 0), long, turn("three", 2)), 120, _COUNT)
    assert _fates(packed) == ["shown", "no room", "shown"]


def test_a_budget_without_room_for_the_frame_shows_nothing() -> None:
    packed = pack(_ranked(turn("one")), 20, _COUNT)
    assert (packed.text, packed.tokens, _fates(packed)) == ("", 0, ["no room"])
    assert pack([], 0, _COUNT).text == ""


def test_the_same_said_twice_is_shown_once() -> None:
    packed = pack(
        _ranked(turn("I love tea!", 0), turn("i love TEA", 1, day="2023-05-08")), 500, _COUNT
    )
    assert _fates(packed) == ["shown", "said already"]


def test_the_same_words_in_another_order_are_not_the_same() -> None:
    packed = pack(_ranked(turn("Ann likes Bob", 0), turn("Bob likes Ann", 1)), 500, _COUNT)
    assert _fates(packed) == ["shown", "shown"]


def test_a_fact_and_the_turn_it_tells_are_shown_once() -> None:
    said = turn("I moved to Lisbon", 0)
    learned = fact("User lives in Lisbon", of=said)
    assert _fates(pack(_ranked(learned, said), 500, _COUNT)) == ["shown", "said already"]
    assert _fates(pack(_ranked(said, learned), 500, _COUNT)) == ["said already", "shown"]
    copied = fact("I moved to Lisbon!", of=said)
    assert _fates(pack(_ranked(said, copied), 500, _COUNT)) == ["shown", "said already"]


def test_a_turn_whose_fact_does_not_fit_is_shown() -> None:
    said = turn("I moved to Lisbon, and my sister, who plays the cello, came with me", 0)
    learned = fact("User lives in Lisbon " * 200, of=said, quote="I moved to Lisbon")
    assert _fates(pack(_ranked(learned, said), 500, _COUNT)) == ["no room", "shown"]


def test_the_newest_turns_fill_a_share_of_what_is_left() -> None:
    new = _ranked(*(turn(f"word{n} " * 20, n) for n in range(30)))
    packed = pack([], 400, _COUNT, newest=new)
    assert 0 < packed.tokens <= 400 * 0.5
    assert _fates(pack(new[:2], 400, _COUNT, newest=new))[:2] == ["shown", "shown"]


def test_there_is_room_for_the_profile() -> None:
    profile = Profile(
        (ProfileSection("workContext", "an engineer"), ProfileSection("recentMonths", "x " * 999))
    )
    packed = pack(
        _ranked(*(turn("word " * 20, n) for n in range(30))), 300, _COUNT, profile=profile
    )
    assert packed.profile.sections == profile.sections[:1]
    assert "Work: an engineer\n" in packed.text
    assert packed.tokens <= 300


def test_a_profile_stands_alone_where_nothing_is_recalled() -> None:
    profile = Profile((ProfileSection("workContext", "an engineer"),))
    assert "Work: an engineer\n" in pack([], 300, _COUNT, profile=profile).text


def test_there_is_room_for_what_the_user_stated() -> None:
    stated = replace(fact("Is allergic to nuts. " * 8), written_by="user")
    turns = [turn(f"word{n} " * 5, n) for n in range(30)]
    packed = pack(_ranked(*turns, stated), 300, _COUNT)
    assert packed.placed[-1].fate == "shown"
    assert packed.tokens <= 300


def test_what_the_user_stated_does_not_take_all_the_room() -> None:
    stated = [replace(fact(f"word{n} " * 15, f"fact-{n}"), written_by="user") for n in range(30)]
    packed = pack(_ranked(turn("the best answer " * 20, 0), *stated), 300, _COUNT)
    assert packed.placed[0].fate == "shown"


def test_a_counter_that_does_not_add_up_does_not_break_the_budget() -> None:
    def rough(text: str) -> int:
        return len(text) // 4 + (len(text) > 400) * 50

    packed = pack(_ranked(*(turn(f"word{n} " * 9, n) for n in range(30))), 200, rough)
    assert rough(packed.text) == packed.tokens <= 200
    assert "no room" in _fates(packed)
