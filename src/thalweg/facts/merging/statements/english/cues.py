"""How an English statement is meant, and the clauses it is made of."""

import re
from collections.abc import Iterator

from thalweg.facts.merging.statements.tables import english_cues as tables
from thalweg.facts.merging.statements.tables.english_words import stem

_LITERAL = re.compile(r"(?<!\(\?)(?<![\\A-Za-z<])[a-z][a-z-]*(?![a-z>=])")


def folded(pattern: str) -> str:
    """Fold the words of a pattern as those of statements are."""
    return _LITERAL.sub(lambda match: stem(match[0]), pattern)


def _any(table: str) -> re.Pattern[str]:
    return re.compile(r"(?<!\S)(?:" + "|".join(map(folded, tables.phrases(table))) + r")(?!\S)")


NOW = _any(tables.NOW)
CHANGE = _any(tables.CHANGE)
CORRECTION = _any(tables.CORRECTION)
OVER = _any(tables.OVER)
OVER_WORDS = _any(tables.OVER_WORDS)
NEGATION = _any(tables.NEGATION)
WISH = _any(tables.WISH)
ADDITION = _any(tables.ADDITION)
PAST = _any(tables.PAST)
PAST_YEAR = _any(tables.PAST_YEAR)


def is_change(text: str) -> bool:
    """Say whether something is told as new, as a change or as a correction."""
    return bool(NOW.search(text) or CHANGE.search(text) or CORRECTION.search(text))


_LEAD_IN = re.compile(
    r"^(?:" + "|".join(map(folded, tables.phrases(tables.LEAD_INS))) + r")(?: [,.])? "
)
_GOES_ON = folded(
    "move|join|switch|work|live|begin|leave|drink|use|take|get|bike|be|have|now|quit|no longer"
)
_BREAK = re.compile(
    rf"(?:^| )\.(?: |$)| , (?:but|and|so|now|then)? ?| but | and (?=(?:{_GOES_ON})\b)"
    r"| so that | since (?=\S+ (?!\d))"
)
_BEGINS_WITH_VERB = re.compile(
    r"^(?:"
    + folded(
        "be|have|work|live|move|join|switch|use|like|begin|leave|drink|take|get|prefer|now"
        "|no longer|bike|eat|go|do|not|run|play|drive|speak|own|quit|stop|plan|want|need|study"
        "|read|write|buy|sell|formerly|pick up|cancel|deploy"
    )
    + r")\b"
)
_FRONT = re.compile(
    r"^((?:"
    + folded("since|on|every|each|in|at|before|after|daily|weekly|during|as|for|from|when|by")
    + r")\b[^,.]*?) (?:, )?((?:user|team) (?!'s).*)$"
)
_SUBJECT = re.compile(
    r"(?P<s>\S+(?: 's \S+| \S+){0,3}?) (?:"
    + folded("be|have|work|live|move|use|like|drive")
    + r")\b"
)


def clauses(text: str) -> Iterator[str]:
    """Split folded words into clauses; one without a subject has that of the one before."""
    subject = "user"
    for part in _BREAK.split(text):
        clause = _without_lead_ins(part.strip(" ,."))
        if not clause:
            continue
        front = _FRONT.match(clause)
        if front:
            clause = f"{front[2]} {front[1]}"
        if _BEGINS_WITH_VERB.match(clause):
            clause = f"{subject} {clause}"
        found = _SUBJECT.match(clause)
        subject = found["s"] if found else "user" if clause.startswith("user") else subject
        yield clause


def _without_lead_ins(clause: str) -> str:
    shorter = _LEAD_IN.sub("", f"{clause} ").strip()
    return clause if shorter == clause else _without_lead_ins(shorter)


def bare(clause: str) -> str:
    """Take the words of time, doubt and denial out of a clause."""
    clause = re.sub(r"(?<!\S)be not(?!\S)", "be", clause)
    clause = _NOT_TELLING.sub(" ", clause)
    clause = NOW.sub(" ", ADDITION.sub(" ", clause))
    return re.sub(r"\s+", " ", clause).strip(" ,.")


_NOT_TELLING = re.compile(
    r"(?<!\S)(?:no longer|do not|"
    + folded("stop|quit|formerly|previously|really|very|always|usually|also|still|mostly|mainly")
    + r")(?!\S)"
)
