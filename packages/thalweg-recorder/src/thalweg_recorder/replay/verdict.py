"""The verdict on a replay, in a few sentences: its savings, and the losses of each policy."""

from collections.abc import Sequence

from thalweg.engine.pricing.tariff import PER_MILLION
from thalweg_recorder.replay.recorded import RECORDED
from thalweg_recorder.replay.results import ReplayRun

OWN_POLICY = "thalweg"
UNLIMITED = "none"
"""The policy that sends everything."""
CLOSE = 0.01
"""Costs that differ by a smaller share are called equal."""
THOUSAND = 1_000
CENT = 0.01


def verdict(runs: Sequence[ReplayRun]) -> list[str]:
    """Return what runs of the same recordings show, a sentence or two for each policy.

    The first sentence is about Thalweg, or the first policy where Thalweg is none of them. Of a
    recording under several tariffs the first counts.

    Example:
        >>> verdict([])
        []
    """
    groups: dict[str, list[ReplayRun]] = {}
    seen: set[tuple[str, str]] = set()
    for run in runs:
        if (name := (run.policy, run.trajectory)) not in seen:
            seen.add(name)
            groups.setdefault(run.policy, []).append(run)
    if not groups:
        return []
    first = next((name for name in groups if name.startswith(OWN_POLICY)), next(iter(groups)))
    rest = [name for name in groups if name not in {first, UNLIMITED, RECORDED}]
    return [
        _headline(first, groups[first]),
        *_recorded(groups.get(RECORDED, [])),
        *(f"{name}: {_price(groups[name])}; {_faults(groups[name])}." for name in rest),
        *_unlimited(groups.get(UNLIMITED, [])),
    ]


def _headline(name: str, runs: Sequence[ReplayRun]) -> str:
    what = "this session costs" if len(runs) == 1 else f"these {len(runs):,} sessions cost"
    cost, whole = (_total(runs, field) for field in ("cost", "cost_unmanaged"))
    if not whole:
        return f"The {'session has' if len(runs) == 1 else 'sessions have'} no model call."
    change = 1 - cost / whole
    if abs(change) < CLOSE:
        compared = ", as much as sending everything"
    else:
        direction = "less" if change > 0 else "more"
        compared = (
            f" instead of {_price(runs, 'cost_unmanaged')}, "
            f"{abs(change):.0%} {direction} than sending everything"
        )
    return f"With {name} {what} {_price(runs)}{compared}; {_faults(runs)}."


def _price(runs: Sequence[ReplayRun], field: str = "cost") -> str:
    in_dollars = all(run.usd_per_million for run in runs)
    return amount(runs, field) + ("" if in_dollars else " uncached input tokens")


def amount(runs: Sequence[ReplayRun], field: str = "cost") -> str:
    """Format a cost of runs in dollars, or in uncached input tokens where one has no dollars.

    Args:
        runs: At least one.
        field: The cost: a field of `ReplayRun`.
    """
    total = _total(runs, field)
    return dollars(total) if all(run.usd_per_million for run in runs) else f"{total:,.0f}"


def _total(runs: Sequence[ReplayRun], field: str) -> float:
    if all(run.usd_per_million for run in runs):
        return sum(float(getattr(run, field)) * (run.usd_per_million or 0) for run in runs) / (
            PER_MILLION
        )
    return float(sum(getattr(run, field) for run in runs))


def dollars(usd: float) -> str:
    """Format an amount of money: whole dollars from a thousand on, four digits below a cent.

    Example:
        >>> dollars(1234.5), dollars(4.846), dollars(0.0012)
        ('$1,234', '$4.85', '$0.0012')
    """
    digits = 0 if usd >= THOUSAND else 2 if usd >= CENT or not usd else 4
    return f"${usd:,.{digits}f}"


def _faults(runs: Sequence[ReplayRun]) -> str:
    """List the losses and the requests that would be rejected."""
    rows = [run.to_json(timing=False) for run in runs]
    lost = sum(run.unrecoverable_bytes for run in runs)
    gone, kept = (
        sum(getattr(run, f"goals_{name}") for run in runs) for name in ("lost", "verbatim")
    )
    missing, total = sum(run.recall.lost for run in runs), sum(run.recall.total for run in runs)
    over, invalid = (sum(row[key] for row in rows) for key in ("over_window", "invalid_requests"))
    parts = [
        f"{_size(lost)} cannot be read back" * bool(lost),
        f"{gone:,} of {gone + kept:,} requests of the user are no longer in the context"
        * bool(gone),
        f"{missing:,} of {total:,} details are not found again" * bool(missing),
        f"{over:,} {'call exceeds' if over == 1 else 'calls exceed'} the window" * bool(over),
        f"{invalid:,} {'call is' if invalid == 1 else 'calls are'} invalid" * bool(invalid),
    ]
    found = [part for part in parts if part]
    return ", ".join(found) if found else "nothing is lost"


def _recorded(runs: Sequence[ReplayRun]) -> list[str]:
    """Describe the costs of the agent that wrote the logs, and the content its compactions took."""
    if not runs:
        return []
    made = sum(run.summaries for run in runs)
    compactions = f"{made:,} compaction{'s' if made != 1 else ''}"
    return [f"What really happened: {_price(runs)}, {compactions}; {_faults(runs)}."]


def _unlimited(runs: Sequence[ReplayRun]) -> list[str]:
    over = sum(call.tokens > run.window for run in runs for call in run.calls)
    calls = sum(len(run.calls) for run in runs)
    exceed = "exceeds" if over == 1 else "exceed"
    return [f"Without any policy {over:,} of {calls:,} calls {exceed} the window."] if over else []


def _size(count: int) -> str:
    if count < THOUSAND:
        return f"{count} bytes"
    return f"{count / THOUSAND:,.0f} kB"
