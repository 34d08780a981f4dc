"""Laws of the ledger of savings, for any thread, prices and rewrites."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from core_tests.property.strategies import Scenario, scenarios
from thalweg.engine.pricing.savings import ChargedRequest, Forecast, RequestChanges, Saving, Savings
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.pricing.tariff import Tariff, Tier
from thalweg.errors import ThalwegError
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.replay.account import LAYOUT_TOKENS
from thalweg_recorder.replay.fleet import replay_under
from thalweg_recorder.replay.questions import Questions
from thalweg_recorder.replay.results import ReplayRun
from thalweg_recorder.replay.subject import subject_of, terms_of

rates = st.floats(0.01, 0.5)
tiers = st.builds(
    lambda above, times: Tier(
        above=above, input=times, read=0.1 * times, write=1.25 * times, output=5 * times
    ),
    st.integers(100, 20_000),
    st.floats(1.5, 5),
)
tariffs = st.builds(
    lambda read, write, tier: Tariff(name="any", read=read, write=write, minimum=1, tiers=tier),
    rates,
    st.floats(1.0, 2.0),
    st.one_of(st.just(()), st.tuples(tiers)),
)


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a thread: what came before it, and what was taken out for it."""

    arrived: int
    cut: float
    """Where the first change is, as a share of the request; 1 for none."""
    dropped: float
    """How much of the rest after it is freed, as a share."""
    is_cold: bool
    asked: float
    fetched: float


steps = st.builds(
    Step,
    arrived=st.integers(1, 3_000),
    cut=st.one_of(st.just(1.0), st.floats(0, 0.999)),
    dropped=st.floats(0, 1),
    is_cold=st.integers(0, 5).map(lambda n: n == 0),
    asked=st.floats(0, 500),
    fetched=st.one_of(st.just(0.0), st.floats(0, 500)),
)
threads = st.lists(steps, min_size=1, max_size=40)


@dataclass(slots=True)
class Told:
    """The cost of a thread, by adding up its calls, and the ledger's lines about it."""

    never: float
    """Had nothing ever been taken out."""
    paid: float
    lines: list[Saving]


def told(thread: Sequence[Step], tariff: Tariff) -> Told:
    """Play a thread twice, as it was and as it would have been, and keep the ledger of it."""
    savings, never, paid = Savings(), 0.0, 0.0
    tokens = whole = 0
    for number, step in enumerate(thread, 1):
        before, whole_before = tokens, whole
        tokens, whole = tokens + step.arrived, whole + step.arrived
        change, same = None, before
        if step.cut < 1:
            first = int(tokens * step.cut)
            freed = int((tokens - first) * step.dropped)
            tokens, same = tokens - freed, min(first, before)
            change = RequestChanges(
                turn=number, reason="", freed=freed, took=[number], summary_cost=step.asked
            )
            paid += step.asked
        cached = 0 if step.is_cold else same
        sent = ChargedRequest(
            tariff=tariff,
            tokens=tokens,
            cached=cached,
            written=tokens - cached,
            same=same,
            is_cold=step.is_cold,
        )
        savings.call(sent, change)
        if step.fetched and savings.lines():
            savings.fetch(number, step.fetched)
            paid += step.fetched
        paid += cost(tariff, tokens, cached)
        never += cost(tariff, whole, 0 if step.is_cold else whole_before)
    return Told(never, paid, savings.lines())


def cost(tariff: Tariff, tokens: int, cached: int) -> float:
    """Price a request by the tariff alone."""
    prices = tariff.prices(tokens)
    return prices.read * cached + prices.write * (tokens - cached)


@given(threads, tariffs)
def test_all_gains_are_what_never_rewriting_would_have_cost_more(
    thread: list[Step], tariff: Tariff
) -> None:
    """To the last token: rewrites, summaries, fetches, cold caches and tiers of prices."""
    both = told(thread, tariff)
    event(f"{min(3, len(both.lines))} lines")
    gains = sum(line.realised for line in both.lines)
    assert gains == pytest.approx(both.never - both.paid, rel=1e-9, abs=1e-6)


