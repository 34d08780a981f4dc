"""The sets of conversations, through an agent: every eighth case by default.

`THALWEG_MEMORY_SETS=1` runs all of them; `python -m benchmarks.memory_agent` prints the misses.
"""

import os
from pathlib import Path

import pytest

from benchmarks.memory_agent import TRIES, rows

SETS = Path(__file__).parents[5] / "tests" / "sets" / "through_an_agent"
STEP = 1 if os.environ.get("THALWEG_MEMORY_SETS") else 8
MOST_WRONG = {
    "updates": 0.04,
    "distinct": 0.0,
    "distinct, the model says `replaces` every time": 0.0,
    "paraphrases": 0.05,
    "attacks, a fooled learner": 0.0,
    "honest": 0.03,
}
"""Share of the cases of a fitted set that may go wrong; see `docs/memory.md` for the figures."""


SECOND = ("attacks, a fooled learner", "honest")
"""Rows of the second set that rules were fitted to, too."""


@pytest.mark.parametrize(
    ("fitted", "name"),
    [*(("first", name) for name in MOST_WRONG), *(("second", name) for name in SECOND)],
)
def test_a_fitted_set_stays_as_good_as_it_is(fitted: str, name: str) -> None:
    """What was repaired once is not lost again."""
    of, attempt = TRIES[name]
    cases = rows(SETS / fitted, of)[::STEP]
    wrong = {
        case["id"]: found
        for case in cases
        if (found := [kind for kind in attempt(case) if not kind.startswith("(")])
    }
    assert len(wrong) <= round(MOST_WRONG[name] * len(cases) + 0.49), wrong
