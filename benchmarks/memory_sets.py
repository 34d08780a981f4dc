"""What a memory makes of updates, duplicates, distinct facts, attacks and honest conversations.

    python -m benchmarks.memory_sets [--misses]

Every case goes through a real store, as it would in use. Pairs are remembered one after the
other: from the bare text; with the fields (subject, attribute, value) that a model gives; and
with its word for what the second is to the first, as it is asked for it (of distinct facts, the
wrong word: `update`). Conversations are captured, and what a fully fooled model proposes goes
through the gates, is merged and recalled.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tests.memory_sets import (
    HALVES,
    Case,
    Half,
    Pair,
    Statement,
    attacks,
    distinct,
    duplicates,
    updates,
)
from tests.memory_sets import honest as honest_cases

from thalweg.entries import Message, Text, ToolCall
from thalweg.errors import FactRefusedError
from thalweg.facts.capture import captured_turns
from thalweg.facts.gates import judge_told
from thalweg.facts.learning import Lesson, candidates, plan_learning
from thalweg.facts.merging import Hint, plan_merge
from thalweg.facts.proposals import Proposal, Relation
from thalweg.facts.settings import MemorySettings
from thalweg.facts.values import Fact, Scope, Trust
from thalweg.memory import Memory, open_memory
from thalweg.memory.clock import new_fact_id

NOW = "2026-11-01T12:00:00Z"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one case."""

    failed: str
    """How it went wrong; empty where it did not."""
    case: Pair | Case


Help = Literal["text alone", "with fields", "with a word"]
HELP: tuple[Help, ...] = ("text alone", "with fields", "with a word")


def remembered(pair: Pair, given: Help, relation: Relation) -> Memory:
    """Remember both statements of a pair, the first one first."""
    memory = Memory(open_memory(":memory:"), Scope("ada"), clock=lambda: NOW)
    for statement in (pair.first, pair.second):
        if given == "text alone":
            memory.remember(statement.content, said_at=statement.at)
        else:
            _put(memory, statement, relation if given == "with a word" else "new")
    return memory


def _put(memory: Memory, told: Statement, relation: Relation) -> None:
    fact = Fact(
        new_fact_id(),
        judge_told(told.content).proposal.content,
        "context",
        0.9,
        NOW,
        "t1",
        subject=told.subject,
        attribute=told.attribute,
        value=told.value,
        trust=Trust.USER,
        observed_at=told.at,
        written_by="learned:model",
    )
    facts = memory.store.facts(memory.scope, statuses=None)
    hints = {fact.id: Hint(relation, facts[0].id)} if facts else {}
    memory.store.commit(
        memory.scope,
        plan_merge(facts, [fact], hints=hints),
        expected=memory.store.version(memory.scope),
        actor="learned:model",
        now=NOW,
    )


def try_update(pair: Pair, given: Help) -> Outcome:
    """See whether the first statement is told as current after the second."""
    memory = remembered(pair, given, "update")
    current = [fact.content for fact in memory.facts()]
    if pair.first.content in current:
        return Outcome("stale", pair)
    if pair.second.content not in current:
        return Outcome("update lost", pair)
    shown = memory.recall(pair.question).text if pair.question else ""
    return Outcome("stale shown" if pair.first.content in shown else "", pair)


def try_duplicate(pair: Pair, given: Help) -> Outcome:
    """See whether a paraphrase is stored twice."""
    return Outcome("" if len(remembered(pair, given, "same").facts()) == 1 else "twice", pair)


def try_distinct(pair: Pair, given: Help) -> Outcome:
    """See whether two facts hold side by side."""
    held = len(remembered(pair, given, "update").facts())
    return Outcome("" if held == 2 else "merged or superseded", pair)  # noqa: PLR2004


def learned(case: Case) -> tuple[Memory, list[Fact], list[str]]:
    """Capture a conversation and learn what is proposed from it."""
    memory = Memory(open_memory(":memory:"), Scope("ada"), clock=lambda: NOW)
    turns = captured_turns(list(enumerate(_messages(case))), thread="t1", now=case.at)
    memory.store.capture(memory.scope, "t1", turns)
    turns = memory.store.turns(memory.scope, "t1")
    lesson = Lesson(MemorySettings(), NOW, "learned:model", new_fact_id)
    found, refused = candidates(
        [_proposal(case, uid) for uid in _cited(case)], turns, {turn.uid for turn in turns}, lesson
    )
    plan = plan_learning(found, [], lesson)
    memory.store.commit(memory.scope, plan.changes, expected=0, actor="learned:model", now=NOW)
    return memory, memory.facts(), refused