def replayed(scenario: Scenario, tariff: Tariff) -> ReplayRun | None:
    """Replay a thread; `None` where it does not fit into the window."""
    subject = subject_of(Recording("any", "by hand", scenario.messages), Questions())
    try:
        runs = replay_under(subject, "thalweg", scenario.budget, [terms_of(subject, tariff)])
    except ThalwegError:
        return None
    return runs[0]


@pytest.mark.parametrize("hostile", [False, True])
@pytest.mark.parametrize("name", ["anthropic", "deepseek"])
@given(data=st.data())
def test_the_gains_of_a_replay_are_what_never_compacting_would_have_cost_more(
    name: str,
    hostile: bool,  # noqa: FBT001 (pytest passes it by name)
    data: st.DataObject,
) -> None:
    """Gains include fetches, cold caches and prefixes too short for a cache.

    To a token, but for the end of each request that a cache that matches in blocks does not cover,
    and for the notes that only one of both layouts of a disorderly thread needs.
    """
    tariff = TARIFFS[name]
    run = replayed(data.draw(scenarios(hostile=hostile)), tariff)
    if run is None:
        return
    event(f"{min(3, len(run.savings))} lines")
    gains = sum(line.realised for line in run.savings)
    odd = (tariff.block - 1) * (tariff.write - tariff.read)
    odd += tariff.write * LAYOUT_TOKENS * hostile
    assert abs(gains - (run.cost_unmanaged - run.cost_with_steps)) <= odd * len(run.calls) + 1e-6


@given(threads, tariffs, st.data())
def test_what_a_rewrite_gained_does_not_depend_on_later_ones(
    thread: list[Step], tariff: Tariff, data: st.DataObject
) -> None:
    """Where a token has one price, each gain is separate from those of later rewrites."""
    tariff = tariff.model_copy(update={"tiers": ()})
    thread = [
        Step(s.arrived, s.cut, s.dropped, is_cold=s.is_cold, asked=s.asked, fetched=0.0)
        for s in thread
    ]
    last = data.draw(st.integers(1, len(thread)))
    later_untouched = [
        step
        if k < last
        else Step(step.arrived, 1.0, 0.0, is_cold=step.is_cold, asked=0.0, fetched=0.0)
        for k, step in enumerate(thread)
    ]
    alone, lines = told(later_untouched, tariff).lines, told(thread, tariff).lines
    for one, other in zip(alone, lines, strict=False):
        assert one.realised == pytest.approx(other.realised, rel=1e-9, abs=1e-6)


@given(st.integers(2, 200), st.integers(1, 5_000), st.integers(0, 5_000), rates)
def test_a_forecast_is_kept_where_things_go_on_as_they_did(
    calls: int, freed: int, kept: int, read: float
) -> None:
    """Same prices, a cache that lives: what was expected by then is what was saved."""
    tariff = Tariff(name="any", read=read, write=1.25, minimum=1)
    savings = Savings()
    for number in range(1, calls + 1):
        tokens = kept if number > 1 else kept + freed
        change = RequestChanges(turn=2, reason="", freed=freed) if number == 2 else None
        savings.call(sent_warm(tariff, tokens, 0 if number <= 2 else kept), change)
    (line,) = savings.lines()
    assert line.calls == calls - 1
    assert line.realised == pytest.approx(line.expected)
    assert line.expected == pytest.approx(read * freed * line.calls - (1.25 - read) * kept)


def sent_warm(tariff: Tariff, tokens: int, same: int) -> ChargedRequest:
    """Send a request whose beginning the cache has."""
    return ChargedRequest(
        tariff=tariff, tokens=tokens, cached=same, written=tokens - same, same=same
    )


@given(st.floats(-100, 1e6), st.floats(0.001, 1e4), st.integers(0, 10_000))
def test_a_rewrite_pays_just_where_the_calls_reach_break_even(
    price: float, saving: float, calls: int
) -> None:
    """`gain` and `break_even` agree."""
    forecast = Forecast(price, saving, calls)
    if calls > forecast.break_even + 1e-6:
        assert forecast.gain > 0
    if calls < forecast.break_even - 1e-6:
        assert forecast.gain < 0
