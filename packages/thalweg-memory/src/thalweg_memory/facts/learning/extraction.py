"""A learner's answers, parsed into proposals: the boundary at which model output enters.

Nothing is made up for missing parts of an answer: an unreadable item is skipped and reported.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from thalweg_memory.facts.learning.learner_prompt import Portion
from thalweg_memory.facts.values import (
    NO_FACT,
    Category,
    FactId,
    Importance,
    Proposal,
    Relation,
    SectionName,
    Statement,
)

MAX_CHARS = 400_000
"""Characters of an answer that are read."""


def _text(value: object) -> object:
    return "" if value is None else value


def _word(value: object) -> object:
    return value.strip().casefold() if isinstance(value, str) else value


def _flag(value: object) -> object:
    return value if isinstance(value, bool) else _word(value) in {"true", "yes", "1"}


def _importance(value: object) -> object:
    return int(value) if str(value) in {"1", "2", "3"} else 2  # type: ignore[call-overload]


_Text = Annotated[str, BeforeValidator(_text)]


class Item(BaseModel):
    """One fact, as a learner is asked for it: it first writes the evidence of the fact."""

    turn: Annotated[int, Field(description="Number of the turn it was learned from")]
    quote: Annotated[str, Field(description="Words of that turn, copied exactly")]
    language: _Text = ""
    content: Annotated[str, Field(min_length=1, description="The fact, one sentence")]
    category: Annotated[Category, BeforeValidator(_word)]
    confidence: Annotated[float, Field(ge=0, le=1)]
    subject: _Text = ""
    attribute: _Text = ""
    value: _Text = ""
    since: Annotated[_Text, Field(description="YYYY-MM-DD or empty")] = ""
    until: Annotated[_Text, Field(description="YYYY-MM-DD, the last day, or empty")] = ""
    temporary: Annotated[bool, BeforeValidator(_flag)] = False
    importance: Annotated[int, BeforeValidator(_importance)] = 2
    relation: Annotated[Relation, BeforeValidator(_word)] = "new"
    known: Annotated[_Text, Field(description="Name of the known fact, or empty")] = ""


class Source(BaseModel):
    """Whose statement a new fact is, and whether its quote carries it."""

    new: Annotated[str, Field(description="Name of the new fact")]
    whose: Annotated[Literal["own", "other", "unreal"], BeforeValidator(_word)]
    carries: Annotated[bool, BeforeValidator(_flag)]


class Pair(BaseModel):
    """The relation of a new fact to another one, as it is asked for: the reason comes first."""

    new: Annotated[str, Field(description="Name of the new fact")]
    known: Annotated[str, Field(description="Name of the known or the earlier new fact")]
    reason: _Text = ""
    verdict: Annotated[
        Literal["same", "replaces", "ends", "narrows", "beside"], BeforeValidator(_word)
    ]


class Paragraph(BaseModel):
    """One section of a profile, as it is asked for."""

    section: SectionName
    text: Annotated[str, Field(min_length=1)]
    facts: Annotated[list[str], Field(description="Names of the facts it rests on")]


Kind = Literal["facts", "verdicts", "sections"]
_LISTS: Mapping[Kind, Mapping[str, type[BaseModel]]] = {
    "facts": {"facts": Item},
    "verdicts": {"sources": Source, "pairs": Pair},
    "sections": {"sections": Paragraph},
}
"""The lists of an answer, with the type of their items."""


@cache
def answer_schema(kind: Kind) -> dict[str, object]:
    """Return the JSON schema of an answer, as providers with strict schemas take it.

    Every field is required there; the parser is more tolerant.

    Example:
        >>> list(answer_schema("sections")["properties"])
        ['sections']
    """
    lists = {
        name: {"type": "array", "items": _strict(item.model_json_schema())}
        for name, item in _LISTS[kind].items()
    }
    return {
        "title": kind,
        "description": "What was found; a list may be empty.",
        "type": "object",
        "properties": lists,
        "required": [*lists],
        "additionalProperties": False,
    }


def _strict(schema: Mapping[str, Any]) -> dict[str, object]:
    kept = {"type", "enum", "items", "description"}
    properties = {
        name: {key: value for key, value in field.items() if key in kept}
        for name, field in schema["properties"].items()
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """What could be read of an answer."""

    items: tuple[BaseModel, ...] = ()
    """Of all its lists, in their order."""
    problems: tuple[str, ...] = ()
    """What could not, each with its place; none of them quotes the answer."""
    is_whole: bool = True
    """Whether it was an answer at all: a list of items, and to its end."""


def read_answer(text: str, kind: Kind) -> ParsedAnswer:
    r"""Parse an answer, item by item.

    It may be in a fence or between sentences, and may be cut off: then the complete items are
    read.

    Args:
        text: The model's text, or the arguments of its tool call.
        kind: What was asked for.

    Example:
        >>> read_answer('{"facts": []}', "facts").is_whole
        True
        >>> read_answer("I found nothing.", "facts").problems
        ('it is not JSON',)
    """
    names = _LISTS[kind]
    listed = _listed(text[:MAX_CHARS], [*names])
    if listed is None:
        return ParsedAnswer(problems=("it is not JSON",), is_whole=False)
    lists, problem = listed
    items: list[BaseModel] = []
    problems = [problem] if problem else []
    for name, rows in lists.items():
        for number, row in enumerate(rows):
            try:
                items.append(names[name].model_validate(row))
            except ValidationError as error:
                problems += [f"{name}[{number}]: {detail}" for detail in _problems(error)]
    return ParsedAnswer(tuple(items), tuple(problems), is_whole=not problem)


def _problems(error: ValidationError) -> Iterator[str]:
    for one in error.errors(include_url=False, include_input=False):
        yield f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg']}"


def better(first: ParsedAnswer, second: ParsedAnswer) -> ParsedAnswer:
    """Return the answer of which more can be read; the second one if they are alike."""
    if (second.is_whole, len(second.items)) >= (first.is_whole, len(first.items)):
        return second
    return first


_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_DECODER = json.JSONDecoder(strict=False)


def _listed(text: str, names: Sequence[str]) -> tuple[dict[str, list[object]], str] | None:
    """Find the lists of items in an answer, and return the problem with the text around them."""
    text = _THINKING.sub("", text)
    for start in _starts(text):
        try:
            found, _ = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, list):
            return {names[0]: found}, ""
        lists = {name: found[name] for name in names if isinstance(found, dict) and name in found}
        if not lists:
            return {}, f"there is no list {names[0]!r}"
        wrong = [name for name, rows in lists.items() if not isinstance(rows, list)]
        return {n: r for n, r in lists.items() if n not in wrong}, (
            f"{wrong[0]} is not a list" if wrong else ""
        )
    opened = {name: re.search(rf'"{name}"\s*:\s*\[', text) for name in names}
    read = {name: _one_by_one(text, at.end()) for name, at in opened.items() if at is not None}
    if not read:
        return None
    lists = {name: rows for name, (rows, _) in read.items()}
    return lists, next((problem for _, problem in read.values() if problem), "")


def _starts(text: str) -> Iterator[int]:
    """Yield where JSON may begin: the first brace or bracket, or the first in a fence."""
    if found := re.search(r"[{\[]", text):
        yield found.start()
    for fence in re.finditer(r"```[\w-]*\s*(?=[{\[])", text):
        yield fence.end()


def _one_by_one(text: str, at: int) -> tuple[list[object], str]:
    """Read the items of a list that may not end."""
    rows: list[object] = []
    while found := _NEXT.match(text, at):
        try:
            row, at = _DECODER.raw_decode(text, found.end())
        except (ValueError, RecursionError):
            break
        rows.append(row)
    return rows, "" if _ENDS.match(text, at) else "it does not end"


_NEXT = re.compile(r"\s*,?\s*(?=\{)")
_ENDS = re.compile(r"\s*,?\s*\]")


_IMPORTANCE: dict[int, Importance] = {1: 1, 2: 2, 3: 3}


def proposals_of(
    items: Sequence[Item], portion: Portion, names: Mapping[str, FactId]
) -> tuple[list[Proposal], list[str]]:
    """Make proposals of the items of an answer.

    Args:
        items: The parsed items.
        portion: The turns that the learner was shown; they are numbered from 1, those before first.
        names: Facts by the names that the learner was shown.

    Returns:
        The proposals, and why each item that yielded none did not.
    """
    shown = (*portion.before, *portion.turns)
    proposals: list[Proposal] = []
    refused: list[str] = []
    for item in items:
        turn = _turn_of(item, shown, portion)
        if turn is None:
            refused.append("it rests on no turn that may be learned from")
            continue
        of = names.get(item.known.strip(), NO_FACT)
        proposals.append(_proposal(item, turn, of))
    return proposals, refused


def _proposal(item: Item, turn: Statement, of: FactId) -> Proposal:
    return Proposal(
        content=" ".join(item.content.split()),
        category=item.category,
        confidence=item.confidence,
        uid=turn.uid,
        quote=item.quote.strip(),
        subject=item.subject,
        attribute=item.attribute,
        value=item.value,
        language=item.language.strip().casefold()[:2],
        valid_from=item.since.strip(),
        valid_to=item.until.strip(),
        is_temporary=item.temporary,
        importance=_IMPORTANCE[item.importance],
        relation=item.relation if of or item.relation == "remove" else "new",
        of=of,
    )


def _turn_of(item: Item, shown: Sequence[Statement], portion: Portion) -> Statement | None:
    """Find the turn an item rests on: the one it names or, if that lacks the quote, who has it."""
    own = [turn for turn in portion.turns if turn.uid in portion.learnable]
    named = shown[item.turn - 1] if 0 < item.turn <= len(shown) else None
    quote = " ".join(item.quote.split())
    holders = [turn for turn in own if quote and quote in " ".join(turn.text.split())]
    if named in holders:
        return named
    if len(holders) == 1:
        return holders[0]
    return named if named in own else None
