"""Signed reasoning is shown only after what it was produced on."""

import pytest

from core_tests.unit.engine.threads import call, result, steps, user
from strict_llm.rules import anthropic_binding
from thalweg.engine import TARIFFS, Budget, Engine, RentOrBuy
from thalweg.engine.compaction.offers import Costs
from thalweg.engine.compaction.rewrites import evict
from thalweg.engine.edits import Fold, Strip
from thalweg.engine.entries import Message, Text, Thinking, ToolCall
from thalweg.engine.serialization import snapshot_from_bytes, snapshot_to_bytes
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.binding import BINDING_MODELS, ReasoningBinding, binds_thinking


def thinks(number: int, text: str = "") -> Message:
    """Think, signed, and call a tool; or answer with a text instead."""
    thought = Thinking(f"thought {number} " + "so it seems " * 20, signature=f"s{number}")
    said = Text(text) if text else ToolCall(f"c{number}", "Read", f'{{"file_path": "{number}.py"}}')
    return Message("assistant", (thought, said))


def binding_engine(window: int = 200_000) -> Engine:
    """Make an engine for a model that binds reasoning."""
    engine = Engine(
        Budget(window=window),
        RentOrBuy(TARIFFS["anthropic"], memory={"used": 0.0}),
        exact_counter(),
        lambda first, last: f"t:{first}-{last}",
        binds=True,
    )
    engine.prefixes.rebase("You are brief.")
    return engine


def work(engine: Engine, first: int, last: int) -> None:
    """Let the engine see some exchanges, the requests between them prepared."""
    for number in range(first, last):
        engine.prepare()
        engine.receive(thinks(number))
        engine.receive(result(f"c{number}", f"result {number} " + "word " * 50))
    engine.prepare()


def shown(engine: Engine) -> list[str]:
    """List the signatures in the request."""
    parts = (part for item in engine.window.items for part in item.message.parts)
    return [part.signature for part in parts if isinstance(part, Thinking)]


def test_the_strict_provider_binds_for_the_same_models() -> None:
    assert anthropic_binding.BINDING_MODELS == BINDING_MODELS


@pytest.mark.parametrize(
    ("name", "binds"),
    [
        ("anthropic:claude-fable-5-2", True),
        ("anthropic:claude-fable-5-2-20260915", True),
        ("us.anthropic.claude-opus-5-5-v1:0", True),
        ("openrouter:anthropic/claude-haiku-5.5", True),
        ("claude-opus-5", False),
        ("claude-fable-5-10", False),
        ("gpt-5.5", False),
        ("", False),
    ],
)
def test_models_that_bind_reasoning_are_known_by_name(name: str, *, binds: bool) -> None:
    """With any prefix or suffix that a gateway adds to the name."""
    assert binds_thinking(name) is binds


def test_without_an_edit_all_reasoning_stays() -> None:
    """A thread that only grows keeps every block."""
    engine = binding_engine()
    engine.receive(user("go"))
    work(engine, 0, 5)
    assert shown(engine) == ["s0", "s1", "s2", "s3", "s4"]
    assert not engine.history


def test_a_compaction_strips_what_was_produced_before_it_and_nothing_later() -> None:
    """The edit states why and what it took; reasoning produced on the record is kept."""
    engine = binding_engine(window=4_000)
    engine.receive(user("go"))
    work(engine, 0, 40)
    folds = [edit for edit in engine.history if isinstance(edit, Fold)]
    strips = [edit for edit in engine.history if isinstance(edit, Strip)]
    assert folds
    assert strips
    assert {edit.reason for edit in strips} == {"reasoning bound to another prefix"}
    newest = [f"s{number}" for number in range(40)][-len(shown(engine)) :]
    assert shown(engine) == newest


def test_a_changed_system_prompt_strips_all_reasoning() -> None:
    """Tools and system prompt come before everything."""
    engine = binding_engine()
    engine.receive(user("go"))
    work(engine, 0, 3)
    engine.prefixes.rebase("You are thorough.")
    work(engine, 3, 5)
    assert shown(engine) == ["s3", "s4"]


def test_reasoning_before_a_cleared_result_stays() -> None:
    """Only what comes after the first change is invalid."""
    engine = binding_engine()
    engine.receive(user("go"))
    work(engine, 0, 6)
    cleared = engine.window.entries[6]
    assert cleared.message.answers == "c2"
    engine.window.apply([evict(engine.planning_context(), cleared, 20, "asked for")])
    work(engine, 6, 8)
    assert shown(engine) == ["s0", "s1", "s2", "s6", "s7"]
    (strip,) = (edit for edit in engine.history if isinstance(edit, Strip))
    assert strip.positions == (7, 9, 11)


