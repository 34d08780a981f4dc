"""The portions of a thread that a learner is asked about, and the questions, word for word.

Whole turns, none omitted. `extraction` parses the answers.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from importlib.resources import files
from typing import Literal

from thalweg.engine.tokens import Counter
from thalweg_memory.facts.days import local
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Fact, FactId, Profile, Statement, Trust
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
    return " ".join(fact.statement.split()) + since + until


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
