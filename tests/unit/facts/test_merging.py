"""What becomes of new facts among those that are known."""

from collections.abc import Sequence
from dataclasses import replace

from thalweg.facts.changes import Change, Put
from thalweg.facts.merging.freshness import current, holds, until
from thalweg.facts.merging.planning import Hint, plan_merge
from thalweg.facts.values import Evidence, Fact, FactId, Trust


def fact(content: str, day: int = 1, *, trust: Trust = Trust.USER) -> Fact:
    at = f"2025-01-{day:02}T00:00:00Z"
    quote = Evidence("t", f"u{day}", content, at, trust)
    return Fact(
        FactId(f"{content} {day}"), content, "context", 0.8, at, "t",
        evidence=(quote,), trust=trust, observed_at=at, valid_from=at, written_by="learned:m",
    )  # fmt: skip


def after(facts: Sequence[Fact], *new: Fact) -> list[Fact]:
    held = {known.id: known for known in facts}
    for change in plan_merge(facts, new):
        assert isinstance(change, Put)
        held[change.fact.id] = change.fact
    return list(held.values())


def put(change: Change) -> Fact:
    assert isinstance(change, Put)
    return change.fact


BERLIN = fact("User lives in Berlin", 1)
MUNICH = fact("I moved to Munich", 5)


def test_what_is_said_again_keeps_its_id_and_gains_wording_evidence_and_date() -> None:
    again = replace(fact("The user resides in Berlin", 3), confidence=0.9)
    (merged,) = after([BERLIN], again)
    assert merged.id == BERLIN.id
    assert merged.content == BERLIN.content
    assert merged.aliases == (again.content,)
    assert merged.evidence == (*BERLIN.evidence, *again.evidence)
    assert (merged.observed_at, merged.confidence) == (again.observed_at, 0.9)
    assert merged.valid_from == BERLIN.valid_from


def test_an_update_ends_what_it_replaces_and_keeps_it() -> None:
    old, new = after([BERLIN], MUNICH)
    assert (old.status, old.superseded_by, old.valid_to) == (
        "superseded", MUNICH.id, MUNICH.valid_from,
    )  # fmt: skip
    assert (new.status, new.supersedes) == ("active", (BERLIN.id,))
    assert until(old) == "(until 2025-01-05)"
    assert not until(new)


def test_a_statement_older_than_what_is_known_comes_in_as_history() -> None:
    facts = after([MUNICH], BERLIN)
    assert [known.id for known in current(facts)[0]] == [MUNICH.id]
    older = next(known for known in facts if known.id == BERLIN.id)
    assert (older.status, older.superseded_by) == ("superseded", MUNICH.id)


def test_what_held_at_a_time_is_told_as_of_then() -> None:
    facts = after([BERLIN], MUNICH)
    assert [known.content for known in current(facts, "2025-01-03")[0]] == [BERLIN.content]
    assert [known.content for known in current(facts, "2025-01-05")[0]] == [MUNICH.content]
    assert not current(facts, "2024-12-31")[0]
    assert holds(facts[0], "2025-01-02")


def test_who_moves_back_lives_there_since_then() -> None:
    back = fact("User moved back to Berlin", 9)
    facts = after(after([BERLIN], MUNICH), back)
    assert [known.id for known in current(facts)[0]] == [back.id]
    assert len(facts) == 3


def test_what_is_trusted_less_waits_for_review_and_changes_nothing() -> None:
    for content in ("I moved to Munich", "The user resides in Berlin"):
        page = fact(content, 5, trust=Trust.WEB)
        known, waiting = after([BERLIN], page)
        assert known == BERLIN
        assert waiting.status == "quarantined"
        assert [held.id for held in current([known, waiting])[0]] == [BERLIN.id]


def test_what_was_imported_neither_replaces_nor_joins_what_the_user_said() -> None:
    for content in ("I moved to Munich", "The user resides in Berlin"):
        known, waiting = after([BERLIN], fact(content, 5, trust=Trust.IMPORT))
        assert known == BERLIN
        assert waiting.status == "quarantined"


def test_what_is_not_trusted_never_holds() -> None:
    assert not holds(fact("User lives in Berlin", 1, trust=Trust.TOOL))
    assert not holds(replace(BERLIN, status="quarantined"), "2025-02-01")


def test_what_the_user_says_takes_the_place_of_what_was_imported() -> None:
    imported = fact("The user resides in Berlin", 1, trust=Trust.IMPORT)
    facts = after([imported], fact("User lives in Berlin", 3))
    (held,) = current(facts)[0]
    assert held.trust == Trust.USER
    assert held.evidence[0].trust == Trust.USER


def test_what_is_protected_or_edited_by_hand_is_not_changed_by_what_is_learned() -> None:
    protected = replace(BERLIN, protected=True)
    edited = replace(BERLIN, written_by="user", evidence=())
    for guarded in (protected, edited):
        known, waiting = after([guarded], MUNICH)
        assert known == guarded
        assert waiting.status == "quarantined"


def test_the_users_own_word_changes_what_is_protected() -> None:
    told = replace(MUNICH, written_by="user")
    assert [f.id for f in current(after([replace(BERLIN, protected=True)], told))[0]] == [told.id]


def test_a_fact_ends_without_another_value() -> None:
    smokes, stopped = fact("User smokes", 1), fact("User quit smoking", 2)
    facts = after([smokes], stopped)
    assert [known.id for known in current(facts)[0]] == [stopped.id]


def test_several_new_facts_are_planned_one_after_another() -> None:
    facts = after([], BERLIN, MUNICH, fact("I live in Munich", 6))
    (held,) = current(facts)[0]
    assert held.id == MUNICH.id
    assert held.aliases == ("I live in Munich",)


def test_a_hint_counts_where_nothing_speaks_against_it_and_nowhere_else() -> None:
    first = replace(fact("User plays tennis with Ann", 1), subject="user", attribute="pastime")
    second = replace(fact("Ann and the user are at the court a lot", 2),
                     subject="user", attribute="fun")  # fmt: skip
    assert len(plan_merge([first], [second])) == 1
    hints = {second.id: Hint("same", first.id)}
    (merged,) = plan_merge([first], [second], hints=hints)
    assert put(merged).id == first.id
    other = replace(second, subject="bob")
    assert put(plan_merge([first], [other], hints=hints)[0]).id == other.id


def test_a_likeness_nominates_and_does_not_decide() -> None:
    tea, coffee = fact("User likes tea", 1), fact("User likes coffee", 2)
    assert len(current(after([tea], coffee))[0]) == 2
    plan = plan_merge([tea], [coffee], similar={coffee.id: [tea.id]})
    assert [put(change).id for change in plan] == [coffee.id]


def test_the_last_of_two_values_holds_even_where_nobody_planned_it() -> None:
    kept, past = current([BERLIN, MUNICH])
    assert [known.id for known in kept] == [MUNICH.id]
    assert [known.id for known in past] == [BERLIN.id]
