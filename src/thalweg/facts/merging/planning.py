"""What becomes of new facts: merged with what says the same, put in the place of what they update.

Two laws: nothing that was said is lost, and what is trusted less changes nothing that is trusted
more.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from thalweg.facts.changes import Change, Put
from thalweg.facts.merging.comparing import Comparison, compare, is_possible
from thalweg.facts.merging.statements import read_statement
from thalweg.facts.merging.statements.attributes import attribute_key
from thalweg.facts.proposals import Relation
from thalweg.facts.values import Fact, FactId, Trust


@dataclass(frozen=True, slots=True)
class Hint:
    """What a learner takes a new fact for. It decides nothing that code does not find possible."""

    relation: Relation
    of: FactId


def plan_merge(
    facts: Sequence[Fact],
    new: Sequence[Fact],
    *,
    hints: Mapping[FactId, Hint] | None = None,
    similar: Mapping[FactId, Sequence[FactId]] | None = None,
) -> list[Change]:
    """Plan what becomes of new facts, one after another.

    - What says the same is merged: the known fact keeps its id and words, and gets the other
      wording as an alias, its evidence, the later date and the higher confidence.
    - What is brought up to date is superseded, with its dates, and kept.
    - What was said before what is known, and learned after it, comes in as history.
    - What is trusted less, or contradicts what a person wrote by hand, is quarantined.

    A new fact that changes nothing gives nothing, and one whose id is known was taken in before:
    planning twice plans once.

    Args:
        facts: Those of the memory, whatever their status.
        new: Oldest first, where their order matters.
        hints: What a learner took them for, by their ids.
        similar: Known facts to look at whatever their words, by the new fact's id. Likeness
            nominates; it decides nothing.

    Returns:
        The changes in order; the last one of a fact is what becomes of it.
    """
    held = {fact.id: fact for fact in facts}
    changes: dict[FactId, Change] = {}
    for fact in new:
        if fact.id in held:
            continue
        hint = (hints or {}).get(fact.id)
        near = tuple((similar or {}).get(fact.id, ()))
        for put in _plan_one(list(held.values()), _dated(fact), hint, near):
            if held.get(put.fact.id) == put.fact:
                continue
            held[put.fact.id] = put.fact
            changes.pop(put.fact.id, None)
            changes[put.fact.id] = put
    return list(changes.values())


def candidates(facts: Sequence[Fact], new: Fact, similar: Sequence[FactId] = ()) -> Iterator[Fact]:
    """List the facts that a new one may have to do with: a rough and quick choice."""
    marks = read_statement(new.content, new.language).marks
    attributes = _attributes(new)
    for fact in facts:
        if not marks.isdisjoint(read_statement(fact.content, fact.language).marks) or (
            fact.id in similar or not attributes.isdisjoint(_attributes(fact))
        ):
            yield fact


def _attributes(fact: Fact) -> set[str]:
    return {attribute_key(fact.attribute)} if fact.attribute else set()


def _dated(fact: Fact) -> Fact:
    observed = fact.observed_at or fact.created_at
    return replace(fact, observed_at=observed, valid_from=fact.valid_from or observed)


def _plan_one(
    facts: Sequence[Fact], new: Fact, hint: Hint | None, similar: Sequence[FactId]
) -> Iterator[Put]:
    """Plan what becomes of one new fact."""
    near = candidates(facts, new, (*similar, *((hint.of,) if hint else ())))
    found = [(fact, _compared(fact, new, hint)) for fact in near]
    if new.status == "quarantined" or new.trust < Trust.IMPORT:
        yield from _quarantined(found, new, "it is not trusted")
        return
    same = [fact for fact, what in found if what.kind == "same" and _is_same_time(fact, new, found)]
    held = next((fact for fact in same if fact.trust == new.trust), None)
    if held:
        yield from _merged(held, new, found)
        return
    guarded = [
        (fact, what) for fact, what in found
        if fact.status == "active" and what.kind in {"same", "update"} and _guards(fact, new)
    ]  # fmt: skip
    if guarded:
        fact, what = guarded[0]
        why = "trusted less than" if new.trust < fact.trust else "against what was written by hand:"
        yield from _quarantined(found, new, f"{why} {fact.id}: {what.why}")
        return
    yield from _taken_in(found, new)


def _compared(fact: Fact, new: Fact, hint: Hint | None) -> Comparison:
    """Compare in the order in which the two were said; a hint counts if nothing speaks against."""
    earlier, later = (new, fact) if _said(new) < _said(fact) else (fact, new)
    found = compare(earlier, later)
    if not hint or hint.of != fact.id or found.kind in {"same", "update"}:
        return found
    if hint.relation == "new" or not is_possible(earlier, later, hint.relation):
        return found
    return Comparison(hint.relation, "a learner took it so")


def _said(fact: Fact) -> str:
    return fact.observed_at or fact.created_at


def _is_same_time(fact: Fact, new: Fact, found: Sequence[tuple[Fact, Comparison]]) -> bool:
    """Say whether a fact that says the same did so when the new one was said."""
    if fact.status == "active":
        return True
    if fact.status == "superseded":
        return not fact.valid_to or _said(new) < fact.valid_to
    return fact.status == "expired" and not any(what.kind == "update" for _, what in found)


def _guards(fact: Fact, new: Fact) -> bool:
    """Say whether a fact may not be changed by a new one."""
    if new.trust < fact.trust:
        return True
    is_learned = new.written_by.startswith(("learned", "agent"))
    return is_learned and (fact.protected or (fact.written_by == "user" and not fact.evidence))


def merged(known: Fact, new: Fact) -> Fact:
    """Put two facts that say the same into one: nothing that either was told is left out."""
    wordings = dict.fromkeys((*known.aliases, new.content, *new.aliases))
    wordings.pop(known.content, None)
    return replace(
        known,
        aliases=tuple(wordings),
        evidence=tuple(dict.fromkeys((*known.evidence, *new.evidence))),
        confidence=max(known.confidence, new.confidence),
        observed_at=max(known.observed_at, new.observed_at),
        valid_from=min(filter(None, (known.valid_from, new.valid_from)), default=""),
        trust=min(known.trust, new.trust),
        subject=known.subject or new.subject,
        attribute=known.attribute or new.attribute,
        value=known.value or new.value,
        language=known.language or new.language,
        supersedes=tuple(dict.fromkeys((*known.supersedes, *new.supersedes))),
        protected=known.protected or new.protected,
    )


def _merged(held: Fact, new: Fact, found: Sequence[tuple[Fact, Comparison]]) -> Iterator[Put]:
    one = merged(held, new)
    if one.status == "expired":
        one = replace(one, status="active")
    if held.status == "active":
        olds = [
            fact for fact, what in found
            if what.kind == "update" and fact.status == "active" and fact.id != held.id
            and _said(fact) <= _said(new) and not _guards(fact, new)
        ]  # fmt: skip
        one = _superseding(one, olds)
        yield from (Put(_ended(old, one), "said again since") for old in olds)
    if one != held:
        yield Put(one, "it was said again")


def _quarantined(found: Sequence[tuple[Fact, Comparison]], new: Fact, why: str) -> Iterator[Put]:
    """Keep a fact for review; one that waits already and says the same is kept once."""
    for fact, what in found:
        if fact.status == "quarantined" and what.kind == "same" and fact.trust == new.trust:
            one = merged(fact, new)
            if one != fact:
                yield Put(one, "it was said again")
            return
    yield Put(replace(new, status="quarantined"), f"for review: {why}")


def _superseding(fact: Fact, olds: Iterable[Fact]) -> Fact:
    """Add facts to those that a fact replaces."""
    ids = dict.fromkeys((*fact.supersedes, *(old.id for old in olds)))
    return replace(fact, supersedes=tuple(ids))


def _ended(old: Fact, by: Fact) -> Fact:
    """Let a fact end where the one that replaces it begins, and keep it."""
    ends = max(by.valid_from, old.valid_from)
    return replace(old, status="superseded", superseded_by=by.id, valid_to=ends)


def _taken_in(found: Sequence[tuple[Fact, Comparison]], new: Fact) -> Iterator[Put]:
    """Put a new fact beside what is known: before what was said later, after what it updates."""
    about = [
        (fact, what) for fact, what in found
        if fact.status in {"active", "superseded"} and fact.trust <= new.trust
        and (what.kind == "update" or (what.kind == "same" and fact.trust < new.trust))
    ]  # fmt: skip
    later = sorted(
        (fact for fact, _ in about if _said(fact) > _said(new)), key=lambda f: (_said(f), f.id)
    )
    earlier = [(fact, what) for fact, what in about if _said(fact) <= _said(new)]
    one = new
    if later:
        by = later[0]
        one = _ended(new, by)
        yield Put(_superseding(by, [new]), "something older was learned")
    olds = [
        (fact, what) for fact, what in earlier
        if fact.status == "active" or (fact.valid_to > _said(new))
    ]  # fmt: skip
    one = _superseding(one, [old for old, _ in olds])
    for old, what in olds:
        yield Put(_ended(old, one), what.why)
    yield Put(one, "it was said before what is known" if later else "it is new")
