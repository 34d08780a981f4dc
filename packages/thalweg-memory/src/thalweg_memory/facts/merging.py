"""The results of new facts: merged with facts that state the same, or replacing those they update.

Three laws: no statement is lost, a fact never changes one that is trusted more, and if the guard
refuses a verdict both facts are kept and linked. The guard is structural and needs no language: a
model's verdict to supersede or to merge is taken only if the facts are of one subject and share an
attribute, or if the new one names the value of the old one.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from thalweg.engine.words import STOP_WORDS, stem, words
from thalweg_memory.facts.gates import UNSPACED, plain_form
from thalweg_memory.facts.values import NO_FACT, Change, Fact, FactId, PutFact, Trust

RelationVerdict = Literal["same", "replaces", "ends", "narrows", "beside", "contests"]
"""The relation of a new fact to an existing one.

`replaces`: the existing one was true and is not any more, or was wrong. `ends`: it is over.
`narrows`: the new one states the same more exactly. `beside`: both are valid. `contests`: it would
change the existing one, but is in one message with words of others; no model answers so.
"""


def folded(text: str) -> str:
    """Fold a text to its words and signs: case, spaces and marks of sentences do not matter.

    Letters of scripts without spaces are words of their own.

    Example:
        >>> folded("Ada  likes TEA.") == folded("ada likes tea")
        True
        >>> folded("Ada writes C++"), folded("-5 °")
        ('ada writes c++', '-5 °')
    """
    plain = UNSPACED.sub(r" \g<0> ", plain_form(text))
    return " ".join(_MARK.sub(_sign, plain).split()) or " ".join(plain.split())


_MARK = re.compile(r"[^\w\s.'-]|(?<!\w)-(?!\w)|(?<!\w)[.']|[.'](?!\w)")


def _sign(mark: re.Match[str]) -> str:
    """Keep a mark that is part of a word: an accent, a symbol, a sign as in `C#`."""
    is_kept = mark[0] in "#%&/@\\" or unicodedata.category(mark[0]) in _WORD_CATEGORIES
    return mark[0] if is_kept else " "


_WORD_CATEGORIES = frozenset({"Mn", "Mc", "Me", "Sm", "Sc", "So"})
"""Combining marks, and symbols without modifiers such as the backtick."""


def has_same_wording(known: Fact, new: Fact) -> bool:
    """Return whether one of the wordings of an existing fact is that of the new one."""
    return folded(new.statement) in {folded(text) for text in (known.statement, *known.aliases)}


def are_of_two_subjects(known: Fact, new: Fact) -> bool:
    """Return whether two facts are about different subjects.

    One that names no subject is about any, and so is one whose subject the other one mentions: a
    fact about the user's dog Rex may be about `user` or about `rex`. A subject that neither the
    fact nor its quotes mention is a label of the learner's (`user`, `household`, `assistant`): two
    such labels are one subject.
    """
    one, other = folded(known.subject), folded(new.subject)
    if not (one and other) or one == other:
        return False
    if not (_names_its_subject(known) or _names_its_subject(new)):
        return False
    return not (_mentions(known, new.subject) or _mentions(new, known.subject))


def may_merge(known: Fact, new: Fact) -> bool:
    """Return whether two facts may be one, stated twice.

    They have the same numbers, or one of them has none: it may spell them out.
    """
    one, other = _numbers(known), _numbers(new)
    return not are_of_two_subjects(known, new) and (one == other or not (one and other))


def _mentions(fact: Fact, subject: str, *quotes: str) -> bool:
    words = set(words_of(subject))
    return bool(words) and words <= set(words_of(" ".join((fact.statement, fact.value, *quotes))))


def _names_its_subject(fact: Fact) -> bool:
    return _mentions(fact, fact.subject, *(each.quote for each in fact.evidence))


def may_supersede(known: Fact, new: Fact, *, is_named: bool = False) -> bool:
    """Return whether a new fact may replace an existing one.

    Args:
        known: The existing one.
        new: The later statement.
        is_named: Whether its learner, before a request for a verdict, had named the existing
            fact as the one that it updates: two readings agree.

    Example:
        >>> from dataclasses import replace
        >>> from thalweg_memory.facts.values import FactId
        >>> old = Fact(FactId("a"), "User lives in Bonn", "context", 1, "", "t",
        ...            subject="user", attribute="home city", value="bonn")
        >>> new = replace(old, id=FactId("b"), content="User moved to Kiel", value="kiel")
        >>> may_supersede(old, new), may_supersede(
        ...     old, replace(new, subject="ben", content="Ben moved to Kiel"))
        (True, False)
    """  # fmt: skip
    if are_of_two_subjects(known, new):
        return False
    if is_named or _attribute(known) & _attribute(new):
        return True
    new_words = set(words_of(" ".join((new.statement, *(each.quote for each in new.evidence)))))
    value_words = set(words_of(known.value))
    if value_words:
        return value_words <= new_words
    # Without fields, the content itself has to be about the same: most of its words are shared.
    content, shared = set(words_of(known.statement)), new_words & set(words_of(known.statement))
    return bool(shared) and 2 * len(shared) >= len(content)


def facts_sharing_words(facts: Iterable[Fact], new: Fact) -> Iterator[Fact]:
    """Yield the facts that share with a new one half of the words of the one with fewer, or more.

    Example:
        >>> from thalweg_memory.facts.values import FactId
        >>> tea = Fact(FactId("a"), "User prefers green tea", "preference", 1, "", "t")
        >>> mate = Fact(FactId("b"), "User prefers mate tea", "preference", 1, "", "t")
        >>> next(facts_sharing_words([tea], mate)) == tea
        True
    """
    new_words = set(words_of(new.statement))
    for fact in facts:
        known_words = set(words_of(fact.statement))
        if 2 * len(new_words & known_words) >= min(len(new_words), len(known_words)) > 1:
            yield fact


def words_of(text: str) -> list[str]:
    """List the words of a text that carry content, stemmed, each once."""
    found = dict.fromkeys(stem(word) for word in words(text) if word not in STOP_WORDS)
    return [word for word in found if word not in _USER]


_USER = {stem(word) for word in words("user users user's the用户")} | {"用户"}


def _attribute(fact: Fact) -> set[str]:
    return set(words_of(fact.attribute)) or {folded(fact.attribute)} - {""}


def _numbers(fact: Fact) -> set[str]:
    return {word for word in words(f"{fact.statement} {fact.value}") if word.isdigit()}


Verdicts = Mapping[FactId, Mapping[FactId, RelationVerdict]]
"""For each new fact, a model's verdicts on its relation to existing ones."""


