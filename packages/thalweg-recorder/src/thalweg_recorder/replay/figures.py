"""The figures of a replay's table: one function each, for the terminal and for the page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from thalweg.engine.pricing.tariff import PER_MILLION
from thalweg_recorder.replay.results import ReplayRun

THOUSAND = 1_000
CENT = 0.01


@dataclass(frozen=True, slots=True)
class Figure:
    """A column: its value for one run, or for several together."""

    name: str
    about: str
    """At most 64 characters."""
    text: Callable[[Sequence[ReplayRun]], str]
    is_bad: Callable[[Sequence[ReplayRun]], bool] = lambda _: False


def figures_of(runs: Sequence[ReplayRun]) -> tuple[Figure, ...]:
    """Return the columns of a table of these runs; the cost is named by what its bills have."""
    if is_whole(runs):
        return (WHOLE_COST, *FIGURES)
    return (INPUT_COST, *([WHOLE_COST] if any(run.is_whole for run in runs) else []), *FIGURES)


def is_whole(runs: Sequence[ReplayRun]) -> bool:
    """Return whether every bill is whole, so that their sum is."""
    return all(run.is_whole for run in runs)


def cost(runs: Sequence[ReplayRun]) -> float:
    """Return the sum of the bills of runs, or of their cost of input if one is not whole.

    In dollars if the prices of all are, else in uncached input tokens.
    """
    whole = is_whole(runs)
    return _total(runs, lambda run: run.bill.total if whole else run.cost_with_steps)


def cost_of_everything(runs: Sequence[ReplayRun]) -> float:
    """Return the same as `cost` for sending every call whole."""
    whole = is_whole(runs)
    return _total(runs, lambda run: run.bill_unmanaged if whole else run.cost_unmanaged)


def logged_cost(runs: Sequence[ReplayRun]) -> float:
    """Return the sum of what the usage in the logs of `recorded` costs at list prices."""
    return _total(runs, lambda run: run.logged_bill)


def amount(value: float, runs: Sequence[ReplayRun]) -> str:
    """Format a cost of runs: in dollars, or a number of uncached input tokens."""
    return dollars(value) if in_dollars(runs) else f"{value:,.0f}"


def in_dollars(runs: Sequence[ReplayRun]) -> bool:
    """Return whether the prices of all runs are in dollars."""
    return all(run.usd_per_million for run in runs)


def _total(runs: Sequence[ReplayRun], of: Callable[[ReplayRun], float]) -> float:
    if in_dollars(runs):
        return sum(of(run) * (run.usd_per_million or 0) / PER_MILLION for run in runs)
    return sum(map(of, runs), 0.0)


def dollars(usd: float) -> str:
    """Format an amount of money: whole dollars from a thousand on, four digits below a cent.

    Example:
        >>> dollars(1234.5), dollars(4.846), dollars(0.0012)
        ('$1,234', '$4.85', '$0.0012')
    """
    digits = 0 if usd >= THOUSAND else 2 if usd >= CENT or not usd else 4
    return f"${usd:,.{digits}f}"


def size(count: int) -> str:
    """Format a number of bytes.

    Example:
        >>> size(378_924)
        '379 kB'
    """
    return f"{count:,} bytes" if count < THOUSAND else f"{count / THOUSAND:,.0f} kB"


def _summed(runs: Sequence[ReplayRun], of: Callable[[ReplayRun], int]) -> int:
    return sum(map(of, runs))


def unreadable_bytes(runs: Sequence[ReplayRun]) -> int:
    """Return the bytes that the final contexts neither show nor can read back."""
    return _summed(runs, lambda run: run.unrecoverable_bytes)


def goals_lost(runs: Sequence[ReplayRun]) -> tuple[int, int]:
    """Return the goals that are not in the final contexts, and all."""
    gone = _summed(runs, lambda run: run.goals_lost)
    return gone, gone + _summed(runs, lambda run: run.goals_verbatim)


def _goals_text(runs: Sequence[ReplayRun]) -> str:
    gone, known = goals_lost(runs)
    return f"{gone:,} of {known:,}" if known else "-"


def details(runs: Sequence[ReplayRun]) -> list[int]:
    """Return the answers in the final contexts, those found by one search, and neither."""
    return [sum(getattr(run.recall, name) for run in runs) for name in ("inline", "search", "lost")]


def rejected(runs: Sequence[ReplayRun]) -> list[int]:
    """Return the requests over the window, and those that are invalid."""
    over = _summed(runs, lambda run: run.calls_over_window)
    return [over, _summed(runs, lambda run: run.invalid_requests)]


def _steps(runs: Sequence[ReplayRun]) -> list[int]:
    needed = _summed(runs, lambda run: run.steps_needed)
    return [needed, _summed(runs, lambda run: run.steps_lost)]


def _compared(runs: Sequence[ReplayRun]) -> str:
    everything = cost_of_everything(runs)
    return f"{cost(runs) / everything:.2f}" if everything else "-"


def _cached(runs: Sequence[ReplayRun]) -> str:
    calls = [call for run in runs for call in run.calls]
    tokens = sum(call.tokens for call in calls)
    return f"{sum(call.cached for call in calls) / tokens:.0%}" if tokens else "-"


def _each(numbers: Sequence[int]) -> str:
    return "/".join(f"{n:,}" for n in numbers) if any(numbers) else "0"


WHOLE_COST = Figure(
    "cost",
    "all calls: input, system prompt, tools, answers, summaries, steps",
    lambda runs: amount(cost(runs), runs) if is_whole(runs) else "-",
)
INPUT_COST = Figure(
    "cost of input",
    "with summaries and steps; without system prompt, tools, answers",
    lambda runs: amount(_total(runs, lambda run: run.cost_with_steps), runs),
)
FIGURES: tuple[Figure, ...] = (
    Figure("vs. all", "cost, divided by that of sending every call whole", _compared),
    Figure(
        "lost",
        "text that the final context neither shows nor can read back",
        lambda runs: size(unreadable_bytes(runs)) if unreadable_bytes(runs) else "0",
        lambda runs: unreadable_bytes(runs) > 0,
    ),
    Figure(
        "goals out",
        "quotes of goals and constraints not in the final context",
        _goals_text,
        lambda runs: goals_lost(runs)[0] > 0,
    ),
    Figure(
        "rejected",
        "requests over the window/invalid",
        lambda runs: _each(rejected(runs)),
        lambda runs: any(rejected(runs)),
    ),
    Figure(
        "details",
        "answers in the final context/found by one search/neither",
        lambda runs: _each(details(runs)) if any(details(runs)) else "-",
        lambda runs: details(runs)[-1] > 0,
    ),
    Figure(
        "steps",
        "calls to have removed content again/uses that none brings",
        lambda runs: _each(_steps(runs)),
        lambda runs: _steps(runs)[-1] > 0,
    ),
    Figure(
        "compactions",
        "a summary replaces older messages",
        lambda runs: f"{_summed(runs, lambda run: run.compactions):,}",
    ),
    Figure(
        "changes",
        "calls before which content already sent is changed",
        lambda runs: f"{_summed(runs, lambda run: run.changes):,}",
    ),
    Figure(
        "calls",
        "model calls of the recording",
        lambda runs: f"{_summed(runs, lambda run: len(run.calls)):,}",
    ),
    Figure(
        "largest",
        "tokens of the messages of the largest request",
        lambda runs: f"{max((run.peak_tokens for run in runs), default=0):,}",
    ),
    Figure("cached", "share of these tokens that the provider's cache had", _cached),
)
"""The columns after the cost, in order: the most important ones first."""
