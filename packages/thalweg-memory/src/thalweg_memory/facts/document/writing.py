"""The memory document: an editable text, and an exchange format between systems.

There are two shapes of it. `seeds` has whole texts under `userContext` and `history`; `deerflow`
has `{summary, updatedAt}` under `user` and `history`, with a version and a date. The facts of both
are alike. All other content of a document is kept.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from thalweg_memory.facts.document.fields import (
    UnusableError,
    category_of,
    confidence_of,
    source_of,
    text_of,
    time_of,
)
from thalweg_memory.facts.values import (
    HISTORY,
    NO_FACT,
    USER_CONTEXT,
    Fact,
    FactId,
    Profile,
    ProfileSection,
    SectionName,
)

Shape = Literal["seeds", "deerflow"]
Body = dict[str, Any]
"""The object of JSON that a document is."""
CONTAINERS: Mapping[Shape, Mapping[str, tuple[SectionName, ...]]] = {
    "seeds": {"userContext": USER_CONTEXT, "history": HISTORY},
    "deerflow": {"user": USER_CONTEXT, "history": HISTORY},
}
"""The keys of the sections."""
FIELDS: Mapping[str, Callable[[object], object]] = {
    "id": text_of,
    "content": text_of,
    "category": category_of,
    "confidence": confidence_of,
    "createdAt": time_of,
    "source": source_of,
}
"""The fields of a fact, and how each is read."""
VERSION = "1.0"
"""Of the `deerflow` shape."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document that was read or made."""

    shape: Shape
    facts: tuple[Fact, ...] | None
    """The facts of the document; an id may be empty. `None`: it has no facts at all."""
    sections: tuple[ProfileSection, ...]
    """The sections in the document; a text may be empty."""
    text: str
    """The document itself."""


def export(
    facts: Iterable[Fact],
    profile: Profile,
    *,
    shape: Shape = "seeds",
    now: str = "",
    like: Document | None = None,
) -> Document:
    """Return facts and a profile as a document.

    Args:
        facts: The facts, in this order.
        profile: The profile before them.
        shape: The shape, if `like` is not passed.
        now: Time of the writing, for the `deerflow` shape.
        like: A document whose form, order and further keys are kept. If it already has all of this,
            it is returned unchanged.
    """
    exported = tuple(facts)
    like = like or _empty(shape, now)
    shape, body = like.shape, json.loads(like.text.removeprefix("\ufeff"))
    was = json.dumps(body)
    for container, names in CONTAINERS[shape].items():
        written = _container(body.get(container), names, profile, shape)
        if written or container in body:
            body[container] = written
    if exported or body.get("facts") is not None:
        body["facts"] = _facts(body.get("facts"), exported)
    sections = tuple(
        section
        for names in CONTAINERS[shape].values()
        for name in names
        for section in (_section(profile, name),)
    )
    if json.dumps(body) == was:
        return replace(like, facts=exported, sections=sections)
    if "lastUpdated" in body and now:
        body["lastUpdated"] = now
    return Document(shape, exported, sections, _written(body, like.text))


def _written(body: Body, before: str) -> str:
    """Write a body with the indentation of the text before it."""
    text = json.dumps(body, indent=_indent(before), ensure_ascii=False)
    return f"{_LONE.sub(_escaped, text)}\n"


_LONE = re.compile("[\ud800-\udfff]")
"""Halves of surrogate pairs, which no file in UTF-8 can hold."""


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _empty(shape: Shape, now: str) -> Document:
    """Make a document with every section, all of them empty."""
    empty = "" if shape == "seeds" else {"summary": "", "updatedAt": ""}
    body: Body = {} if shape == "seeds" else {"version": VERSION, "lastUpdated": now}
    for container, names in CONTAINERS[shape].items():
        body[container] = dict.fromkeys(names, empty)
    return Document(shape, (), (), json.dumps({**body, "facts": []}, indent=2) + "\n")


def _indent(text: str) -> int | str:
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else 2