def plan_merge(
    facts: Sequence[Fact],
    new: Sequence[Fact],
    *,
    verdicts: Verdicts | None = None,
    proposed_targets: Mapping[FactId, FactId] | None = None,
    similar: Mapping[FactId, Sequence[FactId]] | None = None,
) -> list[Change]:
    """Plan the changes for new facts, one after another.

    - A fact that states the same is merged: the existing fact keeps its id and words, and gets the
      other wording as an alias, its evidence, the later date and the higher confidence.
    - An updated fact is superseded, with its dates, and kept. A temporary fact supersedes
      nothing: the fact valid before it is valid again.
    - A fact stated before an existing one, and learned after it, is added as history.
    - A fact that ended before the stated beginning of an existing one replaces nothing.
    - A fact that is trusted less, or would change one that a person protected, is quarantined;
      quoted words of the user's are linked to it instead, and both are valid.
    - If the guard refuses the change of a verdict, the facts are linked, and both are valid.

    A new fact that changes nothing yields nothing, and one whose id exists was added before:
    planning twice plans once.

    Args:
        facts: Those of the memory that a new one may relate to, of any status.
        new: Oldest first, if their order matters.
        verdicts: A model's verdicts on them. Pairs without one are `beside`.
        proposed_targets: The existing fact that a learner named for a new one before a request for
            verdicts.
        similar: Existing facts that a new one is linked to if nothing else results from them.

    Returns:
        The changes in order; the last one of a fact is its final state.
    """
    held = {fact.id: fact for fact in facts}
    changes: dict[FactId, Change] = {}
    for fact in new:
        if fact.id in held:
            continue
        relation = _FactRelation(
            (verdicts or {}).get(fact.id, {}),
            (proposed_targets or {}).get(fact.id, NO_FACT),
            (similar or {}).get(fact.id, ()),
        )
        for put in _plan_one(list(held.values()), _with_dates(fact), relation):
            if held.get(put.fact.id) == put.fact:
                continue
            held[put.fact.id] = put.fact
            changes.pop(put.fact.id, None)
            changes[put.fact.id] = put
    return list(changes.values())


def _with_dates(fact: Fact) -> Fact:
    observed = fact.observed_at or fact.created_at
    return replace(fact, observed_at=observed, valid_from=fact.valid_from or observed)


