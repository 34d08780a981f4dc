"""The verdict on a replay, in a few sentences: its savings, and the losses of each policy."""

from collections.abc import Sequence

from thalweg_recorder.replay.figures import (
    amount,
    cost,
    cost_of_everything,
    details,
    goals_lost,
    in_dollars,
    is_whole,
    logged_cost,
    rejected,
    size,
    unreadable_bytes,
)
from thalweg_recorder.replay.recorded import RECORDED
from thalweg_recorder.replay.results import ReplayRun

OWN_POLICY = "thalweg"
UNLIMITED = "none"
"""The policy that sends everything."""
MODELS_OF_PEERS = frozenset({"deepagents", "deerflow", "langchain"})
"""Policies that play the rules of other systems, which are not installed."""
CLOSE = 0.01
"""Costs that differ by a smaller share are called equal."""


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
    own, paid = groups[first], groups.get(RECORDED, [])
    if not any(run.calls for run in own):
        return [f"The {'session has' if len(own) == 1 else 'sessions have'} no model call."]
    rest = [name for name in groups if name not in {first, UNLIMITED, RECORDED}]
    if first == RECORDED:
        return [*_recorded(paid, has_cost=True), *_understated(paid)]
    simulated = {run.trajectory for run in paid if run.is_simulated}
    is_compared = {run.trajectory for run in own} == simulated
    return [
        _against_recorded(first, own, paid) if is_compared else _headline(first, own),
        *_recorded(paid, has_cost=not is_compared),
        *_understated(paid),
        *(f"{_label(name)}: {_cost(groups[name])}; {_losses(groups[name])}." for name in rest),
        *_unlimited(groups.get(UNLIMITED, []), own, has_cost=is_compared),
    ]


def _against_recorded(name: str, own: Sequence[ReplayRun], paid: Sequence[ReplayRun]) -> str:
    """Compare a policy with what the recorded agent cost and lost, both in the simulated cache."""
    was, now = cost(paid), cost(own)
    gone, known = goals_lost(paid)
    here, _ = goals_lost(own)
    readable = " (the agent can read them again in its transcript)" * (not unreadable_bytes(paid))
    left = f"{gone:,} of {known:,} requests of the user had left the context word for word"
    losses = [f"{left}{readable}, with {_title(name)} {f'{here:,}' if here else 'none'}"]
    losses = (losses if gone else []) + _loss_list(own)[1 if gone and here else 0 :]
    return (
        f"{_opening(paid)}. In a simulated cache the recorded calls cost about {_money(was, paid)}"
        f", with {_title(name)} about {_money(now, own)}{_compared(now, was)}; "
        f"{'; '.join(losses) or 'nothing is lost'}."
    )


def _opening(paid: Sequence[ReplayRun]) -> str:
    """State what the tokens of the logs cost, and whose prices that has."""
    bill = _money(logged_cost(paid), paid)
    logs = f"logs of {len(paid):,} sessions" if len(paid) > 1 else "log"
    if any(run.priced_by == "chosen" for run in paid):
        prices = f" at the prices of {_tariffs(paid)}"
    elif assumed := [run for run in paid if run.priced_by == "assumed"]:
        prices = f" with the prices of {_tariffs(assumed)} for a model without known prices"
    else:
        prices = " at list prices"
    return f"The tokens in the {logs} cost {bill}{prices}"


def _understated(paid: Sequence[ReplayRun]) -> list[str]:
    """State how many answers have more output than the logs state; every bill lacks it."""
    answers = sum(run.understated_answers for run in paid)
    if not answers:
        return []
    every = sum(len(run.calls) for run in paid)
    tokens = sum(run.unlogged_tokens for run in paid)
    sentence = (
        f"Every amount is too low by {tokens:,} output tokens, in our count: {answers:,} of "
        f"{every:,} answers have more than twice the output that their log states."
    )
    return [sentence]


def _headline(name: str, runs: Sequence[ReplayRun]) -> str:
    verb = "this session costs" if len(runs) == 1 else f"these {len(runs):,} sessions cost"
    now, everything = cost(runs), cost_of_everything(runs)
    instead = "" if _is_close(now, everything) else f" instead of {_money(everything, runs)}"
    against = instead + _compared(now, everything, "sending everything")
    return f"With {_title(name)} {verb} {_cost(runs)}{against}{_assumption(runs)}; {_losses(runs)}."


