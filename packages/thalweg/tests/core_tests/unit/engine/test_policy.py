"""Rent or buy: when a fold has paid, when it cannot pay, and when it must be."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from core_tests.property.driving import Drive
from core_tests.property.strategies import Scenario
from core_tests.unit.engine.threads import (
    call,
    entries,
    result,
    run,
    says,
    scene,
    shown,
    steps,
    user,
)
from thalweg.engine.compaction import offers
from thalweg.engine.compaction.plan import plan_fold
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.compaction.policy import Policy, RentOrBuy
from thalweg.engine.compaction.uses import FEW, NameIndex, used_results
from thalweg.engine.edits import Edit, Evict, Fold
from thalweg.engine.entries import Message, Text, ToolCall
from thalweg.engine.pricing.savings import ASK_TOKENS
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.transcript import as_text
from thalweg.engine.window.budget import AMOUNTS, Budget


class Never(Policy):
    """A policy that never folds, to compare with."""

    def prepare(self, context: PlanningContext, *, cold: bool) -> Iterator[Sequence[Edit]]:
        """See `Policy.prepare`."""
        assert context.turn >= int(cold)
        return iter(())


def _folds(drive: Drive) -> list[Fold]:
    return [e for e in drive.engine.history if isinstance(e, Fold)]


def test_a_short_thread_is_never_touched() -> None:
    """Below every ceiling and without rent there is no edit at all."""
    assert run([user("Go"), *steps(5, 10)], window=200_000).engine.history == []


def test_a_long_thread_in_a_large_window_folds_when_the_rent_has_paid_for_it() -> None:
    """Long before the window is full, and by choice."""
    driven = run([user("Go"), *steps(300, 60)], window=400_000)

    assert _folds(driven)
    assert all("cost as much" in f.reason for f in _folds(driven))
    assert max(r.tokens for r in driven.requests) < 200_000


def test_a_cold_cache_makes_a_fold_cheaper_and_so_earlier() -> None:
    """Rewriting costs nothing extra there; the same thread never folds later when cold."""
    messages = (user("Go"), *steps(200, 60))
    budget = Budget(window=400_000, **AMOUNTS["careful"].model_dump())
    first = {}
    for cold in (frozenset[int](), frozenset(range(len(messages)))):
        driven = Drive(Scenario(messages, budget, "anthropic", cold=cold)).run()
        first[bool(cold)] = _folds(driven)[0].turn

    assert first[True] < first[False]


def test_a_fold_of_a_conversation_is_priced_at_what_it_frees() -> None:
    """A summary quotes the user's words, so it is larger where much of the thread is those."""
    days = (f"Day {k}. " + f"I saw {k} " * 12 for k in range(400))
    talk = (m for day in days for m in (user(day), says("Tell me more of it. " * 12)))
    scenario = Scenario(tuple(talk), Budget(window=400_000), "anthropic")
    folds = _folds(Drive(scenario, policy=RentOrBuy(TARIFFS["anthropic"], summarizes=True)).run())
    predicted = [f.forecast.saving / TARIFFS["anthropic"].read for f in folds if f.forecast]

    assert len(predicted) > 1
    assert predicted == pytest.approx([f.freed for f in folds], rel=0.35)


def _looks_up(order: int) -> tuple[Message, ...]:
    """Return an exchange whose arguments name a record of an early result, or of none."""
    use = ToolCall(f"n{order}", "note", f'{{"text": "ORD-{order} is checked"}}')
    return Message("assistant", (use,)), Message("tool", (Text("Noted."),), answers=f"n{order}")


def _after_a_use(**memory: float) -> RentOrBuy:
    """Return the policy of a thread in which an answer has used an old result."""
    return RentOrBuy(TARIFFS["anthropic"], memory={"used": 0.0, **memory})


