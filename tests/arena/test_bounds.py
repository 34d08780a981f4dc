"""What the hindsight bounds promise, against every schedule there is."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hypothesis import event, given
from hypothesis import strategies as st

from benchmarks.arena.oracle.folds import CompactionRules, ScheduledCompaction, cheapest
from benchmarks.arena.oracle.sets import LowestPrices, OracleMessage, least_cost
from benchmarks.arena.oracle.trail import ToolResultUse, Trail, TrailCall, TrailCut, sums_of
from thalweg.engine.entries import Message, Text
from thalweg.engine.pricing.savings import ASK_TOKENS
from thalweg.engine.pricing.tariff import Tariff, Tier
from thalweg.engine.window.items import WindowItem
from thalweg_recorder.replay.cache import PrefixCache, RequestCharge
from thalweg_recorder.replay.questions import RECALL_TOKENS

NEAR = 1e-6
"""Costs are sums of floats in another order."""

TIER = Tier(above=900, input=1.5, read=0.3, write=2.0, output=9.0)


@st.composite
def tariffs(draw: st.DrawFn) -> Tariff:
    """Draw the prices of a provider, with a cache of any rules."""
    return Tariff(
        name="drawn",
        read=draw(st.sampled_from((0.0, 0.02, 0.1, 0.5, 1.0))),
        write=draw(st.sampled_from((1.0, 1.25, 2.0))),
        output=draw(st.sampled_from((2.0, 8.0))),
        minimum=draw(st.sampled_from((1, 64, 500))),
        block=draw(st.sampled_from((1, 64))),
        tiers=draw(st.sampled_from(((), (TIER,)))),
    )


@st.composite
def trails(draw: st.DrawFn) -> Trail:
    """Draw a small recording: up to six calls, up to five cuts."""
    sizes = draw(st.lists(st.integers(1, 400), min_size=2, max_size=9))
    head = draw(st.integers(0, 1))
    lengths = sorted(draw(st.sets(st.integers(head + 1, len(sizes)), min_size=1, max_size=6)))
    records = draw(
        st.dictionaries(st.integers(head + 1, len(sizes) - 1), st.integers(1, 200), max_size=5)
        if head + 1 < len(sizes)
        else st.just({})
    )
    cuts = tuple(
        TrailCut(index, records[index], draw(st.frozensets(st.sampled_from("ab"))))
        for index in sorted(records)
    )
    moments = tuple(
        TrailCall(
            position,
            length,
            draw(st.booleans()) and draw(st.booleans()),
            tuple(draw(st.lists(needs(length), max_size=2))),
        )
        for position, length in enumerate(lengths)
    )
    return Trail(sum(sizes[:head]), head, sums_of(sizes), moments, cuts)


def needs(length: int) -> st.SearchStrategy[ToolResultUse]:
    """Draw a use of one of three results, in sight of a request of so many items."""
    return st.builds(
        ToolResultUse,
        source=st.integers(0, 2),
        seen_to=st.integers(-1, length - 1),
        fetched=st.integers(1, 300),
        identifier=st.sampled_from(("", "a", "b")),
    )


@st.composite
def rules(draw: st.DrawFn) -> CompactionRules:
    """Draw what a fold may do."""
    return CompactionRules(
        tariff=draw(tariffs()),
        limit=draw(st.sampled_from((300, 800, 10_000))),
    )


@dataclass(frozen=True)
class Walk:
    """One schedule under way, charged by the simulator itself."""

    cost: float
    cut: int
    """Which cut is in force; -1 for none."""
    fetched: frozenset[int]
    items: tuple[WindowItem, ...]
    folds: tuple[ScheduledCompaction, ...]


@given(trails(), rules())
def test_no_schedule_of_folds_is_cheaper(trail: Trail, rule: CompactionRules) -> None:
    """Every schedule there is, walked call by call: the cheapest costs what is promised."""
    found = cheapest(trail, rule)
    walks = every_schedule(trail, rule)
    event(f"{len(found.folds)} folds")
    least = min(walk.cost for walk in walks)
    assert abs(found.cost - least) < NEAR


@given(trails(), rules())
def test_the_schedule_costs_what_is_said(trail: Trail, rule: CompactionRules) -> None:
    """The folds that are named are a schedule, and it has that cost."""
    found = cheapest(trail, rule)
    costs = {walk.folds: walk.cost for walk in every_schedule(trail, rule)}
    assert abs(costs[found.folds] - found.cost) < NEAR


def every_schedule(trail: Trail, rule: CompactionRules) -> list[Walk]:
    """Walk every schedule of folds to the recording's end."""
    walks = [Walk(0.0, -1, frozenset(), (), ())]
    for call, moment in enumerate(trail.moments):
        there = [k for k, cut in enumerate(trail.cuts) if cut.index < moment.length]
        sizes = [tokens_of(request(trail, k, moment)) for k in (-1, *there)]
        most = max(rule.limit, min(sizes))
        steps = [step for walk in walks for step in onward(trail, rule, walk, call)]
        fitting = [step for step in steps if tokens_of(step.items) <= most]
        walks = fitting or steps
    return walks


def onward(trail: Trail, rule: CompactionRules, walk: Walk, call: int) -> Iterator[Walk]:
    """Make one call: with what is there, or with a fold at any later cut that may be made."""
    moment = trail.moments[call]
    there = [k for k, cut in enumerate(trail.cuts) if cut.index < moment.length]
    yield charged(trail, rule, walk, moment)
    for cut in there:
        if cut <= walk.cut:
            continue
        folds = (*walk.folds, ScheduledCompaction(call, cut))
        begun = replace(walk, cut=cut, fetched=frozenset[int](), folds=folds)
        yield charged(trail, rule, begun, moment)