@dataclass(frozen=True, slots=True)
class _FactRelation:
    """The verdicts, the proposed target and the links of a new fact."""

    of: Mapping[FactId, RelationVerdict]
    proposed_target: FactId
    links: Sequence[FactId]


@dataclass(frozen=True, slots=True)
class _KnownRelations:
    """The relations of existing facts to a new one."""

    same: list[Fact]
    superseded: list[Fact]
    """The facts that it would supersede."""
    linked: list[Fact]


def _relations_to_known(
    facts: Sequence[Fact], new: Fact, relation: _FactRelation
) -> _KnownRelations:
    same: list[Fact] = []
    superseded: list[Fact] = []
    links = (fact for fact in facts if fact.id in relation.links)
    linked = [fact for fact in links if not are_of_two_subjects(fact, new)]
    for fact in facts:
        verdict = relation.of.get(fact.id, "beside")
        if has_same_wording(fact, new) or (verdict == "same" and may_merge(fact, new)):
            if not _is_past(fact, new):
                same.append(fact)
        elif verdict in {"replaces", "ends", "narrows", "contests"}:
            earlier, later = (new, fact) if _stated_at(new) < _stated_at(fact) else (fact, new)
            ends = later.valid_to and later.valid_to <= _stated_at(later)
            lasts = not later.is_temporary and (ends or not later.valid_to)
            lasts = lasts and not _ended_before(later, earlier)
            lasts = lasts and verdict != "contests"
            if lasts and may_supersede(
                earlier, later, is_named=fact.id == relation.proposed_target
            ):
                superseded.append(fact)
            elif fact.id == relation.proposed_target or not are_of_two_subjects(fact, new):
                linked.append(fact)
    return _KnownRelations(same, superseded, linked)


def _plan_one(facts: Sequence[Fact], new: Fact, relation: _FactRelation) -> Iterator[PutFact]:
    """Plan what becomes of one new fact."""
    found = _relations_to_known(facts, new, relation)
    if new.status == "quarantined" or new.trust < Trust.IMPORT:
        yield from _quarantined(found, new, "it is not trusted")
        return
    alike = (fact for fact in found.same if _is_same_time(fact, new, found))
    held = next((fact for fact in alike if fact.authority == new.authority), None)
    if held is not None:
        yield from _merged(held, new, found)
        return
    touched = (fact for fact in (*found.same, *found.superseded) if fact.status == "active")
    guarded = [fact for fact in touched if _is_protected_from(fact, new)]
    if guarded and not new.claim:
        is_less = new.authority < guarded[0].authority
        why = "trusted less than" if is_less else "against what is protected:"
        yield from _quarantined(found, new, f"{why} {guarded[0].id}")
        return
    if any(has_same_wording(fact, new) for fact in guarded):
        return
    if guarded:
        found = _KnownRelations(
            [fact for fact in found.same if fact not in guarded],
            [fact for fact in found.superseded if fact not in guarded],
            [*found.linked, *guarded],
        )
    yield from _plan_addition(found, new, relation.of)


def _ended_before(later: Fact, earlier: Fact) -> bool:
    """Return whether a later statement is of a time before that of an earlier one began."""
    has_begun = earlier.valid_from[:10] != _stated_at(earlier)[:10]
    return has_begun and "" < later.valid_to < earlier.valid_from


def _stated_at(fact: Fact) -> str:
    return fact.observed_at or fact.created_at


def _is_past(fact: Fact, new: Fact) -> bool:
    """Return whether a fact ended before a new one was stated, which is about a later time."""
    is_later = "" < fact.valid_to < _stated_at(new) and fact.status != "superseded"
    return is_later and not "" < new.valid_to <= fact.valid_to


def _is_same_time(fact: Fact, new: Fact, found: _KnownRelations) -> bool:
    """Return whether a fact that states the same was valid at the time of the new one."""
    if fact.status == "active":
        return True
    if fact.status == "superseded":
        return not fact.valid_to or _stated_at(new) < fact.valid_to
    return fact.status == "expired" and not found.superseded


def _is_protected_from(fact: Fact, new: Fact) -> bool:
    """Return whether a fact may not be changed by a new one."""
    is_learned = new.written_by.startswith(("learned", "agent"))
    return new.authority < fact.authority or (is_learned and fact.protected)


