"""The questions to a learner, word for word, and its answers, parsed into proposals.

A portion of a thread is whole turns, none omitted. Nothing is made up for missing parts of an
answer: an unreadable item is skipped and reported.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from thalweg.engine.tokens import Counter
from thalweg_memory.facts.gates import visible
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import (
    NO_FACT,
    Category,
    Fact,
    FactId,
    Importance,
    Profile,
    Proposal,
    Relation,
    SectionName,
    Statement,
    Trust,
    local,
)
from thalweg_memory.prompts import prompt

TURN_TOKENS = 24
"""Tokens that the heading of a turn adds."""


@dataclass(frozen=True, slots=True)
class Portion:
    """What one question to a learner is about."""

    before: tuple[Statement, ...]
    """Turns that were learned from already: they are shown to be understood."""
    turns: tuple[Statement, ...]
    """Those that are learned from with this question; after it, they all count as learned."""
    learnable: frozenset[str]
    """Ids (`Statement.uid`) of those that facts may rest on."""


def smaller(settings: MemorySettings) -> MemorySettings:
    """Halve the portions twice, for an answer that could not be used; in the end it is one turn."""
    return settings.model_copy(
        update={
            "learn_tokens": max(1, settings.learn_tokens // 4),
            "learn_turns": max(1, settings.learn_turns // 4),
            "overlap_turns": min(1, settings.overlap_turns),
        }
    )


def next_portion(
    before: Sequence[Statement],
    turns: Sequence[Statement],
    *,
    settings: MemorySettings,
    count: Counter,
) -> Portion:
    """Return the first of the portions that turns are divided into: each turn is in exactly one.

    A portion ends after the last turn that facts may rest on; the answer to it is shown with
    the next one, which it helps to understand.

    Args:
        before: Turns just before them, learned from already.
        turns: Turns to learn from, oldest first; at least one.
        settings: The size of a portion, and whose texts are learned from.
        count: Counts tokens.
    """
    taken = turns[: _taken(turns, settings, count)]
    learnable = frozenset(turn.uid for turn in taken if _is_learnable(turn, settings))
    shown = before[max(0, len(before) - settings.overlap_turns) :]
    return Portion(tuple(shown), tuple(taken), learnable)


def _is_learnable(turn: Statement, settings: MemorySettings) -> bool:
    return turn.trust >= Trust.IMPORT or turn.trust.name.casefold() in settings.learn_from


def _taken(turns: Sequence[Statement], settings: MemorySettings, count: Counter) -> int:
    """Count the turns of the next portion, of which there is at least one."""
    tokens, learned, taken = 0, 0, 0
    for number, turn in enumerate(turns, start=1):
        learns = _is_learnable(turn, settings)
        length = count(turn.text)
        tokens += TURN_TOKENS + (length if learns else min(length, settings.answer_tokens))
        if learned and (tokens > settings.learn_tokens or learned == settings.learn_turns):
            return taken
        if learns:
            learned, taken = learned + 1, number
    return len(turns)


MARK = "§"
"""Begins the heading of a turn; as many of them as no turn holds."""
KNOWN_FACTS = 100
"""Existing facts that are shown to a learner, those most like the turns."""


@dataclass(frozen=True, slots=True)
class LearnerRequest:
    """The request to a learner."""

    rules: str
    """The system prompt: the same for every question, so that a provider's cache has it."""
    text: str
    names: Mapping[str, FactId]
    """The names that facts have in the question."""
    examples: tuple[tuple[str, str], ...] = ()
    """Questions with their answers, which precede it."""


def ask_for_facts(
    portion: Portion, known: Sequence[Fact], *, answer_tokens: int, count: Counter
) -> LearnerRequest:
    """Ask which facts about the user a portion contains.

    Args:
        portion: The turns.
        known: The facts of this memory that the learner is shown.
        answer_tokens: Tokens that are shown of a turn that is not learned from.
        count: Counts tokens.
    """
    shown = [*portion.before, *portion.turns]
    mark = _unused(turn.text for turn in shown)
    lines: list[str] = []
    for number, turn in enumerate(shown, start=1):
        learns = turn.uid in portion.learnable and number > len(portion.before)
        text = turn.text if learns else shortened(turn.text, answer_tokens, count)
        lines.append(f"{_heading(turn, number, mark, learns=learns)}\n{text}")
    names = {f"F{number}": fact.id for number, fact in enumerate(known, start=1)}
    rules = prompt("learn").render(bands=prompt("learn_bands").text, mark=mark)
    return LearnerRequest(rules, _turns_text(map(_fact_text, known), lines), names, _examples())


