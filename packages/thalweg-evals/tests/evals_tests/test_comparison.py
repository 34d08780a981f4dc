"""Intervals of rates and of differences: laws, and values from the literature."""

from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from thalweg_evals.comparison import Interval, Verdict, difference, outcomes, rate

counts = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
gaps = st.lists(
    st.tuples(
        st.floats(-1e6, 1e6, allow_subnormal=False), st.floats(-1e6, 1e6, allow_subnormal=False)
    ),
    min_size=1,
    max_size=12,
)
verdicts = st.sampled_from(["passed", "failed", "untested"])
few = settings(max_examples=15, deadline=None)


def of(passed: int, n: int) -> Interval:
    """Return the interval of so many that passed."""
    yes: list[Verdict] = ["passed"]
    no: list[Verdict] = ["failed"]
    return rate(yes * passed + no * (n - passed))


def turned(found: Interval) -> Interval:
    """Name the other agent first."""
    return Interval(-found.value, -found.high, -found.low, found.n)


@pytest.mark.parametrize(
    ("passed", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_a_rate_has_the_intervals_that_newcombe_prints(
    passed: int, n: int, low: float, high: float
) -> None:
    """The four examples of R. G. Newcombe, Statistics in Medicine 17 (1998), 857-872, table I."""
    found = of(passed, n)

    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@given(counts)
def test_the_interval_of_a_rate_contains_it_and_stays_between_0_and_1(
    count: tuple[int, int],
) -> None:
    """Also where all or none passed."""
    found = of(*count)

    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.low < found.high


@given(counts, st.integers(2, 5))
def test_more_trials_of_the_same_rate_are_surer(count: tuple[int, int], times: int) -> None:
    """The interval shrinks."""
    one, more = of(*count), of(count[0] * times, count[1] * times)

    assert more.high - more.low < one.high - one.low


@given(counts)
def test_what_failed_has_the_interval_of_what_passed_seen_from_1(count: tuple[int, int]) -> None:
    """Exactly, up to the last bits of a float."""
    passed, n = count
    one, other = of(passed, n), of(n - passed, n)

    assert one.low == pytest.approx(1 - other.high, abs=1e-12)


def test_trials_that_tested_nothing_do_not_count() -> None:
    """Nor does a rate of none of them pretend to know anything."""
    assert rate(["passed", "untested", "failed"]) == rate(["passed", "failed"])
    assert rate(["untested"]) == Interval(0, 0, 1, 0)


@few
@given(gaps, st.integers(0, 9))
def test_the_interval_of_a_difference_contains_it(
    pairs: list[tuple[float, float]], seed: int
) -> None:
    """The interval contains the difference for any figures."""
    found = difference(pairs, seed)

    assert found.low <= found.value <= found.high


@few
@given(gaps, st.randoms(use_true_random=False))
def test_a_difference_is_that_of_its_pairs_in_any_order(
    pairs: list[tuple[float, float]], dice: Random
) -> None:
    """The difference does not depend on order, so that trials may run concurrently."""
    shuffled = list(pairs)
    dice.shuffle(shuffled)

    assert difference(shuffled, 3) == difference(pairs, 3)


@few
@given(gaps)
def test_naming_the_other_subject_first_turns_the_sign(pairs: list[tuple[float, float]]) -> None:
    """And changes nothing else."""
    swapped = [(other, one) for one, other in pairs]

    assert difference(swapped, 1) == turned(difference(pairs, 1))


@few
@given(gaps)
def test_more_pairs_of_the_same_differences_are_surer(pairs: list[tuple[float, float]]) -> None:
    """The interval shrinks; where all differ alike, it has no width to lose."""
    one, more = difference(pairs), difference(pairs * 4)
    assume(one.low < one.high)

    assert more.high - more.low < one.high - one.low


def test_a_bootstrap_of_many_pairs_comes_to_the_interval_of_the_normal_law() -> None:
    """60 better and 40 worse of 100: 0.2 ± 1.96 · √(0.96 / 100)."""
    found = difference([(1, 0)] * 60 + [(0, 1)] * 40)

    assert found.value == pytest.approx(0.2)
    assert found.low == pytest.approx(0.008, abs=0.025)
    assert found.high == pytest.approx(0.392, abs=0.025)


def test_another_seed_draws_others() -> None:
    """And the same seed the same."""
    pairs = [(float(k * k % 17), float(k)) for k in range(30)]

    assert difference(pairs, 1) == difference(pairs, 1)
    assert difference(pairs, 1) != difference(pairs, 2)


@given(st.lists(st.tuples(verdicts, verdicts)))
def test_pairs_of_which_one_tested_nothing_are_left_out(
    pairs: list[tuple[Verdict, Verdict]],
) -> None:
    """The rest are ones and zeros."""
    found = outcomes(pairs)

    assert len(found) == sum("untested" not in pair for pair in pairs)
    assert {figure for pair in found for figure in pair} <= {0.0, 1.0}
    assert difference([]).n == 0