def merged(known: Fact, new: Fact) -> Fact:
    """Merge two facts that state the same: no content of either is omitted."""
    wordings = dict.fromkeys((known.statement, *known.aliases, new.statement, *new.aliases))
    is_later = _stated_at(known) <= _stated_at(new)
    words = new if known.claim and is_later else known
    last, first = (new, known) if is_later and known.status != "superseded" else (known, new)
    wordings.pop(words.content, None)
    return replace(
        known,
        content=words.content,
        claim=words.claim,
        aliases=tuple(wordings),
        evidence=tuple(dict.fromkeys((*known.evidence, *new.evidence))),
        confidence=max(known.confidence, new.confidence),
        observed_at=max(known.observed_at, new.observed_at),
        valid_from=min(filter(None, (known.valid_from, new.valid_from)), default=""),
        valid_to=last.valid_to or first.valid_to,
        is_temporary=known.is_temporary or new.is_temporary,
        importance=max(known.importance, new.importance),
        trust=min(known.trust, new.trust),
        subject=known.subject or new.subject,
        attribute=known.attribute or new.attribute,
        value=known.value or new.value,
        language=known.language or new.language,
        supersedes=tuple(dict.fromkeys((*known.supersedes, *new.supersedes))),
        protected=known.protected or new.protected,
    )


def _merged(held: Fact, new: Fact, found: _KnownRelations) -> Iterator[PutFact]:
    one = merged(held, new)
    if one.status == "expired":
        one = replace(one, status="active")
    if held.status == "active":
        superseded = [
            fact for fact in found.superseded
            if fact.status == "active" and fact.id != held.id
            and _stated_at(fact) <= _stated_at(new) and not _is_protected_from(fact, new)
        ]  # fmt: skip
        one = _superseding(one, superseded)
        yield from (PutFact(_ended(old, one), "said again since") for old in superseded)
    if one != held:
        yield PutFact(one, "it was repeated")


def _quarantined(found: _KnownRelations, new: Fact, why: str) -> Iterator[PutFact]:
    """Keep a fact for review; one that waits already and states the same is kept once."""
    for fact in found.same:
        if fact.status == "quarantined" and fact.trust == new.trust:
            one = merged(fact, new)
            if one != fact:
                yield PutFact(one, "it was repeated")
            return
    yield PutFact(replace(new, status="quarantined"), f"for review: {why}")


def _superseding(fact: Fact, superseded: Iterable[Fact]) -> Fact:
    """Add facts to those that a fact replaces."""
    ids = dict.fromkeys((*fact.supersedes, *(old.id for old in superseded)))
    return replace(fact, supersedes=tuple(ids))


def _ended(old: Fact, by: Fact) -> Fact:
    """End a fact at the beginning of the one that replaces it, and keep it."""
    ends = max(by.valid_from, old.valid_from)
    return replace(old, status="superseded", superseded_by=by.id, valid_to=ends)


def _linked(fact: Fact, others: Iterable[Fact]) -> Fact:
    ids = dict.fromkeys((*fact.related, *(other.id for other in others)))
    ids.pop(fact.id, None)
    return replace(fact, related=tuple(ids))


def _plan_addition(
    found: _KnownRelations, new: Fact, of: Mapping[FactId, RelationVerdict]
) -> Iterator[PutFact]:
    """Add a new fact to the existing ones: before later statements, after those it updates."""
    stands = {"active", "superseded"}
    about = [f for f in found.superseded if f.status in stands and f.authority <= new.authority]
    about += [f for f in found.same if f.status in stands and f.authority < new.authority]
    later = sorted(
        (fact for fact in about if _stated_at(fact) > _stated_at(new)),
        key=lambda f: (_stated_at(f), f.id),
    )
    one = new
    if later:
        by = later[0]
        one = _ended(new, by)
        yield PutFact(_superseding(by, [new]), "an older statement was learned")
    superseded = [
        fact
        for fact in about
        if _stated_at(fact) <= _stated_at(new)
        and (fact.status == "active" or fact.valid_to > _stated_at(new))
    ]
    one = _superseding(one, superseded)
    for old in superseded:
        yield PutFact(_ended(old, one), f"a later statement {of.get(old.id, 'replaces')} it")
    linked = [fact for fact in found.linked if fact.status == "active" and one.status == "active"]
    for fact in linked:
        yield PutFact(_linked(fact, [one]), "a later statement may relate to it")
    yield PutFact(
        _linked(one, linked), "it is older than the existing fact" if later else "it is new"
    )
