"""The changes of a memory by a document: an import, or a manual edit.

Both only plan. An imported document adds and edits. A manually edited one is compared with its
former content, so that removals apply as well, and facts that were extracted meanwhile are kept.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from thalweg_memory.facts.changes import Change, PutFact, RemoveFact, WriteSection
from thalweg_memory.facts.document.writing import CONTAINERS, Body, Document, section_text
from thalweg_memory.facts.values import Fact, FactId, Profile, Trust


def import_(
    document: Document,
    facts: Iterable[Fact],
    profile: Profile,
    *,
    now: str,
    new_id: Callable[[], FactId],
) -> tuple[Change, ...]:
    """Plan an import: the items of a document are added, or replace those with the same id.

    Nothing is removed. Superseded facts remain superseded, and verbatim duplicates are not added.

    Args:
        document: The parsed document.
        facts: The facts of the memory, of any status.
        profile: The profile of the memory.
        now: Time of the import.
        new_id: Returns an id for a fact without one.
    """
    known = {fact.id: fact for fact in facts}
    contents = _contents(known.values())
    changes: list[Change] = []
    for incoming in document.facts or ():
        old = known.get(incoming.id) if incoming.id else None
        if old is None and _folded(incoming.content) not in contents:
            changes.append(PutFact(_new(incoming, now, new_id), "imported"))
            contents.add(_folded(incoming.content))
        elif old and old.status in {"active", "expired"} and _differs(old, incoming):
            changes.append(PutFact(_edited(old, incoming, now, by_hand=False), "imported"))
    changes += [
        WriteSection(replace(section, updated_at=section.updated_at or now), "imported")
        for section in document.sections
        if section.text and section.text != profile.text(section.name)
    ]
    return tuple(changes)


def _contents(facts: Iterable[Fact]) -> set[str]:
    return {_folded(fact.content) for fact in facts if fact.status == "active"}


def _folded(content: str) -> str:
    return " ".join(content.split()).casefold()


def _new(incoming: Fact, now: str, new_id: Callable[[], FactId], *, by_hand: bool = False) -> Fact:
    at = incoming.created_at or now
    fact = replace(
        incoming,
        id=incoming.id or new_id(),
        created_at=at,
        observed_at=at,
        valid_from=at,
        source=incoming.source or ("manual" if by_hand else "import"),
    )
    return replace(fact, trust=Trust.USER, written_by="user") if by_hand else fact


def _differs(old: Fact, incoming: Fact) -> bool:
    return incoming != replace(
        incoming,
        content=old.content,
        category=old.category,
        confidence=old.confidence,
        extra=old.extra,
        created_at=old.created_at if incoming.created_at else "",
        source=old.source if incoming.source else "",
    )


def _edited(old: Fact, incoming: Fact, now: str, *, by_hand: bool) -> Fact:
    """Edit a fact as a document has it. A new wording has nothing of the evidence of the old."""
    fact = replace(
        old,
        content=incoming.content,
        category=incoming.category,
        confidence=incoming.confidence,
        created_at=incoming.created_at or old.created_at,
        source=incoming.source or old.source,
        extra=incoming.extra,
        status="active",
    )
    if incoming.content == old.content:
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
    """Digests of a document's content, to detect a later edit of it; without any text."""

    facts: Mapping[str, str]
    """A digest for each id."""
    sections: Mapping[str, str]


def marks(document: Document) -> Marks:
    """Return the digests of a document's content."""
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
    """Plan the changes of a manually edited document.

    Unedited items keep the memory's current version; items removed from the document are removed.
    If the document is new, or its former content is unknown, nothing is removed: see `import_`.

    Args:
        document: The current document.
        before: The digests of its last written content.
        facts: The facts of the memory, of any status.
        profile: The profile of the memory.
        now: Time of the reading.
        new_id: Returns an id for a fact without one.
    """
    if before is None:
        return import_(document, facts, profile, now=now, new_id=new_id)
    known = {fact.id: fact for fact in facts}
    contents = _contents(known.values())
    stands = marks(document)
    changes: list[Change] = []
    for incoming in document.facts or ():
        old = known.get(incoming.id)
        if incoming.id and before.facts.get(incoming.id) == stands.facts[incoming.id]:
            continue
        if not incoming.id and _folded(incoming.content) in contents:
            continue  # it was taken in, and its id was not written yet
        if old is None:
            changes.append(PutFact(_new(incoming, now, new_id, by_hand=True), "written by hand"))
        elif _differs(old, incoming) or old.status != "active":
            changes.append(PutFact(_edited(old, incoming, now, by_hand=True), "edited by hand"))
    removed = _taken_out(document, before, known)
    return (*changes, *removed, *_rewritten(document, before, profile, now))


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
            yield RemoveFact(fact.id, "taken out by hand")


def _rewritten(document: Document, before: Marks, profile: Profile, now: str) -> Iterable[Change]:
    for section in document.sections:
        untouched = before.sections.get(section.name) == _hash(section.text)
        if not untouched and section.text != profile.text(section.name):
            yield WriteSection(
                replace(section, updated_at=section.updated_at or now), "edited by hand"
            )
