"""Confidence intervals of a rate, and of the difference between two agents.

Nothing here assumes many trials: an eval has a few dozen. Both intervals are of 95 %.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum, sqrt
from random import Random
from statistics import NormalDist
from typing import Literal

Verdict = Literal["passed", "failed", "untested"]
"""`untested`: the condition of the probe did not occur, such as a compaction."""
LEVEL = 0.95
"""How often an interval contains the estimated value."""
RESAMPLES = 10_000
_TESTED = {"passed", "failed"}


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its interval."""

    value: float
    low: float
    high: float
    n: int
    """Number of trials or pairs. If 0, the value has no meaning."""


def rate(verdicts: Iterable[Verdict]) -> Interval:
    """Return the pass rate of the tested trials, with Wilson's interval.

    Unlike the usual interval of a mean it lies between 0 and 1, and 10 of 10 is not a certain
    100 %. See E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical
    Inference", Journal of the American Statistical Association 22 (1927), 209-212; that it suits
    small numbers is shown by L. D. Brown, T. T. Cai and A. DasGupta, "Interval Estimation for a
    Binomial Proportion", Statistical Science 16 (2001), 101-133.

    Args:
        verdicts: Of trials of one kind; those that were not tested do not count.

    Example:
        >>> rate(["passed", "passed", "failed", "untested"])
        Interval(value=0.6666666666666666, low=0.20765960080204782, high=0.9385080552796037, n=3)
    """
    tested = [verdict for verdict in verdicts if verdict in _TESTED]
    n, passed = len(tested), tested.count("passed")
    if n == 0:
        return Interval(0.0, 0.0, 1.0, 0)
    low, high = _wilson(passed, n), 1 - _wilson(n - passed, n)
    return Interval(passed / n, low, high, n)


def _wilson(passed: int, n: int) -> float:
    """Return the lower end; the upper one is 1 minus that of the failures."""
    if passed == 0:
        return 0.0
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    share = passed / n
    spread = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (share + z * z / (2 * n) - spread) / (1 + z * z / n)


def difference(pairs: Iterable[tuple[float, float]], seed: int = 0) -> Interval:
    """Return the difference of the first of two agents to the second, on the same trials.

    The mean of the differences with its percentile interval of a bootstrap: pairs are drawn with
    replacement, so that the difficulty of a case for both does not count as noise. See B. Efron and
    R. J. Tibshirani, "An Introduction to the Bootstrap" (Chapman & Hall, 1993), chapter 13 for the
    percentiles; for pairs of one test set, P. Koehn, "Statistical Significance Tests for Machine
    Translation Evaluation", EMNLP 2004.

    The result depends neither on the order of the pairs nor, except for its sign, on the order of
    the agents. It uses only the observed differences: if all are the same it has no width, even
    for few of them, so show `n` with it.

    Args:
        pairs: Of the same case, seed and trial: figures, or `outcomes` of verdicts.
        seed: Seed of the draws.
    """
    seen = sorted(one - other for one, other in pairs)
    n = len(seen)
    if n == 0:
        return Interval(0.0, 0.0, 0.0, 0)
    turned = sorted(-gap for gap in seen)
    if turned > seen:  # so that swapping the agents only changes the sign
        found = _percentiles(turned, seed)
        return Interval(-found.value, -found.high, -found.low, n)
    return _percentiles(seen, seed)


def _percentiles(gaps: list[float], seed: int) -> Interval:
    n = len(gaps)
    dice = Random(seed)
    means = sorted(fsum(dice.choices(gaps, k=n)) / n for _ in range(RESAMPLES))
    cut = round(RESAMPLES * (1 - LEVEL) / 2)
    return Interval(fsum(gaps) / n, means[cut], means[-1 - cut], n)


def outcomes(pairs: Iterable[tuple[Verdict, Verdict]]) -> list[tuple[float, float]]:
    """Return verdicts as figures: 1 for passed, 0 for failed.

    A pair with a trial that was not tested has no information about the difference, and is dropped.
    """
    return [
        (float(one == "passed"), float(other == "passed"))
        for one, other in pairs
        if {one, other} <= _TESTED
    ]
