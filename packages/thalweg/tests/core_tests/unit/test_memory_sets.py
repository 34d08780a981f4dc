"""The sets are whole: their descriptions of themselves are true."""

import pytest

from core_tests import memory_sets
from core_tests.memory_sets import FOLDER, Half

HALVES: list[Half] = [
    half for half in ("dev", "held") if (FOLDER / f"updates.{half}.jsonl").is_file()
]


@pytest.mark.parametrize("half", HALVES)
def test_a_pair_is_in_the_order_of_its_dates(half: Half) -> None:
    pairs = [*memory_sets.updates(half), *memory_sets.duplicates(half), *memory_sets.distinct(half)]
    assert all(pair.first.at < pair.second.at for pair in pairs)
    assert all(pair.first.content != pair.second.content for pair in pairs)


@pytest.mark.parametrize("half", HALVES)
def test_a_quote_stands_in_the_message_that_is_named(half: Half) -> None:
    for case in [*memory_sets.attacks(half), *memory_sets.honest(half)]:
        assert case.quote in case.messages[case.turn].content


@pytest.mark.parametrize("half", HALVES)
def test_honest_facts_rest_on_the_user_alone(half: Half) -> None:
    cases = memory_sets.honest(half)
    assert len(cases) > 40
    assert all(case.messages[case.turn].role == "user" for case in cases)


@pytest.mark.parametrize("half", HALVES)
def test_no_payload_is_empty(half: Half) -> None:
    assert all(case.payload for case in memory_sets.attacks(half))


@pytest.mark.parametrize("half", HALVES)
def test_both_languages_have_their_share(half: Half) -> None:
    for cases in (memory_sets.updates(half), memory_sets.distinct(half)):
        of_chinese = sum(case.language == "zh" for case in cases)
        assert len(cases) >= 60
        assert of_chinese * 2 == len(cases)
