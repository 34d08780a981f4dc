"""The published results: our agent passes every probe, at every point of compaction.

Each variant of a probe is compacted at one of three moments, and each probe at all of them.

One trial each, with the scripted model that does everything right that its context lets it: so
what fails is the agent. For more seeds: `thalweg eval --trials 5`.
"""

from itertools import cycle

import pytest

from thalweg_evals import PROBES, Evaluation, evaluate

pytestmark = pytest.mark.slow

TRIGGERS = (0.25, 0.1, 0.85)
"""Shares of the window at which the context is compacted."""


def cases() -> list[tuple[str, float]]:
    """Deal the triggers to the variants of each probe; where variants are fewer, they repeat."""
    dealt = []
    for probe in PROBES.values():
        rounds = max(len(probe.variants), len(TRIGGERS))
        pairs = zip(cycle(probe.variants), cycle(TRIGGERS), range(rounds))
        dealt += [(f"{probe.name}/{variant}", trigger) for variant, trigger, _ in pairs]
    return dealt


@pytest.mark.parametrize(("case", "trigger"), cases())
def test_our_agent_passes(case: str, trigger: float) -> None:
    """Our agent passes with a window of 64,000 tokens; only a case for a judge is untested."""
    [result] = evaluate(Evaluation(probes=(case,), triggers=(trigger,))).results

    needs_judge = result.why.endswith("only a judge model can grade it, and none was named")
    assert result.verdict == ("untested" if needs_judge else "passed"), result.why
