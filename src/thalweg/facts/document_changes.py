"""What a memory document changes: taken in from elsewhere, or edited where it stands.

Both plan changes and make none. A document that is taken in adds and edits. One that was edited
by hand is compared with what stood there before, so that what was taken out of it goes as well,
and what the memory learned meanwhile stays.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from thalweg.facts.changes import Change, Drop, Put, Write
from thalweg.facts.document import CONTAINERS, Body, Document, section_text
from thalweg.facts.values import Fact, FactId, Profile, Trust


def import_(
    document: Document,
    facts: Iterable[Fact],
    profile: Profile,
    *,
    now: str,
    new_id: Callable[[], FactId],
) -> tuple[Change, ...]:
    """Plan to take a document in: what it has is added, or put in place of what has its id.

    Nothing goes. What a newer fact superseded stays so, and what is known word for word is not
    added again.

    Args:
        document: What was read.
        facts: Those of the memory, whatever their status.
        profile: That of the memory.
        now: Time of the import.
        new_id: Makes an id for a fact that has none.
    """
    known = {fact.id: fact for fact in facts}
    contents = _contents(known.values())
    changes: list[Change] = []
    for told in document.facts or ():
        old = known.get(told.id) if told.id else None
        if old is None and _folded(told.content) not in contents:
            changes.append(Put(_new(told, now, new_id), "imported"))
            contents.add(_folded(told.content))
        elif old and old.status in {"active", "expired"} and _differs(old, told):
            changes.append(Put(_edited(old, told, now, by_hand=False), "imported"))
    changes += [
        Write(replace(section, updated_at=section.updated_at or now), "imported")
        for section in document.sections
        if section.text and section.text != profile.text(section.name)
    ]
    return tuple(changes)


def _contents(facts: Iterable[Fact]) -> set[str]:
    return {_folded(fact.content) for fact in facts if fact.status == "active"}


def _folded(content: str) -> str:
    return " ".join(content.split()).casefold()


def _new(told: Fact, now: str, new_id: Callable[[], FactId], *, by_hand: bool = False) -> Fact:
    at = told.created_at or now
    fact = replace(
        told,
        id=told.id or new_id(),
        created_at=at,
        observed_at=at,
        valid_from=at,
        source=told.source or ("manual" if by_hand else "import"),
    )
    return replace(fact, trust=Trust.USER, written_by="user") if by_hand else fact


def _differs(old: Fact, told: Fact) -> bool:
    return told != replace(
        told,
        content=old.content,
        category=old.category,
        confidence=old.confidence,
        extra=old.extra,
        created_at=old.created_at if told.created_at else "",
        source=old.source if told.source else "",
    )


def _edited(old: Fact, told: Fact, now: str, *, by_hand: bool) -> Fact:
    """Edit a fact as a document has it. A new wording has nothing of the evidence of the old."""
    fact = replace(
        old,
        content=told.content,
        category=told.category,
        confidence=told.confidence,
        created_at=told.created_at or old.created_at,
        source=told.source or old.source,
        extra=told.extra,
        status="active",
    )
    if told.content == old.content:
        return fact
    return replace(
        fact,
        subject="",
        attribute="",
        value="",
        evidence=(),
        aliases=(),
        language="",
        trust=Trust.USER if by_hand else Trust.IMPORT,
        written_by="user" if by_hand else "import",
        observed_at=now,
        valid_from=now,
        valid_to="",
    )


@dataclass(frozen=True, slots=True)
class Marks:
    """What stood in a document, so far that a later edit of it can be told; no word of it."""

    facts: Mapping[str, str]
    """A digest for each id."""
    sections: Mapping[str, str]


def marks(document: Document) -> Marks:
    """Mark what stands in a document."""
    body: Body = json.loads(document.text.removeprefix("\ufeff") or "{}")
    listed: list[Body] = body.get("facts") or []
    facts = {one["id"]: _hash(json.dumps(one, sort_keys=True)) for one in listed if one.get("id")}
    sections: dict[str, str] = {
        name: _hash(section_text((body[container] or {}).get(name)))
        for container, names in CONTAINERS[document.shape].items()
        if container in body
        for name in names
    }
    return Marks(facts, sections)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def picked_up(
    document: Document,
    before: Marks | None,
    facts: Iterable[Fact],
    profile: Profile,
    *,
    now: str,
    new_id: Callable[[], FactId],
) -> tuple[Change, ...]:
    """Plan what a document changes that was edited by hand.

    What nobody touched is left as the memory has it by now; what was taken out of the document
    goes. Of a document that was not there before, or of which nothing is known, nothing goes:
    see `import_`.

    Args:
        document: As it stands now.
        before: What stood there when it was written last.
        facts: Those of the memory, whatever their status.
        profile: That of the memory.
        now: Time of the reading.
        new_id: Makes an id for a fact that has none.
    """
    if before is None:
        return import_(document, facts, profile, now=now, new_id=new_id)
    known = {fact.id: fact for fact in facts}
    contents = _contents(known.values())
    stands = marks(document)
    changes: list[Change] = []
    for told in document.facts or ():
        old = known.get(told.id)
        if told.id and before.facts.get(told.id) == stands.facts[told.id]:
            continue
        if not told.id and _folded(told.content) in contents:
            continue  # it was taken in, and its id was not written yet
        if old is None:
            changes.append(Put(_new(told, now, new_id, by_hand=True), "written by hand"))
        elif _differs(old, told) or old.status != "active":
            changes.append(Put(_edited(old, told, now, by_hand=True), "edited by hand"))
    changes += _taken_out(document, before, known)
    changes += _rewritten(document, before, profile, now)
    return tuple(changes)


def _taken_out(document: Document, before: Marks, known: Mapping[FactId, Fact]) -> Iterable[Change]:
    if document.facts is None:
        return
    still = {fact.id for fact in document.facts}
    nameless = {_folded(fact.content) for fact in document.facts if not fact.id}
    for name in before.facts:
        fact = known.get(FactId(name))
        if fact is None or fact.id in still or _folded(fact.content) in nameless:
            continue
        if fact.status == "active":
            yield Drop(fact.id, "taken out by hand")


def _rewritten(document: Document, before: Marks, profile: Profile, now: str) -> Iterable[Change]:
    for section in document.sections:
        untouched = before.sections.get(section.name) == _hash(section.text)
        if not untouched and section.text != profile.text(section.name):
            yield Write(replace(section, updated_at=section.updated_at or now), "edited by hand")