def test_another_engine_that_resumes_shows_the_same_reasoning() -> None:
    """Bonds come from the messages, strips from the saved state."""
    bonds: dict[str, ReasoningBinding] = {}

    def bond_in(_: int, message: Message) -> ReasoningBinding | None:
        return bonds.get(message.parts[0].signature if message.parts else "")  # type: ignore[union-attr]

    one = binding_engine(window=4_000)
    one.receive(user("go"))
    work(one, 0, 40)
    bonds |= {f"s{(p - 1) // 2}": bond for p, bond in one.bonds.items()}
    other = binding_engine(window=4_000)
    other.bond_in = bond_in
    live = [(p, entry.message) for p, entry in sorted(one.window.entries.items())]
    other.resume(snapshot_from_bytes(snapshot_to_bytes(one.standing())), live)
    for engine in (one, other):
        engine.receive(user("and now?"))
        engine.prepare()
    assert shown(other) == shown(one)
    assert other.bonds == one.bonds


def test_a_message_of_reasoning_alone_keeps_its_place_when_it_is_stripped() -> None:
    """What was produced after it is still bound to a request that had it."""
    engine = binding_engine()
    engine.receive(user("go"))
    engine.prepare()
    engine.receive(Message("assistant", (Thinking("hm", signature="alone"),)))
    engine.receive(user("well?"))
    work(engine, 1, 3)
    before = [item.message.text for item in engine.window.items]
    strips = engine.refuse_reasoning()
    engine.window.apply(strips)
    assert shown(engine) == []
    assert [item.message.text for item in engine.window.items] == before


def test_what_came_from_elsewhere_is_shown_until_something_before_it_changes() -> None:
    """Its prefix was not recorded, but nothing changed it here."""
    engine = binding_engine()
    engine.receive(user("go"))
    engine.receive(thinks(0))
    engine.receive(result("c0"))
    engine.prepare()
    assert shown(engine) == ["s0"]
    engine.prefixes.rebase("Other.")
    engine.receive(user("and?"))
    engine.prepare()
    assert shown(engine) == []


def test_a_refusal_strips_what_is_not_where_it_was_produced_or_else_all() -> None:
    """The model was not on record as binding, or something else changed the request on its way."""
    engine = binding_engine()
    engine.receive(user("go"))
    work(engine, 0, 3)
    (strip,) = engine.refuse_reasoning()
    assert isinstance(strip, Strip)
    assert len(strip.positions) == 3
    for _ in engine.steps(repairs=[strip]):
        pass
    assert shown(engine) == []
    assert engine.refuse_reasoning() == []


def test_a_model_that_does_not_bind_keeps_its_reasoning_through_edits() -> None:
    """Nothing is stripped for it."""
    engine = binding_engine(window=4_000)
    engine.binds = False
    engine.receive(user("go"))
    work(engine, 0, 40)
    for message in (*steps(1), call("z"), result("z")):
        engine.receive(message)
    engine.prepare()
    assert not any(isinstance(edit, Strip) for edit in engine.history)


def first_edit(*, binds: bool) -> int:
    """Let an engine work on one request; return the call of its first edit of something sent."""
    engine = binding_engine(window=200_000)
    engine.binds = binds
    engine.receive(user("go"))
    for number in range(200):
        engine.prepare()
        if engine.history:
            return engine.turn
        engine.receive(thinks(number))
        engine.receive(result(f"c{number}", "word " * 2_000))
    raise AssertionError


def test_reasoning_that_would_be_lost_makes_an_edit_come_later() -> None:
    """It is part of the price, for a model that binds it."""
    assert first_edit(binds=True) > first_edit(binds=False)


def test_reasoning_of_a_finished_exchange_costs_nothing() -> None:
    """So the edit preferably comes after a person's message."""
    engine = binding_engine()
    engine.receive(user("go"))
    work(engine, 0, 4)
    costs = Costs.of(engine.planning_context(), TARIFFS["anthropic"], cold=False)
    under_way = costs.lost_reasoning_cost(engine.planning_context(), 1)
    assert under_way == TARIFFS["anthropic"].output * sum(
        entry.thinking for entry in engine.window.entries.values()
    )
    assert costs.lost_reasoning_cost(engine.planning_context(), 3) < under_way
    engine.receive(user("and now?"))
    assert costs.lost_reasoning_cost(engine.planning_context(), 1) == 0
    engine.binds = False
    assert costs.lost_reasoning_cost(engine.planning_context(), 1) == 0


def test_a_lone_surrogate_in_prompt_or_words_is_hashed_like_any_text() -> None:
    """A thread may contain what no provider takes; the request's last check repairs it."""
    engine = binding_engine()
    engine.prefixes.rebase("You are \ud800.")
    engine.receive(user("go \udfff"))
    work(engine, 0, 2)
    assert shown(engine) == ["s0", "s1"]


def test_a_snapshot_has_texts_with_half_a_surrogate_pair() -> None:
    """Cut emoji and names of files in another encoding, which the archive stores as they are."""
    one = binding_engine(window=4_000)
    for k in range(40):
        one.receive(user(f"Read {k} caf\udce9-{k}.txt and \ud83d. " + "word " * 200))
        one.prepare()
    snapshot = one.standing()

    assert snapshot.fold
    assert "\udce9" in snapshot.fold.record
    assert snapshot_from_bytes(snapshot_to_bytes(snapshot)) == snapshot
