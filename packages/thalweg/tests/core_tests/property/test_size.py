"""Every request fits, and making it fit comes to an end."""

import json
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import assume, event, given, settings, target
from hypothesis import strategies as st
from pydantic import ValidationError

from core_tests.property.driving import Drive, drive, quick_count
from core_tests.property.strategies import Scenario, scenarios
from core_tests.property.test_requests import witness
from core_tests.property.writers import WRITERS
from thalweg.engine.compaction.offers import RETURN_REASON
from thalweg.engine.compaction.policy import RentOrBuy
from thalweg.engine.edits import Elide, Evict, Fold
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.tokens import Calibration, TokenCounts, exact_counter, measure
from thalweg.engine.window.budget import Budget
from thalweg.engine.window.window import OverheadSection

SHRINKING = (Elide, Evict, Fold)


@given(scenarios())
def test_i17_every_request_and_its_answer_fit_the_window(scenario: Scenario) -> None:
    """Counted again from what is sent, system prompt and framing included."""
    driven = drive(scenario)
    witness(driven)
    budget = scenario.budget
    target(max((r.tokens / budget.window for r in driven.requests), default=0.0))
    for request in driven.requests:
        tokens = sum(measure(m, quick_count).tokens for m in request.messages)
        assert tokens == request.tokens
        assert tokens + budget.output <= budget.window