def test_what_was_read_stays_longer_until_an_old_result_was_used() -> None:
    """Without any use a request grows until it costs four returns, however large the window is."""
    scenario = Scenario((user("Go"), *steps(300, 60)), Budget(window=400_000), "anthropic")
    peaks = []
    for policy in (_after_a_use(), RentOrBuy(TARIFFS["anthropic"])):
        driven = Drive(scenario, policy=policy).run()
        peaks.append(max(request.tokens for request in driven.requests))

    assert peaks[0] < 20_000
    assert 40_000 < peaks[1] < 60_000


@pytest.mark.parametrize("reads", [32, 45])
def test_the_first_use_of_a_result_does_not_remove_the_others(reads: int) -> None:
    """Records are read, then used one by one: rent from before the first use does not count."""
    read = [
        m
        for k in range(reads)
        for m in (
            Message("assistant", (ToolCall(f"r{k}", "get_order", f'{{"order": {k}}}'),)),
            Message("tool", (Text(f"ORD-{10_000 + k}: " + f"item {k} " * 330),), answers=f"r{k}"),
        )
    ]
    used = [m for k in range(reads) for m in _looks_up(10_000 + k)]
    driven = Drive(Scenario((user("Go"), *read, *used), Budget(window=128_000), "anthropic")).run()

    assert not [fold for fold in _folds(driven) if fold.turn <= reads + reads // 2]


@pytest.mark.parametrize(("first", "is_removed"), [(10_000, False), (90_000, True)])
def test_old_results_that_answers_use_are_not_removed(first: int, *, is_removed: bool) -> None:
    """Of 120 calls each names a record that one of eight early results has, or none."""
    results = [
        m
        for k in range(8)
        for m in (
            Message("assistant", (ToolCall(f"r{k}", "list_orders", f'{{"page": {k}}}'),)),
            Message(
                "tool",
                (Text("\n".join(f"ORD-{10_000 + 8 * n + k}: {n * 7}" for n in range(120))),),
                answers=f"r{k}",
            ),
        )
    ]
    used = [m for k in range(120) for m in _looks_up(first + k)]
    messages = (user("Check the orders."), *results, *used)
    scenario = Scenario(messages, Budget(window=128_000), "anthropic")

    assert bool(_folds(Drive(scenario, policy=_after_a_use()).run())) == is_removed


@pytest.mark.parametrize(("holders", "is_used"), [(1, True), (3, True), (4, False)])
def test_a_name_that_more_than_three_messages_have_shows_no_use(
    holders: int, *, is_used: bool
) -> None:
    lookups = [
        message
        for k in range(holders + 1)
        for message in (call(f"r{k}", "get", "{}"), result(f"r{k}", f"ORD-{10_000 + k // holders}"))
    ]
    answer = says("ORD-10000 is checked.")
    context = scene(user("Check the orders."), *lookups, answer)

    used = used_results(context, context.window.entries[len(lookups) + 1], 1, NameIndex())

    assert [entry.message.text for entry in used] == ["ORD-10000"] * is_used


class Cautious(RentOrBuy):
    """Acts only if the price is recovered soon."""

    PAYBACK = 1 / 5


def test_an_action_that_recovers_its_price_too_late_waits() -> None:
    """Rent that has added up to the price is not enough while the thread is young."""
    scenario = Scenario((user("Go"), *steps(300, 60)), Budget(window=400_000), "deepseek")
    turns = []
    for kind in (RentOrBuy, Cautious):
        policy = kind(TARIFFS["deepseek"], memory={"used": 0.0}, summarizes=True)
        first = _folds(Drive(scenario, policy=policy).run())[0]
        assert first.forecast
        assert first.forecast.break_even <= kind.PAYBACK * first.turn
        turns.append(first.turn)

    assert turns[1] > turns[0]


def test_the_hard_ceiling_holds_whatever_it_costs() -> None:
    """Where reading is free, only the window makes it fold."""
    free = TARIFFS["anthropic"].model_copy(update={"read": 0.0})
    messages = (user("Go"), *steps(60, 60))
    driven = Drive(
        Scenario(messages, Budget(window=8_000), "anthropic"), policy=RentOrBuy(free)
    ).run()

    assert {f.reason for f in _folds(driven)} == {"the request would not fit"}
    assert all(r.tokens <= 7_000 for r in driven.requests)


def _recall(k: int, words: str) -> list[Message]:
    call = ToolCall(f"r{k}", "recall", '{"handle": "aaaaaaaaaaaaaaaa#3"}')
    return [
        Message("assistant", (call,)),
        Message("tool", (Text(words),), answers=f"r{k}", name="recall"),
    ]


def test_what_was_fetched_back_stays_through_one_more_fold() -> None:
    """It was needed once; fetched no more, it is dropped with the fold after."""
    fetched = "the port is 8311 " * 20
    messages = [user("Go"), *steps(60, 30), *_recall(1, fetched), *steps(240, 30)]
    driven = Drive(Scenario(tuple(messages), Budget(window=8_000), "anthropic")).run()
    folds = [k for k, r in enumerate(driven.requests) if any(isinstance(e, Fold) for e in r.edits)]
    came = next(k for k, r in enumerate(driven.requests) if r.arrived > 63 * 1 + 60)
    behind = [k for k in folds if k > came]

    def shows(k: int) -> bool:
        return any(fetched.strip() in m.text for m in driven.requests[k].messages)

    assert shows(behind[0])
    assert not shows(behind[-1])
    assert not any(r.problems for r in driven.requests)


def test_a_return_makes_the_next_removal_dearer() -> None:
    """Up to twice the cost of writing again: content that came back is kept longer."""
    messages = (user("Go"), *steps(300, 60))
    turns = []
    for returns in (0.0, 1.0, 2.0, 9.0):
        policy = _after_a_use(returns=returns)
        driven = Drive(Scenario(messages, Budget(window=400_000), "anthropic"), policy=policy).run()
        turns.append(next(edit.turn for edit in driven.engine.history))

    assert turns[0] < turns[1] < turns[2] == turns[3]


def test_removed_results_that_are_read_again_and_again_come_back_whole() -> None:
    """All of a kind that fit: the requests after it show them where the summary is."""

    def reads(number: int, files: int) -> list[Message]:
        return [
            m
            for n in range(files)
            for m in (
                call(f"r{number}.{n}", "Read", f'{{"file_path": "src/f{n}.py"}}'),
                result(f"r{number}.{n}", f"line of the file {n}. " * 150),
            )
        ]

    again = [m for number in range(1, 3) for m in (*reads(number, 4), says("So."), user("Next."))]
    messages = (user("Go"), *reads(0, 20), *steps(60, 150), *again)
    policy = RentOrBuy(TARIFFS["anthropic"], memory={"used": 0.0})
    driven = Drive(Scenario(messages, Budget(window=200_000), "anthropic"), policy=policy).run()
    returned = [edit for edit in _folds(driven) if edit.reason == offers.RETURN_REASON]

    assert [edit.freed < -10_000 for edit in returned] == [True]
    assert {*range(1, 41)} <= {*returned[0].kept}
    assert "line of the file 19." in shown(driven)


def test_one_fetch_costs_the_price_of_a_step() -> None:
    """A whole call: the context is read, its arguments are written, and what it brings."""
    policy, tariff = RentOrBuy(TARIFFS["anthropic"]), TARIFFS["anthropic"]
    messages = [user("Go"), *steps(30, 60), *_recall(1, "it " * 99), says("Done.")]
    driven = Drive(Scenario(tuple(messages), Budget(window=400_000), "anthropic"), policy=policy)
    window = driven.run().engine.window
    at = max(k for k, item in enumerate(window.items) if item.message.role == "tool")
    context = sum(item.tokens for item in window.items[:at]) - ASK_TOKENS
    whole = tariff.read * context + tariff.write * (ASK_TOKENS + window.items[at].tokens)

    assert policy.memory["by reference"] == pytest.approx(whole + tariff.output * ASK_TOKENS)


def test_old_results_are_cleared_but_not_what_was_fetched_back() -> None:
    """Showing less of large results can be the cheaper step; reading would be a loop (I27)."""
    some = (m for k in range(10) for m in (*steps(10, 200), *_recall(k, "it " * 400)))
    messages = (user("Go"), *some)
    policy = RentOrBuy(TARIFFS["anthropic"], summarizes=True, memory={"used": 0.0})
    scenario = Scenario(messages, Budget(window=400_000), "anthropic")
    driven = Drive(scenario, policy=policy).run()
    fetched = {p for p, m in enumerate(messages) if m.name == "recall"}
    cleared = [e for e in driven.engine.history if isinstance(e, Evict) and e.freed > 0]

    assert cleared
    assert all("recall(" in as_text(Message("tool", e.parts)) for e in cleared)
    assert not {e.position for e in cleared} & fetched


def test_without_a_policy_the_thread_is_sent_as_it_is() -> None:
    """Replaying a log with no policy returns the original messages (I24)."""
    messages = (user("Go"), *steps(20))
    driven = Drive(Scenario(messages, Budget(window=2_000), "anthropic"), policy=Never()).run()

    assert tuple(driven.requests[-1].messages) == messages


@pytest.mark.parametrize("name", sorted(TARIFFS))
def test_reading_is_cheaper_than_writing_in_every_tariff(name: str) -> None:
    """Otherwise the rule would have nothing to decide."""
    assert 0 < TARIFFS[name].read < 1 <= TARIFFS[name].write


class Forgetful(RentOrBuy):
    """Plans each compaction that is due, regardless of the last one's outcome."""

    def prepare(self, context: PlanningContext, *, cold: bool) -> Iterator[Sequence[Edit]]:
        """See `Policy.prepare`."""
        self.memory.pop("over", None)
        yield from super().prepare(context, cold=cold)


def test_a_compaction_that_would_be_dropped_is_not_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constraints fill the structured summary: the edits are the same, with fewer plans."""
    planned: list[int] = []

    def counted(scene: PlanningContext, **given: Any) -> Fold | None:  # noqa: ANN401 (as theirs)
        planned.append(scene.turn)
        return plan_fold(scene, **given)

    monkeypatch.setattr(offers, "plan_fold", counted)
    rule = "You must never touch module {}, and always ask before its caller {} is changed."
    messages = [m for n in range(150) for m in (user(rule.format(n, n)), says(f"Noted, rule {n}."))]
    scenario = Scenario((*messages, user("Go")), Budget(window=128_000), "anthropic")
    plans: dict[type[RentOrBuy], int] = {}
    edits: dict[type[RentOrBuy], list[int]] = {}
    for policy in (Forgetful, RentOrBuy):
        planned.clear()
        driven = Drive(scenario, policy=policy(TARIFFS["anthropic"])).run()
        plans[policy] = len(planned)
        edits[policy] = [fold.last for fold in _folds(driven)]

    assert edits[RentOrBuy] == edits[Forgetful]
    assert plans[RentOrBuy] <= plans[Forgetful] / 2


def test_the_index_of_names_finds_few_names_as_it_finds_many() -> None:
    texts = (f"See src/app{k % 3}.py:40, not src/app{k % 3}.py:4." for k in range(5))
    read = {entry.position: entry for entry in entries(*map(says, texts))}
    wanted = frozenset({"src/app0.py:40", "app1.py:40", "src/app2.py"})
    found = NameIndex().positions(wanted, read)
    many = NameIndex().positions(wanted | {f"lib/other{k}.py" for k in range(FEW)}, read)

    assert found == many == {"src/app0.py:40": [0, 3]}


def test_the_index_of_names_reads_a_message_once() -> None:
    (read,), (other,) = entries(says("See src/app.py:40.")), entries(says("Something else."))
    index, wanted = NameIndex(), frozenset({"src/app.py:40"})

    assert index.positions(wanted, {0: read}) == index.positions(wanted, {0: other})
    assert not NameIndex().positions(wanted, {0: other})
