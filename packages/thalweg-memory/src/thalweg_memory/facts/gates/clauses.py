"""Sentences and clauses of a speaker's own words, and which of them are the speaker's statements.

A clause is *sound* if it is a plain statement: no question, supposition, role play, joke, report
about others or order to the agent. Facts require sound clauses.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from thalweg_memory.facts.gates import moods
from thalweg_memory.facts.gates.orders import dangerous_order
from thalweg_memory.facts.gates.own_words import MARKER
from thalweg_memory.facts.gates.stretches import stripped


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence, with its moods."""

    text: str
    start: int
    end: int
    """The index after its last character, in the own words that it is part of."""
    sentence: int
    """The number of its sentence in the text."""
    problem: str = ""
    """Why no fact may rest on it; empty for a sound clause."""
    first_person: bool = False


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
        sentence = text[start:end]
        if moods.PLAYED_OUT.search(sentence):
            played = False
        parts = _with_moods(sentence, [*_parts(text, start, end, number)])
        played = played or moods.PLAYED.search(sentence) is not None
        found += _unsound(parts, "is part of a role or an example") if played else parts
        if moods.JOKED.search(sentence):
            found = [*found[:-12], *_unsound(found[-12:], "is a joke")]
    return tuple(found)


_ABBREVIATION = re.compile(
    r"(?:\b(?:St|Dr|Mr|Mrs|Ms|Prof|Inc|Ltd|Co|Corp|vs|e\.g|i\.e|etc|approx|No|Nr|z\.B|d\.h|bzw"
    r"|ca|Jr"
    r"|Sr|Ave|Rd|Blvd|Mt|Ft|Av|Sra?|Mme|Mlle|a\.m|p\.m|[A-Z]))\.$"
)
_STOP = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’)\]]*(?=\s|$)|(?<![!?])[!?]++(?=[\u3040-\u9fff])|[。！？]+[」』”]?|\n+"
    rf"|[:：]\s*(?:{MARKER.pattern})|[\U0001f300-\U0001faff\u2600-\u27bf]\ufe0f?(?=\s)"
)
MAX_SENTENCE_CHARS = 1_000
"""A longer sentence is read in pieces: the time to search a clause grows with its length."""


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each sentence, its stop included.

    Example:
        >>> [*sentences("I'm at St. Mary's. Yes.")]
        [(0, 18), (19, 23)]
    """
    start = 0
    for stop in _STOP.finditer(text):
        if stop[0] == "." and _ABBREVIATION.search(text, start, stop.end()):
            continue
        yield from _pieces(text, start, stop.end())
        start = stop.end()
    yield from _pieces(text, start, len(text))


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > MAX_SENTENCE_CHARS:
        limit = start + MAX_SENTENCE_CHARS
        space = text.rfind(" ", start + 1, limit)
        yield from stripped(text, start, space if space > start else limit)
        start = space if space > start else limit
    yield from stripped(text, start, end)


_BREAK = re.compile(
    r"\s*(?:[,;:](?=\s|$)|(?<=[\u3040-\u9fff])[,;:]|[,;:](?=[\u3040-\u9fff])|[，；：、()（）]|[—–]|\s-\s)\s*"
    r"|\s+(?=(?:but|and|or|so|because|since|while|whereas|although|though|instead of|rather than"
    r"|than"
    r"|over|who|aber|und|oder|weil|sondern|mais|et|ou|pero|sino|y|o|mas|e|ma|но|и|или|а)\s)"
    r"|(?<=\S)(?=但是|但|而是|而不是|而且|不过|所以|因为|并且|并)"
    rf"|{MARKER.pattern}"
)


def _parts(text: str, start: int, end: int, number: int) -> Iterator[Clause]:
    breaks = [found.span() for found in _BREAK.finditer(text, start, end)]
    done = start
    for left, right in (*sorted(breaks), (end, end)):
        if left >= done:
            for a, b in stripped(text, done, left):
                yield Clause(text[a:b], a, b, number)
        done = max(done, right)


def _with_moods(sentence: str, parts: list[Clause]) -> list[Clause]:
    """Return the clauses of a sentence with their moods."""
    if not parts:
        return []
    found = [
        replace(part, first_person=moods.FIRST_PERSON.search(part.text) is not None)
        for part in parts
    ]
    found = _with_interposed(sentence, found, _questions(sentence, found))
    if _is_supposed(sentence, found):
        found = [replace(clause, problem="is only supposed") for clause in found]
    if _is_taken_up(sentence, found):
        return found
    return [
        replace(clause, problem=dangerous_order(clause.text) or clause.problem) for clause in found
    ]


def _is_taken_up(sentence: str, found: list[Clause]) -> bool:
    """Return whether what looks like an order is the speaker's own rule: `…: that's how I live`."""
    behind = [sentence[colon.end() :] for colon in _COLON.finditer(sentence)]
    return any(moods.POINTS_BACK.match(text) for text in behind) and found[-1].first_person


_COLON = re.compile(r"\s*[:：]\s*")
_TWICE = 2


def _is_supposed(sentence: str, found: list[Clause]) -> bool:
    """Return whether a sentence is only a supposition.

    The condition of a statement describes a habit: another clause is the statement, or the clause
    itself mentions the speaker twice.
    """
    if moods.SUPPOSED.search(sentence):
        return True
    stated = [clause for clause in found if not clause.problem] or found
    conditional = [clause for clause in stated if moods.CONDITIONAL.search(clause.text)]
    if not conditional:
        return False
    if moods.IRREAL.search(sentence):
        return True
    has_problem = any(clause.problem for clause in found)
    is_stated = not has_problem and len(conditional) < len(found)
    persons = len(moods.FIRST_PERSON.findall(conditional[0].text))
    return not is_stated and persons < _TWICE


def _questions(sentence: str, found: list[Clause]) -> list[Clause]:
    """Mark questions. A statement before a question in the same sentence remains a statement."""
    marked = re.search(r"[?？][\"'”’)\]」』\s]*$", sentence) is not None
    asking = [moods.QUESTION.search(clause.text) is not None for clause in found]
    if not marked:
        return found
    if len(found) == 1 or asking[0]:
        return _unsound(found, "is a question")
    if moods.TRUTH_TAG.search(found[-1].text):  # It asks about the clause before it.
        return [*found[:-2], *_unsound(found[-2:], "is a question")]
    # What comes before the clause that asks is stated; where none shows that it does, the last.
    questions = [at for at, is_question in enumerate(asking) if is_question]
    first = next(
        (at for at in questions if not _continues(found[at])), (questions or [len(found) - 1])[0]
    )
    return [*found[:first], *_unsound(found[first:], "is a question")]


_VERB = re.compile(
    r"\W*(?:is|are|am|was|were|do|does|did|has|have|had|can|could|would|should|will)\b",
    re.IGNORECASE,
)


def _continues(clause: Clause) -> bool:
    """Return whether a clause may have its subject before it: `…, Kit, is a nurse, what …?`."""
    return _VERB.match(clause.text) is not None


_INTERPOSED = re.compile(r"\s[-–]\s+([^-–—]+?)\s+[-–]\s|—\s*([^—]+?)\s*—|[(（]([^()（）]+)[)）]")


def _with_interposed(sentence: str, before: list[Clause], marked: list[Clause]) -> list[Clause]:
    """Keep statements between dashes or brackets in a question, if they begin in the first person.

    Args:
        sentence: The sentence.
        before: Its clauses, before questions were marked.
        marked: The same clauses, marked.
    """
    shift = before[0].start - sentence.find(before[0].text)
    found = list(marked)
    for inner in _INTERPOSED.finditer(sentence):
        start, end = inner.start() + shift, inner.end() + shift
        inside = [at for at, clause in enumerate(marked) if start <= clause.start < end]
        is_question = any(moods.QUESTION.search(before[at].text) for at in inside)
        if inside and before[inside[0]].first_person and not is_question:
            found[inside[0] : inside[-1] + 1] = before[inside[0] : inside[-1] + 1]
    return found


def _unsound(found: Iterable[Clause], problem: str) -> list[Clause]:
    """Set a problem on clauses that have none."""
    return [replace(clause, problem=clause.problem or problem) for clause in found]
