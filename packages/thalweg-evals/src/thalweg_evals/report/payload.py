"""Results as one compact JSON object, for the page of the report.

Every trial is included with the sizes of its agent's requests; the requests themselves only if they
show a failure, with each message stored once and referenced.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from thalweg_evals.report.failures import failures
from thalweg_evals.report.rates import rates
from thalweg_evals.results import Result
from thalweg_evals.trace import Trace

_SHOWN = ("window", "verdict", "why", "judged", "value", "cost")


def payload(results: Sequence[Result]) -> dict[str, Any]:
    """Return the data of the page, in the order of the results.

    Example:
        >>> payload([])["trials"]
        []
    """
    return {
        "trials": [_trial(result) for result in results],
        "rates": rates(results),
        **failures(results),
    }


def _trial(result: Result) -> dict[str, Any]:
    tokens = result.tokens
    return {
        "id": result.key.id,
        **asdict(result.key),
        **{name: getattr(result, name) for name in _SHOWN},
        "tokens": [tokens.input, tokens.cached, tokens.output],
        "requests": len(result.trace.requests),
        "seconds": round(result.seconds, 2),
        "line": _line(result.trace),
    }


def _line(trace: Trace) -> dict[str, list[Any]]:
    """Return the sizes of the agent's own requests, in order.

    `starts` are those in another thread than the previous one, at which a line breaks; `drops` are
    compactions, each with the size of the thread's previous request.
    """
    agents = trace.agents()
    at = {one.number: place for place, one in enumerate(agents)}
    compactions = set(trace.compactions())
    before: dict[str, int] = {}
    drops: list[tuple[int, int]] = []
    for one in agents:
        if one.number in compactions:
            drops.append((at[one.number], before[one.thread]))
        before[one.thread] = one.tokens
    return {
        "tokens": [one.tokens for one in agents],
        "turns": [one.turn for one in agents],
        "starts": [k for k, one in enumerate(agents) if k and one.thread != agents[k - 1].thread],
        "drops": drops,
    }