def _section(profile: Profile, name: SectionName) -> ProfileSection:
    found = (section for section in profile.sections if section.name == name)
    return next(found, ProfileSection(name, ""))


def _container(
    before: object, names: Sequence[SectionName], profile: Profile, shape: Shape
) -> Body:
    """Return sections in the place of others; an unchanged section keeps its form."""
    body: Body = dict(before) if isinstance(before, dict) else {}
    for name in names:
        section, old = _section(profile, name), body.get(name)
        if section_text(old) == section.text:
            continue
        if isinstance(old, dict) or (shape == "deerflow" and not isinstance(old, str)):
            rest = old if isinstance(old, dict) else {}
            fields = {"summary": section.text, "updatedAt": section.updated_at}
            body[name] = {**rest, **fields}
        else:
            body[name] = section.text
    return body


def section_text(value: object) -> str:
    """Read the text of a section in either form."""
    return text_of(value.get("summary") if isinstance(value, dict) else value)


def _facts(before: object, facts: Sequence[Fact]) -> list[object]:
    """Return facts in the place and order of others, with new ones at the end."""
    listed: list[Body] = before if isinstance(before, list) else []
    pending = {fact.id: fact for fact in facts}
    named = {str(old["id"]) for old in listed if old.get("id")}
    fresh = {fact.content: fact.id for fact in facts if fact.id not in named}
    written: list[object] = []
    for old in listed:
        id_ = FactId(text_of(old.get("id"))) or fresh.get(text_of(old.get("content")), NO_FACT)
        if fact := pending.pop(id_, None):
            written.append(_kept(old, fact))
    return [*written, *map(_plain, pending.values())]


def _plain(fact: Fact) -> Body:
    """Return a fact's fields, and its further keys in their original form."""
    plain: Body = {
        "id": fact.id,
        "content": fact.content,
        "category": fact.category,
        "confidence": fact.confidence,
        "createdAt": fact.created_at,
        "source": fact.source,
    }
    for key, value in json.loads(fact.extra or "{}").items():
        if key not in plain or _means(key, value, plain[key]):
            plain[key] = value
    return plain


def _kept(old: Body, fact: Fact) -> Body:
    """Return a fact in the place of an old one; unchanged fields keep their form."""
    plain = _plain(fact)
    meant = {
        "category": fact.category,
        "createdAt": fact.created_at,
        "confidence": fact.confidence,
        "source": fact.source,
    }
    body = {
        key: value if _means(key, value, meant.get(key, plain[key])) else plain[key]
        for key, value in old.items()
        if key in plain
    }
    missing = (key for key in plain if key not in body and not _means(key, None, plain[key]))
    return body | {key: plain[key] for key in missing}


def _means(key: str, value: object, meant: object) -> bool:
    """Return whether the value of a field has this meaning."""
    read = FIELDS.get(key)
    if read is None:
        return value == meant
    try:
        return read(value) == meant
    except UnusableError:
        return False


def without(document: Document, matches: Callable[[str], bool]) -> Document:
    """Remove content outside of the memory's own fields from a document, if it is to be forgotten.

    Args:
        document: The exported document.
        matches: Returns whether a text contains the content to be forgotten.
    """
    body: Body = json.loads(document.text.removeprefix("\ufeff"))
    was = json.dumps(body)
    known = {"facts", *CONTAINERS[document.shape]}
    body = {key: value for key, value in body.items() if key in known or not _tells(value, matches)}
    for container, names in CONTAINERS[document.shape].items():
        if container in body:
            body[container] = {
                key: value
                for key, value in body[container].items()
                if key in names or not _tells(value, matches)
            }
    if json.dumps(body) == was:
        return document
    return replace(document, text=_written(body, document.text))


def _tells(value: object, matches: Callable[[str], bool]) -> bool:
    """Return whether any text within a value contains it."""
    if isinstance(value, dict):
        return any(_tells(part, matches) for pair in value.items() for part in pair)
    if isinstance(value, list):
        return any(_tells(part, matches) for part in value)
    return isinstance(value, str) and matches(value)
