"""Sentences and clauses of a speaker's own words, and which of them state something of his.

A clause is *sound* where it states plainly: not asked, supposed, played, joked, reported of
others or told to the agent to do. Facts rest on sound clauses only.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from thalweg.facts.gates import moods
from thalweg.facts.gates.orders import dangerous_order, is_about_answers
from thalweg.facts.gates.own_words import MARKER
from thalweg.facts.gates.persons import others
from thalweg.facts.gates.stretches import stripped

Soundness = Literal["", "doubtful", "unsound"]


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence, with what is known of how it was said."""

    text: str
    start: int
    end: int
    """Behind its last character, in the own words it was taken from."""
    sentence: int
    """The number of its sentence in the text."""
    soundness: Soundness = ""
    """Empty where a fact may rest on it; `doubtful` ones wait for the user's word."""
    problem: str = ""
    """Why nothing can rest on it."""
    others: tuple[str, ...] = ()
    """Whose doing it tells of, where it is another's; see `persons.names`."""
    reported: bool = False
    """Somebody else is said to have said it."""
    first_person: bool = False
    negative: bool = False
    past: bool = False
    wished: bool = False


@lru_cache(maxsize=64)
def clauses(text: str) -> tuple[Clause, ...]:
    """Take own words apart, in order.

    Example:
        >>> [(c.text, c.problem) for c in clauses("I'm vegan, what can I cook?")]
        [("I'm vegan", ''), ('what can I cook?', 'is a question')]
    """
    found: list[Clause] = []
    played = False
    for number, (start, end) in enumerate(sentences(text)):
        said = text[start:end]
        if moods.PLAYED_OUT.search(said):
            played = False
        parts = _with_moods(said, [*_parts(text, start, end, number)])
        played = played or moods.PLAYED.search(said) is not None
        found += _all(parts, "unsound", "is said in a role or an example") if played else parts
        if moods.JOKED.search(said):
            found = [*found[:-12], *_all(found[-12:], "unsound", "is a joke")]
    return tuple(found)