@given(scenarios(), st.data())
def test_i17_counts_what_goes_beside_the_messages(scenario: Scenario, data: st.DataObject) -> None:
    """System prompt, tools, memory and skills: even where they change between two requests."""
    limit = scenario.budget.limit
    driven = Drive(scenario)
    window = driven.engine.window
    beside: list[int] = []

    def change(_: Drive) -> None:
        section = data.draw(st.sampled_from(get_args(OverheadSection)))
        window.set_overhead(section, data.draw(st.integers(0, limit // 8)))
        beside.append(sum(window.overhead.values()))

    driven.run(change)
    witness(driven)
    for request, tokens in zip(driven.requests, beside, strict=False):
        assert request.tokens + tokens <= limit
    assert window.tokens == window.ledger.total
    assert window.tokens == sum(i.tokens for i in window.items) + sum(window.overhead.values())


@given(scenarios(most=8))
@settings(max_examples=20)
def test_i17_holds_with_exact_counts(scenario: Scenario) -> None:
    """With OpenAI's own vocabulary, in which tokens of parts do not simply add up."""
    for request in drive(scenario, exact_counter()).requests:
        tokens = sum(measure(m, exact_counter()).tokens for m in request.messages)
        assert tokens + scenario.budget.output <= scenario.budget.window


@given(scenarios())
def test_i18_every_compaction_makes_the_request_smaller(scenario: Scenario) -> None:
    """No edit is committed that frees nothing; a fold by choice frees at least the minimum.

    Only the return of removed content adds what it says, to a request that fits.
    """
    eager = RentOrBuy(TARIFFS["openai"].model_copy(update={"read": 50.0}))
    driven = Drive(scenario, policy=eager if scenario.tariff == "openai" else None).run()
    for edit in driven.engine.history:
        event(type(edit).__name__)
        if edit.reason == RETURN_REASON:
            assert edit.freed < 0
            continue
        assert edit.freed > 0
        if isinstance(edit, Fold) and "cost as much" in edit.reason:
            assert edit.freed >= scenario.budget.progress


@given(scenarios())
def test_i18_what_edits_say_they_free_is_what_the_request_loses(scenario: Scenario) -> None:
    """Batch by batch: the figures of the ledger add up to the difference of the two views."""
    driven = Drive(scenario)
    freed: list[tuple[int, int]] = []
    apply = driven.engine.window.apply

    def measured(driven: Drive) -> None:
        driven.engine.window.settle()
        before = driven.engine.window.tokens
        done = len(driven.engine.history)
        pending.append((before, done))

    pending: list[tuple[int, int]] = []
    driven.run(measured)
    assert apply is not None
    for (before, done), request, (_, upto) in zip(
        pending, driven.requests, [*pending[1:], (0, len(driven.engine.history))], strict=False
    ):
        edits = driven.engine.history[done:upto]
        freed.append((before - request.tokens, sum(e.freed for e in edits)))
    assert all(lost == said for lost, said in freed)


@given(scenarios())
def test_i19_the_ladder_ends(scenario: Scenario) -> None:
    """Edits for one request are bounded by the messages in view, and each is made once a size."""
    driven = drive(scenario)
    edits = driven.engine.history
    turns = {e.turn for e in edits}
    for turn in turns:
        of_turn = [e for e in edits if e.turn == turn]
        assert len(of_turn) <= 8 + 3 * len(driven.entries)


@given(scenarios(hostile=False))
def test_i19_only_what_cannot_shrink_exceeds_the_window(scenario: Scenario) -> None:
    """The typed error comes only when the system prompt or one batch of calls is the window."""
    driven = drive(scenario)
    witness(driven)
    if driven.stopped is None:
        return
    error, budget = driven.stopped, scenario.budget
    assert error.irreducible
    system = sum(e.tokens for e in driven.entries if e.message.role == "system")
    assert error.needed > error.window
    assert system > budget.limit // 3


@given(scenarios())
def test_i20_one_counter_for_trigger_cut_and_acceptance(scenario: Scenario) -> None:
    """Every item has the tokens, bytes and media that its message measures; the sums agree."""
    driven = drive(scenario)
    window = driven.engine.window
    for item in window.items:
        size = measure(item.message, quick_count)
        assert (item.tokens, item.size_bytes, item.media) == (size.tokens, size.bytes, size.media)
    assert window.tokens == window.ledger.total == sum(i.tokens for i in window.items)
    assert window.ledger.bytes == sum(i.size_bytes for i in window.items)
    assert window.ledger.media == sum(i.media for i in window.items)


@given(st.lists(st.tuples(st.integers(2_000, 10**6), st.floats(0.6, 7.5)), min_size=1, max_size=30))
def test_i20_a_calibrated_count_is_an_upper_bound(calls: list[tuple[int, float]]) -> None:
    """What a provider reported is never above the bound of the same text afterwards."""
    calibration = Calibration()
    for estimated, factor in calls:
        reported = int(estimated * factor)
        calibration = calibration.observe(estimated=estimated, reported=reported)
        assert calibration.upper(estimated) >= reported
        assert calibration.upper(calibration.lower(estimated)) <= estimated + 8


@given(
    st.integers(2_000, 10**5),
    st.integers(0, 10**5),
    st.floats(1, 4),
    st.integers(0, 10),
)
def test_i20_a_request_that_is_counted_again_needs_what_it_was_counted(
    text: int, media: int, factor: float, repeats: int
) -> None:
    """Media are in the provider's tokens: only the text is multiplied, and refusals forget none."""
    reported = int(text * factor) + media
    ledger = TokenCounts.empty()
    ledger.add("history", text + media, media_tokens=media)
    calibration = Calibration(1.2, observations=3)
    for _ in range(1 + repeats):
        calibration = calibration.observe(estimated=text + media, reported=reported, media=media)
    budget = Budget(window=reported + 1_000, max_output=1_000 + reported // 20)

    needed = budget.calibrated(calibration).tokens_to_fit(ledger)
    assert needed > budget.calibrated(calibration).limit


@given(scenarios())
def test_i22_bytes_and_media_are_bounded_too(scenario: Scenario) -> None:
    """For any number of tokens; the body is measured as each wire writes it, without escapes."""
    budget = Budget(window=40_000, max_bytes=12_000, max_media=1)
    driven = drive(replace(scenario, budget=budget))
    witness(driven)
    for request in driven.requests:
        assert sum(i.size_bytes for i in request.items) <= budget.max_bytes
        assert sum(i.media for i in request.items) <= budget.max_media
        for name in ("openai-chat", "anthropic"):
            body = WRITERS[name](request.messages)
            strings = sum(len(s.encode("utf-8", "surrogatepass")) for s in _strings(body))
            framing = 400 * (1 + len(request.items)) + sum(
                120 * len(i.message.parts) + len(p.signature)
                for i in request.items
                for p in i.message.parts
                if hasattr(p, "signature")
            )
            assert strings <= budget.max_bytes + framing


def _strings(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [s for v in value.values() for s in _strings(v)]
        case list() | tuple():
            return [s for v in value for s in _strings(v)]
        case _:
            return []


@given(st.integers(1, 2_000_000), st.none() | st.integers(0, 300_000))
def test_i23_what_is_unknown_gets_a_careful_default(window: int, output: int | None) -> None:
    """Never nothing, never unlimited: a budget without any space is refused with an explanation."""
    try:
        budget = Budget(window=window, max_output=output)
    except ValidationError as error:
        assert "1000 tokens are needed" in str(error) or "are needed" in str(error)  # noqa: PT017
        return
    assert 0 < budget.limit <= window
    assert budget.limit + budget.output == window
    assert output is not None or 0 < budget.output <= 8_192
    for fixed in (0, budget.limit // 2):
        assert 0 < budget.tail(fixed) + budget.record(fixed) < budget.limit - fixed
    assert 0 < budget.progress <= budget.limit
    assert 0 < budget.preview < budget.result(0) <= budget.result(budget.limit) <= budget.limit


@pytest.mark.parametrize("missing", [0, -1])
def test_i23_missing_usage_changes_nothing(missing: int) -> None:
    """A provider that reports nothing is not one that counts nothing."""
    seen = Calibration().observe(estimated=100, reported=130)

    assert seen.observe(estimated=100, reported=missing) == seen


@given(scenarios())
def test_i30_compacting_what_was_just_compacted_does_nothing(scenario: Scenario) -> None:
    """A second request with nothing new has the same bytes and no edit."""
    driven = Drive(scenario)
    driven.run(lambda d: d.ask())
    assume(driven.requests)
    for first, again in zip(driven.requests, driven.requests[1:], strict=False):
        if first.arrived == again.arrived and first.edits:
            event("compacted")
            assert again.edits == ()
            assert again.items == first.items


def test_i30_the_json_of_a_budget_reads_back() -> None:
    """Settings survive the border."""
    budget = Budget(window=10_000)

    assert Budget.model_validate(json.loads(budget.model_dump_json())) == budget
