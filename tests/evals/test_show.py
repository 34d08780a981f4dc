"""What is shown: our agent passes every probe, wherever its context is compacted.

One trial each, with the scripted model that does everything right that its context lets it: so
what fails is the agent. Whoever wants more seeds: `thalweg eval --trials 5`.
"""

import pytest

from thalweg.evals import PROBES, Evaluation, evaluate

pytestmark = pytest.mark.slow

CASES = [f"{probe.name}/{variant}" for probe in PROBES.values() for variant in probe.variants]


@pytest.mark.parametrize("trigger", [0.1, 0.25, 0.85])
@pytest.mark.parametrize("case", CASES)
def test_our_agent_passes(case: str, trigger: float) -> None:
    """With a window of 64,000 tokens. Where a judge has the last word, it is all but said."""
    [result] = evaluate(Evaluation(probes=(case,), triggers=(trigger,))).results

    needs_judge = result.why.endswith("only a judge can tell, and none was named")
    assert result.verdict == ("untested" if needs_judge else "passed"), result.why