_ABBREVIATION = re.compile(
    r"(?:\b(?:St|Dr|Mr|Mrs|Ms|Prof|Inc|Ltd|Co|Corp|vs|e\.g|i\.e|etc|approx|No|Nr|z\.B|d\.h|bzw"
    r"|ca|Jr"
    r"|Sr|Ave|Rd|Blvd|Mt|Ft|Av|Sra?|Mme|Mlle|a\.m|p\.m|[A-Z]))\.$"
)
_STOP = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s|$)|[。！？]+[」』”]?|\n+")


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Give the start and the end of each sentence, its stop included.

    Example:
        >>> [*sentences("I'm at St. Mary's. Yes.")]
        [(0, 18), (19, 23)]
    """
    start = 0
    for stop in _STOP.finditer(text):
        if stop[0] == "." and _ABBREVIATION.search(text, start, stop.end()):
            continue
        yield from stripped(text, start, stop.end())
        start = stop.end()
    yield from stripped(text, start, len(text))


_BREAK = re.compile(
    r"\s*(?:[,;:](?=\s|$)|[，；：、()（）]|[—–]|\s-\s)\s*"
    r"|\s+(?=(?:but|and|or|so|because|since|while|whereas|although|though|instead of|rather than"
    r"|than"
    r"|over|who|aber|und|oder|weil|sondern|mais|et|ou|pero|sino|y|o|mas|e|ma|но|и|или|а)\s)"
    r"|(?<=\S)(?=但是|但|而是|而不是|而且|不过|所以|因为|并且|并)"
    rf"|{MARKER.pattern}"
)
_PREFERS_TO = re.compile(r"\bprefer\w*\s+(?!to\b)[^,.;]{1,40}?(\s+)(?=to\s+\w+)", re.IGNORECASE)
_BUT = re.compile(
    r"^\W*(?:but|only|just|always|rather|sondern|aber|mais|pero|sino|mas|ma|но|а|但|而是|只)",
    re.IGNORECASE,
)


def _parts(text: str, start: int, end: int, number: int) -> Iterator[Clause]:
    breaks = [found.span() for found in _BREAK.finditer(text, start, end)]
    breaks += [found.span(1) for found in _PREFERS_TO.finditer(text, start, end)]
    done = start
    for left, right in (*sorted(breaks), (end, end)):
        if left >= done:
            for a, b in stripped(text, done, left):
                yield Clause(text[a:b], a, b, number)
        done = max(done, right)


def _with_moods(said: str, parts: list[Clause]) -> list[Clause]:
    """Tell of each clause of a sentence how it was said."""
    found: list[Clause] = []
    for part in parts:
        found.append(_with_manner(part, found))
    if not found:
        return []
    found = _questions(said, found)
    if moods.SUPPOSED.search(said) or _is_only_conceded(found):
        found = _all(found, "unsound", "is only supposed")
    if moods.LAUGHED.search(said):
        found = _all(found, "doubtful", "may be a joke")
    return [_with_order(clause) for clause in found]


_CONCEDED = re.compile(r"\beven if\b", re.IGNORECASE)


def _is_only_conceded(found: list[Clause]) -> bool:
    """Say whether `even if` supposes something, where it does not widen a rule for answers."""
    conceded = [clause for clause in found if _CONCEDED.search(clause.text)]
    return bool(conceded) and not (
        conceded[0] is not found[0] and all(is_about_answers(clause.text) for clause in found)
    )


def _with_order(clause: Clause) -> Clause:
    if problem := dangerous_order(clause.text):
        return replace(clause, soundness="unsound", problem=problem)
    return clause


_PREDICATE = re.compile(
    r"\b(?:am|is|are|was|were|like|likes|love|loves|hate|hates|prefer|prefers|use|uses|work"
    r"|works|live"
    r"|lives|have|has|want|wants|need|needs|do|does|enjoy|enjoys|drink|eat|speak|own|don['’]t"
    r"|drinks"
    r"|eats|speaks|go|goes|play|plays|run|runs|write|writes|read|reads|keep|keeps|went|got|took"
    r"|made|came"
    r"|left|bought|gave|found|felt|knew|met|paid|said|sold|spent|told|thought|won|wrote|became"
    r"|began|grew"
    r"|(?:\w{2,}(?:[^aeiou]ed|ied|ated)))\b|['’](?:m|s|re|ve)\b"
    r"|是|喜欢|爱|讨厌|用|住|有|吃|喝|要|想|会|做|在",
    re.IGNORECASE,
)


def _with_manner(part: Clause, before: list[Clause]) -> Clause:
    """Tell whose doing a clause is and whether it denies, from itself or the clause before it."""
    text = part.text
    last = before[-1] if before else None
    whose = others(text)
    first = moods.FIRST_PERSON.search(text) is not None
    if not first and not last and not whose:
        first = moods.ELLIPTIC.search(text) is not None
    reported = _is_reported(text)
    if last and not reported:
        reported = last.reported and not _CONCLUDES.match(text)
    if last and not whose and not first:
        whose = last.others
    negative = _is_negative(text) or bool(last and _IS_LESS.match(f"{last.text} {text}"))
    if last and not negative and not first and not _PREDICATE.search(text) and not _BUT.match(text):
        negative = last.negative and not _IS_CONTRAST.match(last.text)
    return replace(
        part,
        others=whose,
        reported=reported,
        first_person=first,
        negative=negative,
        past=moods.PAST.search(text) is not None,
        wished=moods.WISHED.search(text) is not None or bool(last and last.wished and not first),
    )


_CONCLUDES = re.compile(
    r"^\W*(?:so|but|and i|which|although|though|aber|also|mais|pero|mas|ma|но|поэтому|所以|但"
    r"|不过|可)",
    re.IGNORECASE,
)
_IS_LESS = re.compile(r".*\bprefer\w*\s(?!to\b)[^,.;]{1,40}\sto\s\w+", re.IGNORECASE)
_IS_CONTRAST = re.compile(r"^\W*(?:not|instead of|rather than|than|over|without)\b", re.IGNORECASE)


def _is_reported(text: str) -> bool:
    rest = moods.OWN_SAYING.sub(" ", text)
    return moods.SAYS.search(rest) is not None


def _is_negative(text: str) -> bool:
    """Say whether a clause denies or dislikes; both at once is neither."""
    denies = moods.NEGATED.search(text) is not None
    averse = moods.AVERSE.search(text)
    only_denied = averse is not None and moods.ONLY_DENIED.fullmatch(averse[0]) is not None
    return denies if only_denied else denies != (averse is not None)


def _questions(said: str, found: list[Clause]) -> list[Clause]:
    """Mark what is asked. What is stated before a question in the same sentence stays stated."""
    marked = re.search(r"[?？][\"'”’)\]」』\s]*$", said) is not None
    asking = [moods.ASKS.search(clause.text) is not None for clause in found]
    if not marked:
        return [
            _unsound(clause, "is a question") if moods.INVERTED.search(clause.text) else clause
            for clause in found
        ]
    if len(found) > 1 and moods.CONSENT_TAG.search(found[-1].text):
        return found[:-1]
    if moods.TRUTH_TAG.search(found[-1].text) or not any(asking[1:]) or asking[0]:
        return _all(found, "unsound", "is a question")
    first = asking.index(True)
    return [*found[:first], *_all(found[first:], "unsound", "is a question")]


def _all(found: Iterable[Clause], soundness: Soundness, problem: str) -> list[Clause]:
    return [
        clause
        if clause.soundness == "unsound"
        else replace(clause, soundness=soundness, problem=problem)
        for clause in found
    ]


def _unsound(clause: Clause, problem: str) -> Clause:
    return replace(clause, soundness="unsound", problem=problem)
