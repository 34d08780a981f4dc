"""The memory document (`memory.json`): an editable text, and an exchange format between systems.

There are two shapes of it. `seeds` has whole texts under `userContext` and `history`; `deerflow`
has `{summary, updatedAt}` under `user` and `history`, with a version and a date. The facts of both
are alike. Unknown keys of a document are kept, and an invalid document changes nothing: each error
is one sentence with the place in the document and what to write there.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from itertools import chain
from typing import Any, Literal, get_args

from thalweg.errors import DocumentError
from thalweg.redaction.secrets import redact
from thalweg_memory.facts.by_hand import reworded
from thalweg_memory.facts.merging import folded
from thalweg_memory.facts.values import (
    HISTORY,
    NO_FACT,
    USER_CONTEXT,
    Category,
    Change,
    Fact,
    FactId,
    Profile,
    ProfileSection,
    PutFact,
    RemoveFact,
    SectionName,
    Trust,
    WriteSection,
)

Shape = Literal["seeds", "deerflow"]
Body = dict[str, Any]
"""An object of JSON."""
_CONTAINERS: Mapping[str, tuple[SectionName, ...]] = {
    "userContext": USER_CONTEXT,
    "user": USER_CONTEXT,
    "history": HISTORY,
}
"""The keys of the sections; `user` in the shape `deerflow`."""
_CATEGORIES: Mapping[str, Category] = {
    **{category: category for category in get_args(Category)},
    "cognitive": "behavior",
    "constraint": "preference",
    "correction": "behavior",
}
"""The categories, and those of DeerFlow with the ones that replace them. Others are `context`."""
_EXAMPLE = '{"content": "User prefers tea", "category": "preference", "confidence": 0.9}'
_FIX = "correct it there, or undo the last edit"


@dataclass(frozen=True, slots=True)
class Marks:
    """Digests of a document's content, to detect a later edit of it; without any text."""

    facts: Mapping[str, str]
    """A digest for each id."""
    sections: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed document."""

    facts: tuple[Fact, ...] | None
    """The facts of the document; an id may be empty. `None`: it has no facts at all."""
    sections: tuple[ProfileSection, ...]
    """The sections in the document; a text may be empty."""
    text: str
    """The document itself, without a byte order mark."""
    body: Body
    """The same, as JSON was parsed."""

    @property
    def shape(self) -> Shape:
        """The shape, by the name of the user's part."""
        return "deerflow" if "user" in self.body else "seeds"

    @property
    def fact_bodies(self) -> Sequence[Body]:
        """The facts in the form that they have in the document."""
        return self.body.get("facts") or ()

    @property
    def marks(self) -> Marks:
        """The digests of its content."""
        return Marks(
            {raw["id"]: _digest(raw) for raw in self.fact_bodies if raw.get("id")},
            {section.name: _digest(section.text) for section in self.sections},
        )