def _change(now: float, then: float) -> float:
    return 1 - now / then if then else 0.0


def _is_close(now: float, then: float) -> bool:
    return abs(_change(now, then)) < CLOSE


def _compared(now: float, then: float, name: str = "") -> str:
    if _is_close(now, then):
        return f", as much as {name}" if name else ", as much"
    change = _change(now, then)
    than = f" than {name}" if name else ""
    return f", {abs(change):.0%} {'less' if change > 0 else 'more'}{than}"


def _assumption(runs: Sequence[ReplayRun]) -> str:
    """Name the parts that a bill of input leaves out, and the prices where they are not known."""
    parts = []
    if not is_whole(runs):
        states = "the log states no usage" if len(runs) == 1 else "not all logs state usage"
        parts += [f"{states}: without system prompt, tools and answers"]
    if any(run.priced_by != "model" for run in runs):
        parts += [f"at the prices of {_tariffs(runs)}"]
    return f" ({', '.join(parts)})" if parts else ""


def _tariffs(runs: Sequence[ReplayRun]) -> str:
    return " and ".join(dict.fromkeys(run.tariff for run in runs))


def _title(name: str) -> str:
    return "Thalweg" if name == OWN_POLICY else name


def _label(name: str) -> str:
    return f"{name} (a model of its rules)" if name in MODELS_OF_PEERS else name


def _money(value: float, runs: Sequence[ReplayRun]) -> str:
    return amount(value, runs) + ("" if in_dollars(runs) else " uncached input tokens")


def _cost(runs: Sequence[ReplayRun]) -> str:
    """Format the bill of a group; one that is not whole is called that of input."""
    return _money(cost(runs), runs) + ("" if is_whole(runs) else " of input")


def _losses(runs: Sequence[ReplayRun]) -> str:
    return ", ".join(_loss_list(runs)) or "nothing is lost"


def _loss_list(runs: Sequence[ReplayRun]) -> list[str]:
    """List the losses and the requests that would be rejected, those of goals first."""
    lost = unreadable_bytes(runs)
    gone, known = goals_lost(runs)
    found = details(runs)
    missing, total = found[-1], sum(found)
    over, invalid = rejected(runs)
    parts = [
        f"{gone:,} of {known:,} requests of the user are no longer in the context" * bool(gone),
        f"{size(lost)} cannot be read back" * bool(lost),
        f"{missing:,} of {total:,} details not found by a search" * bool(missing),
        f"{over:,} {'call exceeds' if over == 1 else 'calls exceed'} the window" * bool(over),
        f"{invalid:,} {'call is' if invalid == 1 else 'calls are'} invalid" * bool(invalid),
    ]
    return [part for part in parts if part]


def _recorded(runs: Sequence[ReplayRun], *, has_cost: bool) -> list[str]:
    """Describe the compactions of the agent that wrote the logs, and the content that they took.

    Args:
        runs: Of the policy `recorded`; may be empty.
        has_cost: Whether no other sentence has its cost and the lost requests of the user.
    """
    made = sum(run.compactions for run in runs)
    if not runs or not (made or has_cost):
        return []
    gone = sum(run.evicted_tokens for run in runs)
    left = f" took {gone:,} tokens out of the context" if gone else ""
    readable = bool(gone) and not unreadable_bytes(runs)
    where = ", which the agent can read again in its transcript" if readable else ""
    losses = _loss_list(runs)
    if has_cost:
        ends = ", ".join(losses) or "nothing is lost"
    else:
        ends = ", ".join(losses[1 if goals_lost(runs)[0] else 0 :])
    opening = f"{_opening(runs)}; " if has_cost else "Recorded: "
    compactions = f"{made:,} compaction{'s' if made != 1 else ''}"
    return [f"{opening}{compactions}{left}{where}{f'; {ends}' if ends else ''}."]


def _unlimited(runs: Sequence[ReplayRun], own: Sequence[ReplayRun], *, has_cost: bool) -> list[str]:
    over, _ = rejected(runs)
    calls = sum(len(run.calls) for run in runs)
    sentences = []
    if has_cost:
        everything = _money(cost_of_everything(own), own)
        sentences += [f"Sending everything would cost about {everything} there."]
    if over:
        exceed = "exceeds" if over == 1 else "exceed"
        sentences += [f"Without any policy {over:,} of {calls:,} calls {exceed} the window."]
    return sentences