def charged(trail: Trail, rule: CompactionRules, walk: Walk, moment: TrailCall) -> Walk:
    """Send a request to the simulated cache, and fetch what its turn misses."""
    items = request(trail, walk.cut, moment)
    cache = PrefixCache(rule.tariff)
    cache.send(walk.items)
    cost = walk.cost + priced(rule.tariff, cache.send(items, cold=moment.cold))
    fetched, index = set(walk.fetched), trail.head
    names = frozenset[str]()
    if walk.cut >= 0:
        index, names = trail.cuts[walk.cut].index, trail.cuts[walk.cut].names
    for need in moment.needs:
        in_sight = need.seen_to >= index or need.identifier in names
        if not in_sight and need.source not in fetched:
            fetched.add(need.source)
            cost += rule.fetch(need, tokens_of(items))
    return replace(walk, cost=cost, fetched=frozenset(fetched), items=items)


def request(trail: Trail, cut: int, moment: TrailCall) -> tuple[WindowItem, ...]:
    """Write the request of a call after a cut."""
    whole = [item(f"#{k}", trail.sums[k + 1] - trail.sums[k]) for k in range(moment.length)]
    if cut < 0:
        return tuple(whole)
    record = item(f"record {cut}", trail.cuts[cut].record)
    return (*whole[: trail.head], record, *whole[trail.cuts[cut].index :])


def item(text: str, tokens: int) -> WindowItem:
    """Make an item of so many tokens."""
    return WindowItem(Message("user", (Text(text),)), -1, tokens)


def tokens_of(items: tuple[WindowItem, ...]) -> int:
    """Add up what a request has."""
    return sum(item.tokens for item in items)


@st.composite
def lives(draw: st.DrawFn) -> tuple[list[OracleMessage], LowestPrices]:
    """Draw a small recording as a set of messages: up to five calls, up to six messages."""
    calls = draw(st.integers(1, 5))
    pieces: list[OracleMessage] = []
    for call in sorted(draw(st.lists(st.integers(0, calls - 1), max_size=6))):
        tokens = draw(st.integers(1, 500) | st.just(2 * RECALL_TOKENS))
        least = draw(st.sampled_from((tokens, min(tokens, 4))))
        wanted = draw(st.sets(st.integers(call, calls - 1), max_size=3))
        pieces.append(OracleMessage(tokens, least, call, tuple(sorted(wanted))))
    new = [sum(piece.least for piece in pieces if piece.call == call) for call in range(calls)]
    life = LowestPrices(
        draw(tariffs()),
        draw(st.sampled_from((0, 100, 1_000))),
        tuple(new),
        tuple(draw(st.booleans()) for _ in new),
    )
    return pieces, life


@given(lives(), st.data())
def test_no_set_of_messages_is_cheaper(
    drawn: tuple[list[OracleMessage], LowestPrices], data: st.DataObject
) -> None:
    """Any sequence of showing, shortening, dropping and showing again costs at least the bound."""
    pieces, life = drawn
    cache, fetched, cost = PrefixCache(life.tariff), set[int](), 0.0
    for call, cold in enumerate(life.cold):
        items, whole = [item("fixed", life.fixed)], set[int]()
        for k, piece in enumerate(pieces):
            if piece.call > call:
                continue
            if data.draw(st.booleans()):
                items.append(item(f"#{k}", piece.tokens))
                whole.add(k)
            elif piece.call == call:
                items.append(item(f"#{k}, shortened", piece.least))
                whole |= {k} if piece.least == piece.tokens else set()
        charge = cache.send(items, cold=cold)
        cost += priced(life.tariff, charge)
        for k, piece in enumerate(pieces):
            if call in piece.wanted and k not in whole | fetched:
                fetched.add(k)
                prices = life.tariff.prices(charge.tokens)
                cost += prices.read * charge.tokens + prices.output * ASK_TOKENS
                cost += prices.write * (ASK_TOKENS + min(piece.tokens, RECALL_TOKENS))
    event(f"{len(fetched)} fetched")
    assert least_cost(pieces, life) <= cost + NEAR


def priced(tariff: Tariff, charge: RequestCharge) -> float:
    """Price the simulated cache's charge for a request."""
    prices = tariff.prices(charge.tokens)
    plain = charge.tokens - charge.cached - charge.written
    return charge.cached * prices.read + charge.written * prices.write + plain * prices.input


PLAIN = Tariff(name="plain", read=0.1, write=1.0, minimum=1)


def test_what_a_fold_misses_at_once_is_fetched_once() -> None:
    """A result missed by the very call that a fold is made for is there for the calls after it."""
    need = ToolResultUse(source=0, seen_to=-1, fetched=10)
    moments = (TrailCall(0, 2, needs=(need,)), TrailCall(1, 3, needs=(need,)))
    trail = Trail(0, 0, sums_of((1_000, 1, 1)), moments, (TrailCut(1, 5),))
    rule = CompactionRules(PLAIN, limit=300)
    found, walks = cheapest(trail, rule), every_schedule(trail, rule)
    assert found.folds == (ScheduledCompaction(0, 0),)
    assert abs(found.cost - min(walk.cost for walk in walks)) < NEAR


def test_what_was_shortened_is_written_once_when_it_is_wanted() -> None:
    """A preview of 4 tokens, then all 500 of them: the bound asks for no more."""
    life = LowestPrices(PLAIN, 0, (4, 0), (False, False))
    assert least_cost([OracleMessage(500, 4, 0, (1,))], life) <= 4 + 500
