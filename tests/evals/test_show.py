"""What is shown: our agent passes every probe, wherever its context is compacted.

The first variant of each probe is compacted early, late and between; the others between.

One trial each, with the scripted model that does everything right that its context lets it: so
what fails is the agent. Whoever wants more seeds: `thalweg eval --trials 5`.
"""

import pytest

from thalweg.lab.evals import PROBES, Evaluation, evaluate

pytestmark = pytest.mark.slow

EARLY, MIDDLE, LATE = 0.1, 0.25, 0.85
"""Shares of the window at which the context is compacted."""
CASES = [
    (f"{probe.name}/{variant}", trigger)
    for probe in PROBES.values()
    for number, variant in enumerate(probe.variants)
    for trigger in ((EARLY, MIDDLE, LATE) if number == 0 else (MIDDLE,))
]


@pytest.mark.parametrize(("case", "trigger"), CASES)
def test_our_agent_passes(case: str, trigger: float) -> None:
    """With a window of 64,000 tokens. Where a judge has the last word, it is all but said."""
    [result] = evaluate(Evaluation(probes=(case,), triggers=(trigger,))).results

    needs_judge = result.why.endswith("only a judge model can grade it, and none was named")
    assert result.verdict == ("untested" if needs_judge else "passed"), result.why