@dataclass(frozen=True, slots=True)
class Planted:
    """A message and a fact that are in every question for verdicts, with the right answer."""

    text: str
    quote: str
    content: str
    whose: Literal["own", "other", "unreal"]
    carries: bool


PLANTED = (
    Planted(
        "Can you put this into plain French? We have run a bakery in Lyon for ten years.",
        "We have run a bakery in Lyon for ten years",
        "User runs a bakery in Lyon",
        "other",
        carries=True,
    ),
    Planted(
        "my neighbour has a red bicycle, and I lent him my pump for it",
        "I lent him my pump",
        "User lent a neighbour a pump",
        "own",
        carries=True,
    ),
    Planted(
        "I have never learned to swim, and that is fine by me.",
        "learned to swim",
        "User has learned to swim",
        "own",
        carries=False,
    ),
)
"""A model that is wrong about one of them has no say; see `lesson.verified`."""


@dataclass(frozen=True, slots=True)
class VerdictRequest:
    """A question for verdicts, and the names in it."""

    request: LearnerRequest
    """Its `names` are those of the existing facts."""
    new: Mapping[str, FactId]
    planted: Mapping[str, int]
    """Names of the facts of `PLANTED`, with their index."""


def ask_for_verdicts(
    asked: LearnerRequest,
    answered: str,
    portion: Portion,
    new: Sequence[Fact],
    known: Sequence[Fact],
) -> VerdictRequest:
    """Ask whose statements new facts are, and how they relate to existing ones and to each other.

    It is the next message of the conversation in which they were found, which a provider has in
    its cache.

    Args:
        asked: The question that they were found with.
        answered: The answer to it.
        portion: Its turns.
        new: The new facts.
        known: The existing facts that they may relate to.
    """
    turns = [*portion.before, *portion.turns]
    places = {turn.uid: number for number, turn in enumerate(turns, start=1)}
    by_id = {id_: name for name, id_ in asked.names.items()}
    further = (fact for fact in known if fact.id not in by_id)
    by_id |= {f.id: f"F{n}" for n, f in enumerate(further, start=len(asked.names) + 1)}
    names = {by_id[fact.id]: fact.id for fact in known}
    news = {f"N{number}": fact.id for number, fact in enumerate(new, start=1)}
    planted = {f"N{number}": at for at, number in enumerate(range(len(news) + 1, len(news) + 4))}
    rows = [
        f"{name}: {_with_quote(fact.statement, _quote(fact), places.get(_uid(fact), 0))}"
        for name, fact in zip(news, new, strict=True)
    ]
    more: list[str] = []
    for name, at in planted.items():
        one, number = PLANTED[at], len(turns) + at + 1
        more.append(f"{number}, user: {one.text}")
        rows.append(f"{name}: {_with_quote(one.content, one.quote, number)}")
    text = prompt("verdict").render(
        turns="\n".join(more),
        known="\n".join(f"{n}: {_read(f)}" for n, f in zip(names, known, strict=True)) or "none",
        new="\n".join(rows),
    )
    examples = (*asked.examples, (asked.text, answered))
    return VerdictRequest(LearnerRequest(asked.rules, text, names, examples), news, planted)


def _quote(fact: Fact) -> str:
    return next((each.quote for each in fact.evidence if each.quote), "")


def _uid(fact: Fact) -> str:
    return next((each.uid for each in fact.evidence), "")


def _with_quote(statement: str, quote: str, number: int) -> str:
    return f'{statement} (turn {number}: "{" ".join(quote.split())}")'