def _messages(case: Case) -> Iterator[Message]:
    """Write a conversation as a thread has it: a result stands behind its call."""
    for at, said in enumerate(case.messages):
        if said.role == "tool":
            call = ToolCall(f"c{at}", said.name or "tool", "{}")
            yield Message("assistant", (call,), uid=f"m{at}-call")
            yield Message(
                "tool", (Text(said.content),), answers=call.id, name=call.name, uid=f"m{at}"
            )
        else:
            yield Message(said.role, (Text(said.content),), uid=f"m{at}", at=case.at)


def _cited(case: Case) -> Iterable[str]:
    return (f"m{case.turn}",)


def _proposal(case: Case, uid: str) -> Proposal:
    return Proposal(
        case.content,
        case.category,  # type: ignore[arg-type]  # as the set has it
        case.confidence,
        uid,
        case.quote,
        subject=case.subject,
        attribute=case.attribute,
        value=case.value,
    )


def try_attack(case: Case) -> Outcome:
    """See whether a poison becomes a fact that holds."""
    _, facts, _ = learned(case)
    payload = (case.payload or case.content).casefold()
    poisoned = [fact for fact in facts if payload in f"{fact.content} {fact.value}".casefold()]
    return Outcome("became a fact" if poisoned else "", case)


def try_turns(case: Case) -> Outcome:
    """See whether what carries the poison is told as something that was said."""
    memory, _, _ = learned(case)
    shown = memory.recall(case.content).text.casefold()
    is_shown = bool(case.payload) and case.payload.casefold() in shown
    return Outcome("told as the user's own words" if is_shown else "", case)


def try_honest(case: Case) -> Outcome:
    """See whether an honest fact is learned."""
    _, facts, refused = learned(case)
    return Outcome("" if facts else f"not learned: {'; '.join(refused)}", case)


def outcome(attempt: Callable[[Pair, Help], Outcome], pair: Pair, given: Help) -> Outcome:
    """Try a pair; a statement that is refused is a failure of its own."""
    try:
        return attempt(pair, given)
    except FactRefusedError as error:
        return Outcome(f"refused: {error.problem}", pair)


def rows() -> Iterator[tuple[str, str, Sequence[Outcome]]]:
    """Try every set, each half of it."""
    pairs: tuple[tuple[str, Callable[[Half], list[Pair]], Callable[[Pair, Help], Outcome]], ...] = (
        ("updates", updates, try_update),
        ("duplicates", duplicates, try_duplicate),
        ("distinct", distinct, try_distinct),
    )
    for half in HALVES:
        for name, read, attempt in pairs:
            for given in HELP:
                tried = [outcome(attempt, one, given) for one in read(half)]
                yield half, f"{name}, {given}", tried
        yield half, "attacks, facts", [try_attack(one) for one in attacks(half)]
        yield half, "attacks, turns", [try_turns(one) for one in attacks(half)]
        yield half, "honest", [try_honest(one) for one in honest_cases(half)]


def main() -> None:
    """Print how many cases went wrong, and how."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="show each case that went wrong")
    misses = parser.parse_args().misses
    print(f"{'half':5} {'set':24} {'cases':>5} {'wrong':>5}  how")
    for half, name, outcomes in rows():
        wrong = [one for one in outcomes if one.failed]
        how = ", ".join(f"{n} {kind[:40]}" for kind, n in Counter(o.failed for o in wrong).items())
        print(f"{half:5} {name:24} {len(outcomes):5} {len(wrong):5}  {how[:100]}")
        for one in wrong if misses else ():
            told = one.case
            shown = (
                f"{told.first.content} | {told.second.content}"
                if isinstance(told, Pair)
                else f"{told.kind}: {told.content} | {told.quote}"
            )
            print(f"        {one.failed[:60]}: {shown}")


if __name__ == "__main__":
    main()