def _digest(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


# -- reading -------------------------------------------------------------------------------


class _InvalidError(ValueError):
    """A value that is invalid in its place; `args` are the problem and the fix."""


def _invalid(value: object, problem: str, fix: str) -> _InvalidError:
    return _InvalidError(f"{value!r:.60} {problem}", fix)


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Name the place of an invalid value."""
    try:
        yield
    except _InvalidError as error:
        raise DocumentError(place, *error.args) from None


def _text(value: object) -> str:
    """Read a text; `null` is an empty one."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _invalid(value, "is no text", "write it in double quotes")
    return value


def _content(value: object) -> str:
    problem = "it is missing or empty"
    if not _text(value).strip():
        raise _InvalidError(problem, f"write a fact: {_EXAMPLE}")
    return redact(_text(value))


def _category(value: object) -> Category:
    return _CATEGORIES.get(_text(value).strip().casefold(), "context")


def _confidence(value: object) -> float:
    """Read a confidence, 0 to 1; `null` is unknown, and taken as 0.5."""
    if value is None:
        return 0.5
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise _invalid(value, "is no number from 0 to 1", "write one, such as 0.95, without quotes")


def _time(value: object) -> str:
    """Read a time as aware UTC, in seconds; a time without a zone is UTC. Empty: unknown."""
    if not _text(value):
        return ""
    try:
        at = datetime.fromisoformat(_text(value).strip())
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        fix = "write a time such as 2024-03-15T10:30:00Z, or remove it"
        raise _invalid(value, "is no time", fix) from None
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


def _source(value: object) -> str:
    """Read a source: a word or a thread; of an object, its thread, or else its kind."""
    if isinstance(value, dict):
        value = value.get("threadId") or value.get("type")
    return _text(value)


_FIELDS: Mapping[str, tuple[str, Callable[[object], Any]]] = {
    "id": ("id", _text),
    "content": ("content", _content),
    "category": ("category", _category),
    "confidence": ("confidence", _confidence),
    "createdAt": ("created_at", _time),
    "source": ("source", _source),
}
"""The keys of a fact: the attribute of each, and how it is read."""


def read_document(text: str, where: str = "memory.json") -> Document:
    """Parse a document of either shape.

    Unknown keys are kept; missing keys have no effect.

    Args:
        text: The document; a byte order mark before it is skipped.
        where: Its name, for errors.

    Raises:
        DocumentError: It is no JSON, or a value in it is invalid.

    Example:
        >>> read_document('{"facts": [{"content": "User rows", "confidence": 0}]}').facts[0].content
        'User rows'
    """
    text = text.removeprefix("\ufeff")
    with _at(where):
        body = _object(_parsed(text, where), [*_CONTAINERS, "facts"])
        if "user" in body and "userContext" in body:
            raise _invalid("user", "is there, and 'userContext', too", "keep one of them")
    listed = body.get("facts")
    facts = None if listed is None else tuple(_read_facts(listed, f"{where}: facts"))
    return Document(facts, tuple(_read_sections(body, where)), text, body)


def _parsed(text: str, where: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        with _at(f"{where}: line {error.lineno} column {error.colno}"):
            raise _InvalidError(error.msg[:1].lower() + error.msg[1:], _FIX) from None
    except _InvalidError:
        raise
    except (ValueError, RecursionError) as error:
        raise _InvalidError(str(error), _FIX) from None


def _unique(pairs: Sequence[tuple[str, object]]) -> Body:
    """Make an object; a repeated key would hide the facts under the first one."""
    body = dict(pairs)
    for key in body if len(body) < len(pairs) else ():
        if [name for name, _ in pairs].count(key) > 1:
            raise _invalid(key, "is twice the key of one object", "keep one of them")
    return body


def _object(value: object, known: Sequence[str]) -> Body:
    """Return an object; an unknown key that resembles a missing one is refused."""
    if not isinstance(value, dict):
        raise _invalid(value, "is no object", "write keys and values between { and }")
    absent = [name for name in known if name not in value]
    for key in value:
        if key not in known and (close := get_close_matches(key, absent, 1, 0.8)):
            raise _invalid(key, "is an unknown key", f"did you mean {close[0]!r}?")
    return value


def _read_sections(body: Body, where: str) -> Iterator[ProfileSection]:
    """Read the sections; one that is missing in its container is empty."""
    for container, names in _CONTAINERS.items():
        if body.get(container) is None:
            continue
        with _at(f"{where}: {container}"):
            sections = _object(body[container], names)
        for name in names:
            value = sections.get(name)
            date = value.get("updatedAt") if isinstance(value, dict) else None
            with _at(f"{where}: {container}.{name}"):
                section = ProfileSection(name, redact(_section_text(value)), _time(date))
            yield section


def _section_text(value: object) -> str:
    """Read the text of a section in either form."""
    return _text(value.get("summary") if isinstance(value, dict) else value)


def _read_facts(listed: object, where: str) -> Iterator[Fact]:
    with _at(where):
        if not isinstance(listed, list):
            raise _invalid(listed, "is no list", "write facts between [ and ]")
    places: dict[str, int] = {}
    for number, raw in enumerate(listed):
        with _at(f"{where}[{number}]"):
            if not isinstance(raw, dict):
                raise _invalid(raw, "is no fact", f"write {_EXAMPLE}")
            fact = _read_fact(_object(raw, [*_FIELDS]), f"{where}[{number}]")
            other = places.setdefault(fact.id, number) if fact.id else number
            if other != number:
                raise _invalid(fact.id, f"is the id of facts[{other}], too", "remove it here")
        yield fact


def _read_fact(raw: Body, place: str = "") -> Fact:
    """Read a fact; values that no field holds, or that would be written differently, are kept."""
    fields: Body = {}
    kept = dict(raw)
    for key, (name, read) in _FIELDS.items():
        with _at(f"{place}.{key}"):
            fields[name] = read(raw.get(key))
        if raw.get(key) in (None, fields[name]) or key == "content":
            kept.pop(key, None)
    extra = json.dumps(kept, ensure_ascii=False) if kept else ""
    return Fact(**fields, trust=Trust.IMPORT, written_by="import", extra=extra)


# -- writing -------------------------------------------------------------------------------


def export(
    facts: Iterable[Fact],
    profile: Profile,
    *,
    shape: Shape = "seeds",
    now: str = "",
    like: Document | None = None,
) -> str:
    """Write facts and a profile as a document.

    Args:
        facts: The facts, in this order.
        profile: The profile before them.
        shape: The shape, if `like` is not passed.
        now: Time of the writing, for the `deerflow` shape.
        like: A document whose form, order and further keys are kept. If it already has all of this,
            its text is returned unchanged.
    """
    like = like or read_document(_empty(shape, now))
    body, user = dict(like.body), "user" if like.shape == "deerflow" else "userContext"
    for container in (user, "history"):
        sections = dict(body.get(container) or {})
        for name in _CONTAINERS[container]:
            before = sections.get(name)
            if _section_text(before) != profile.text(name):
                sections[name] = _section_body(before, profile, name, like.shape)
        if sections:
            body[container] = sections
    pending = {fact.id: fact for fact in facts}
    known = [(raw, pending.pop(raw.get("id") or NO_FACT, None)) for raw in like.fact_bodies]
    written = [raw if _states(raw, fact) else _fact_body(fact) for raw, fact in known if fact]
    written += map(_fact_body, pending.values())
    if written or like.fact_bodies:
        body["facts"] = written
    if body == like.body:
        return like.text
    if "lastUpdated" in body and now:
        body["lastUpdated"] = now
    return _dumped(body, like.text)


def _dumped(body: Body, before: str) -> str:
    """Write a body with the indentation of the text before it."""
    found = re.search(r"\n([ \t]+)\S", before)
    text = json.dumps(body, indent=found[1] if found else 2, ensure_ascii=False)
    # Halves of surrogate pairs, which UTF-8 has no form for, become escapes of JSON.
    return text.encode("utf-8", "backslashreplace").decode() + "\n"


def _empty(shape: Shape, now: str) -> str:
    """Write a document with every section, all of them empty."""
    if shape == "seeds":
        body: Body = {"userContext": dict.fromkeys(USER_CONTEXT, "")}
        return json.dumps(body | {"history": dict.fromkeys(HISTORY, ""), "facts": []}, indent=2)
    section = {"summary": "", "updatedAt": ""}
    body = {"version": "1.0", "lastUpdated": now, "user": dict.fromkeys(USER_CONTEXT, section)}
    return json.dumps(body | {"history": dict.fromkeys(HISTORY, section), "facts": []}, indent=2)


def _section_body(before: object, profile: Profile, name: SectionName, shape: Shape) -> object:
    if shape == "seeds" and not isinstance(before, dict):
        return profile.text(name)
    at = next((section.updated_at for section in profile.sections if section.name == name), "")
    rest = before if isinstance(before, dict) else {}
    return {**rest, "summary": profile.text(name), "updatedAt": at}


def _fields(fact: Fact) -> Body:
    """Return a fact as a document states it, without further keys."""
    return {key: getattr(fact, name) for key, (name, _) in _FIELDS.items()}


def _fact_body(fact: Fact) -> Body:
    """Return a fact's fields, and its further keys in their original form."""
    body = _fields(fact)
    for key, value in json.loads(fact.extra or "{}").items():
        if key not in body or _FIELDS[key][1](value) == body[key]:
            body[key] = value
    return body


def _merged(fact: Fact, raw: Body) -> Fact:
    """Return a fact as a document has it; missing and empty fields have no effect."""
    empty = {key for key, (_, read) in _FIELDS.items() if read(raw.get(key)) == ""}
    stated = {key: value for key, value in raw.items() if key not in empty}
    return _read_fact(_fields(fact) | stated)


def _states(raw: Body, fact: Fact) -> bool:
    """Return whether a document states nothing else of a fact."""
    body = _fact_body(fact)
    return raw == body or _merged(fact, raw) == _read_fact(body)


def without(text: str, matches: Callable[[str], bool]) -> str:
    """Remove content outside of the memory's own fields from a document, if it is to be forgotten.

    Args:
        text: The document, as `export` returned it.
        matches: Returns whether a text contains the content to be forgotten.
    """
    own = {"facts", *_CONTAINERS, *chain(*_CONTAINERS.values())}

    def kept(body: Body) -> Body:
        return {k: v for k, v in body.items() if k in own or not _contains({k: v}, matches)}

    before: Body = json.loads(text)
    body = {k: kept(v) if isinstance(v, dict) else v for k, v in kept(before).items()}
    return text if body == before else _dumped(body, text)


def _contains(value: object, matches: Callable[[str], bool]) -> bool:
    """Return whether any text within a value matches."""
    if isinstance(value, dict):
        return any(_contains(part, matches) for pair in value.items() for part in pair)
    if isinstance(value, list):
        return any(_contains(part, matches) for part in value)
    return isinstance(value, str) and matches(value)


# -- changes -------------------------------------------------------------------------------


def plan_document(
    document: Document,
    facts: Iterable[Fact],
    profile: Profile,
    *,
    now: str,
    new_id: Callable[[], FactId],
    before: Marks | None = None,
) -> tuple[Change, ...]:
    """Plan the changes of a memory by a document: an import, or a manual edit.

    An import adds items, or replaces those with the same id. Nothing is removed, superseded facts
    remain superseded, and verbatim duplicates are not added. With `before` it is an edit by the
    user: unedited items keep the memory's current version, and missing ones are removed.

    Args:
        document: The parsed document.
        facts: The facts of the memory, of any status.
        profile: The profile of the memory.
        now: Time of the reading.
        new_id: Returns an id for a fact without one.
        before: The digests of the content that was last written into an edited document.
    """
    known = {fact.id: fact for fact in facts}
    contents = {folded(fact.content) for fact in known.values() if fact.status == "active"}
    edited, written = document.marks, before or Marks({}, {})
    author, why = ("import", "imported") if before is None else ("user", "edited by hand")
    repeated: set[str] = set()
    changes: list[Change] = []
    for raw, incoming in zip(document.fact_bodies, document.facts or (), strict=True):
        old, content = known.get(incoming.id), folded(incoming.content)
        if incoming.id and written.facts.get(incoming.id) == edited.facts[incoming.id]:
            continue
        if old is None and content in contents:
            repeated.add(content)
        elif old is None:
            changes.append(PutFact(_new(incoming, incoming.id or new_id(), now, author), why))
            contents.add(content)
        elif (before and old.status != "active") or (
            old.status in {"active", "expired"} and not _states(raw, old)
        ):
            changes.append(PutFact(_edited(old, raw, now, author), why))
    present = {fact.id for fact in document.facts or ()}
    for id_ in written.facts if document.facts is not None else ():
        fact = known.get(FactId(id_)) if id_ not in present else None
        if fact and fact.status == "active" and folded(fact.content) not in repeated:
            changes.append(RemoveFact(fact.id, "removed by hand"))
    for section in document.sections:
        is_edit = written.sections.get(section.name) != edited.sections[section.name]
        if is_edit and (before or section.text) and section.text != profile.text(section.name):
            at = section.updated_at or now
            changes.append(WriteSection(replace(section, updated_at=at), why))
    return tuple(changes)


def _new(incoming: Fact, id_: FactId, now: str, author: str) -> Fact:
    at = incoming.created_at or now
    source = incoming.source or ("manual" if author == "user" else "import")
    fact = replace(incoming, id=id_, created_at=at, observed_at=at, valid_from=at, source=source)
    return replace(fact, trust=_TRUST[author], written_by=author)


_TRUST = {"user": Trust.USER, "import": Trust.IMPORT}


def _edited(old: Fact, raw: Body, now: str, author: str) -> Fact:
    """Edit a fact as a document has it. A new wording has nothing of the evidence of the old."""
    incoming = _merged(old, raw)
    stated = {name: getattr(incoming, name) for name, _ in _FIELDS.values() if name != "content"}
    fact = replace(old, **stated, extra=incoming.extra, status="active")
    if incoming.content == _fields(old)["content"]:
        return fact
    fact = reworded(fact, incoming.content, now=now)
    return replace(fact, trust=_TRUST[author], written_by=author)