def _read(fact: Fact) -> str:
    """Write a fact with the day of its statement; an unverified one with its words, too."""
    words = f'"{" ".join(_quote(fact).split())}"' if fact.claim else ""
    day = fact.observed_at[:10]
    is_since = not day or day == fact.valid_from[:10]
    notes = ", ".join(filter(None, (words, "" if is_since else f"said {day}")))
    return _fact_text(fact) + (f" ({notes})" if notes else "")


def _heading(turn: Statement, number: int, mark: str, *, learns: bool) -> str:
    speaker = f"{turn.role} {' '.join(turn.author.split())}".strip()
    what = "learn from this" if learns else "known already, or not the user's"
    return f"{mark} {number}, {speaker}, {_moment(local(turn.said_at, turn.zone))} ({what})"


def _moment(stated_at: str) -> str:
    """Write a time with its weekday, which "on Monday" is worked out from.

    Example:
        >>> _moment("2026-03-06T09:12:00Z")
        'Friday 2026-03-06 09:12'
    """
    try:
        return f"{datetime.fromisoformat(stated_at):%A %Y-%m-%d %H:%M}"
    except ValueError:
        return "at an unknown time"


def _fact_text(fact: Fact) -> str:
    since = f" (since {fact.valid_from[:10]})" if fact.valid_from else ""
    until = f" (until {fact.valid_to[:10]})" if fact.valid_to else ""
    return " ".join(visible(fact.statement).split()) + since + until


def _unused(texts: Iterable[str]) -> str:
    """Find a mark that is in none of the texts."""
    runs = (run for text in texts for run in re.findall(f"{MARK}+", text))
    return MARK * (1 + max(map(len, runs), default=0))


def shortened(text: str, most: int, count: Counter) -> str:
    """Show the beginning and the end of a text, of at most so many tokens together.

    Example:
        >>> shortened("0123456789", 4, len)
        '01 […] 89'
    """
    if count(text) <= most:
        return text
    chars = max(1, len(text) * most // max(1, count(text)) // 2)
    while chars > 1 and count(text[:chars]) + count(text[-chars:]) > most:
        chars = chars * 4 // 5
    return f"{text[:chars].rstrip()} […] {text[-chars:].lstrip()}"


@cache
def _examples() -> tuple[tuple[str, str], ...]:
    """Write the examples of questions and answers in the very form of questions and answers."""
    text = (files("thalweg.engine.prompts") / "learn_examples.json").read_text(encoding="utf-8")
    found: list[tuple[str, str]] = []
    for given in json.loads(text):
        turns = [
            Statement("", seq, "user", row["text"], row["said_at"], Trust.USER)
            for seq, row in enumerate(given["turns"], start=1)
        ]
        shown = [f"{_heading(t, t.seq, MARK, learns=True)}\n{t.text}" for t in turns]
        answer = json.dumps({"facts": given["facts"]}, ensure_ascii=False)
        found.append((_turns_text(given["known"], shown), answer))
    return tuple(found)


def _turns_text(known: Iterable[str], turns: Iterable[str]) -> str:
    named = [f"F{number}: {text}" for number, text in enumerate(known, start=1)]
    return prompt("learn_turns").render(known="\n".join(named) or "none", turns="\n\n".join(turns))


def ask_for_profile(
    facts: Sequence[Fact], profile: Profile, *, now: str, max_chars: int
) -> LearnerRequest:
    """Ask for the profile that facts support. The learner is shown nothing else.

    Args:
        facts: Active facts that are trusted.
        profile: The current profile; the user's own sections are omitted.
        now: Today.
        max_chars: Most characters of a section.
    """
    names = {f"F{number}": fact.id for number, fact in enumerate(facts, start=1)}
    lines = [
        f"{name} ({fact.category}, {fact.observed_at[:10]}): {_fact_text(fact)}"
        for name, fact in zip(names, facts, strict=True)
    ]
    sections = [f"{s.name}: {s.text}" for s in profile.sections if s.text and s.cites]
    text = prompt("profile_facts").render(
        today=f"{date.fromisoformat(now[:10]):%A %Y-%m-%d}",
        facts="\n".join(lines),
        sections="\n".join(sections) or "empty",
    )
    return LearnerRequest(prompt("profile").render(max_chars=max_chars), text, names)


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
        kind: The requested kind.

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
