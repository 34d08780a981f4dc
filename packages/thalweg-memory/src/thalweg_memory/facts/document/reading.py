"""Parsing of memory documents, which a person may have edited.

Each error is one sentence, with the place in the document and what to write there.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from thalweg.errors import DocumentError
from thalweg_memory.facts.document.fields import (
    UnusableError,
    category_of,
    confidence_of,
    shown,
    source_of,
    text_of,
    time_of,
)
from thalweg_memory.facts.document.writing import (
    CONTAINERS,
    FIELDS,
    Body,
    Document,
    Shape,
    section_text,
)
from thalweg_memory.facts.values import Fact, FactId, ProfileSection, SectionName, Trust

_EXAMPLE = '{"content": "User prefers tea", "category": "preference", "confidence": 0.9}'
_TOP = ("userContext", "user", "history", "facts")


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
    body = _object(_parsed(text.removeprefix("\ufeff"), where), where)
    _refuse_misspelt(body, _TOP, where)
    if "user" in body and "userContext" in body:
        problem = "it has both 'user' and 'userContext'"
        raise DocumentError(where, problem, "keep one of them: the document has one shape")
    shape = _shape(body)
    sections = [
        section
        for container, names in CONTAINERS[shape].items()
        for section in _sections(body, container, names, where)
    ]
    listed = body.get("facts")
    facts = None if listed is None else tuple(_facts(listed, f"{where}: facts"))
    return Document(shape, facts, tuple(sections), text)


def _shape(body: Body) -> Shape:
    """Return the shape, by its name for the user's part, or by the form of its history."""
    if "user" in body or "userContext" in body:
        return "deerflow" if "user" in body else "seeds"
    history = body.get("history")
    parts = history.values() if isinstance(history, dict) else ()
    return "deerflow" if any(isinstance(part, dict) for part in parts) else "seeds"


def _parsed(text: str, where: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_pairs)
    except json.JSONDecodeError as found:
        error = _trailing_comma(text, found.pos) or found
        at = f"{where}: line {error.lineno} column {error.colno}"
        raise DocumentError(at, _lower(error.msg), _fix(text, error)) from None
    except UnusableError as error:
        raise DocumentError(where, error.problem, error.fix) from None
    except (ValueError, RecursionError) as error:
        raise DocumentError(where, _lower(str(error)), "write a plainer document") from None


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


_CLOSING = ("}", "]")


def _trailing_comma(text: str, at: int) -> json.JSONDecodeError | None:
    """Return the error of a comma before a closing bracket, at the comma.

    Python's parser reports the comma from 3.13 on, and the bracket after it before.
    """
    before, here = text[:at].rstrip(), text[at:]
    if here.startswith(",") and here[1:].lstrip().startswith(_CLOSING):
        return json.JSONDecodeError("Trailing comma", text, at)
    if before.endswith(",") and here.startswith(_CLOSING):
        return json.JSONDecodeError("Trailing comma", text, len(before) - 1)
    return None


def _fix(text: str, error: json.JSONDecodeError) -> str:
    """Return how to correct common typing errors."""
    here = text[error.pos :]
    slips = {
        "write {} for an empty memory": not text.strip(),
        "the end is missing: close what was opened": not here.strip(),
        "remove the last comma": error.msg == "Trailing comma",
        "use straight double quotes": here[:1] in {"'", "\u201c", "\u201d", "\u2018", "\u2019"},
        "JSON has no comments: take it out": here.startswith(("//", "/*", "#")),
        "write \\n for a new line of a text": error.msg.startswith("Invalid control"),
        "put a comma between the two": error.msg.startswith("Expecting ','"),
    }
    otherwise = "fix it there, or undo the last edit"
    return next((fix for fix, is_it in slips.items() if is_it), otherwise)


def _pairs(pairs: Sequence[tuple[str, object]]) -> Body:
    body = dict(pairs)
    if len(body) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise UnusableError(twice, "is twice the key of one object", "keep one of them")
    return body


def _object(value: object, where: str) -> Body:
    if isinstance(value, dict):
        return value
    problem = f"{shown(value)} is no object"
    raise DocumentError(where, problem, "write keys and values between { and }")


def _refuse_misspelt(body: Mapping[str, object], known: Sequence[str], where: str) -> None:
    """Refuse an unknown key that resembles a missing one, whose value would be ignored."""
    for key in body:
        absent = [name for name in known if name not in body]
        close = get_close_matches(key, absent, 1, 0.8) if key not in known else []
        if close:
            raise _at(where, f": {key}", "unknown key", f"did you mean {close[0]!r}?")


def _at(where: str, place: str, problem: str, fix: str) -> DocumentError:
    return DocumentError(where + place, problem, fix)


def _sections(
    body: Body, container: str, names: Sequence[SectionName], where: str
) -> Iterable[ProfileSection]:
    """Read the sections of a container; one that is not in it is empty."""
    if body.get(container) is None:
        return
    place = f"{where}: {container}"
    sections = _object(body[container], place)
    _refuse_misspelt(sections, names, place)
    for name in names:
        at, value = f"{place}.{name}", sections.get(name)
        date = value.get("updatedAt") if isinstance(value, dict) else None
        try:
            yield ProfileSection(name, section_text(value), time_of(date))
        except UnusableError as error:
            raise DocumentError(at, error.problem, error.fix) from None


def _facts(listed: object, where: str) -> Iterable[Fact]:
    if not isinstance(listed, list):
        raise DocumentError(where, f"{shown(listed)} is no list", "write facts between [ and ]")
    places: dict[str, int] = {}
    for number, raw in enumerate(listed):
        place = f"{where}[{number}]"
        if not isinstance(raw, dict):
            raise DocumentError(place, f"{shown(raw)} is no fact", f"write {_EXAMPLE}")
        fact = _fact(raw, place)
        if fact.id in places:
            problem = f"{fact.id!r} is the id of facts[{places[fact.id]}] too"
            raise _at(place, ".id", problem, "remove it: a new one is generated")
        if fact.id:
            places[fact.id] = number
        yield fact


def _fact(raw: Body, place: str) -> Fact:
    _refuse_misspelt(raw, [name for name in FIELDS if name != "id"], place)
    for name, read in FIELDS.items():
        try:
            read(raw.get(name))
        except UnusableError as error:
            raise _at(place, f".{name}", error.problem, error.fix) from None
    content = text_of(raw.get("content"))
    if not content.strip():
        raise _at(place, ".content", "it is missing or empty", f"write a fact: {_EXAMPLE}")
    return Fact(
        FactId(text_of(raw.get("id"))),
        content,
        category_of(raw.get("category")),
        confidence_of(raw.get("confidence")),
        time_of(raw.get("createdAt")),
        source_of(raw.get("source")),
        trust=Trust.IMPORT,
        written_by="import",
        extra=_extra(raw),
    )


def _extra(raw: Body) -> str:
    """Keep values that have no field in a fact, and those that would be written differently."""
    kept = {
        key: value
        for key, value in raw.items()
        if key not in FIELDS or (value is not None and FIELDS[key](value) != value)
    }
    if "confidence" in raw and raw["confidence"] is None:
        kept["confidence"] = None
    return json.dumps(kept, ensure_ascii=False) if kept else ""
