"""The table of an eval: what trials of several agents took."""

from collections.abc import Sequence
from dataclasses import replace
from io import StringIO

from rich.console import Console

from evals_tests.evals.report.trials import a_result
from thalweg.engine.pricing.usage import Usage
from thalweg_evals.cli.table import tables
from thalweg_evals.results import Result


def a_trial(subject: str, number: int, cost: float | None, *, model: str = "live") -> Result:
    """Make the result of a trial that sent a million tokens more than the one before."""
    made = a_result(subject, number=number)
    tokens = Usage(1_000_000 * number, output=10)
    return replace(made, key=replace(made.key, model=model), tokens=tokens, cost=cost)


def drawn(results: Sequence[Result]) -> str:
    """Draw the tables."""
    out = StringIO()
    for table in tables(results):
        Console(file=out, width=160).print(table)
    return out.getvalue()


def test_what_trials_took_is_a_mean_with_its_interval() -> None:
    """Means are over the trials of each agent; in dollars for models with prices."""
    told = drawn([a_trial(name, n, n / 100) for name in ("ours", "theirs") for n in (1, 2, 3)])

    assert "2,000 (1,000-3,000)" in told
    assert "0.0200 (0.0100-0.0300)" in told
    assert "simulated" not in told


def test_a_scripted_model_costs_what_a_simulated_cache_says() -> None:
    """Its tokens have no price."""
    told = drawn([a_trial(name, 1, 0.0, model="scripted:searcher") for name in "ab"])

    assert "simulated cost" in told
    assert "dollars" not in told


def test_one_agent_is_compared_with_none() -> None:
    """The sums below the table are enough."""
    assert "tokens sent" not in drawn([a_trial("ours", 1, 0.01)])
