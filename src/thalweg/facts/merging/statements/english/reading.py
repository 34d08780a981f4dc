"""English statements read."""

import re
from collections.abc import Iterator

from thalweg.facts.merging.statements.claims import Statement
from thalweg.facts.merging.statements.contrasts import ENGLISH_WORDS
from thalweg.facts.merging.statements.english import cues
from thalweg.facts.merging.statements.english.claims import claims
from thalweg.facts.merging.statements.english.cues import folded
from thalweg.facts.merging.statements.english.tokens import (
    subject_words,
    telling,
    telling_in_order,
    tokens,
)
from thalweg.facts.merging.statements.english.values import names, typed
from thalweg.facts.merging.statements.tables.english_words import LIGHT, stems


def read(content: str) -> Statement:
    """Read an English statement; see `read_statement`."""
    words = tokens(content)
    text = " ".join(words)
    parts = tuple(cues.clauses(text))
    is_corrected = bool(cues.CORRECTION.search(_NOT.sub(" ", text)))
    claimed = tuple(
        dict.fromkeys(c for part in parts for c in claims(part, is_corrected=is_corrected))
    )
    ordered = telling_in_order(cues.ADDITION.sub(" ", cues.NOW.sub(" ", text)).split())
    values = frozenset(typed(text))
    anchors = frozenset(ordered) - LIGHT - _GENERIC
    is_past = cues.PAST.search(text) or (
        cues.PAST_YEAR.search(text) and _PAST_TENSE.search(content)
    )
    is_over = bool(parts) and all(cues.OVER.search(part) for part in parts)
    return Statement(
        claims=claimed,
        words=frozenset(ordered),
        ordered=ordered,
        typed=values,
        names=names(content),
        polarity="over" if is_over else "not" if cues.NEGATION.search(text) else "holds",
        modality="wish" if cues.WISH.search(text) else "past" if is_past else "fact",
        has_cue=cues.is_change(text),
        is_additional=bool(cues.ADDITION.search(text)),
        old=tuple(dict.fromkeys(words for part in parts for words in _over(part))),
        anchors=anchors,
        is_event=bool(_EVENT.search(content)),
        is_one_of_many=bool(_ONE_OF_MANY.search(text)),
        contrasts=frozenset(words) & ENGLISH_WORDS,
        marks=anchors | {claim.attribute for claim in claimed} | _kinds(values),
        text=text,
        language="en",
    )


def subject_of(subject: str) -> str:
    """Fold a subject as a learner gave it."""
    return subject_words(" ".join(word for word in tokens(subject) if word != "."))


def _kinds(values: frozenset[tuple[str, str]]) -> set[str]:
    return {f"a {kind}" for kind, _ in values if kind not in {"number", "date"}}


_NOT = re.compile(r"(?<!\S)not(?!\S)")
_ONE_OF_MANY = re.compile(r"(?<!\S)(?:hav|get|schedul|book|attend|mak|giv|send|tak) a \S+")
_GENERIC = stems(
    "day time year month week today 1 2 3 4 5 6 7 8 9 10 good bad new old use user team say not no "
    "main change move switch update start begin stop since from back thing something longer "
    "everything nothing best better now daily early late high low more less first last"
)
_EVENT = re.compile(
    r"\b(?:went|visited|bought|met|ran|saw|ate|attended|finished|watched|read a|flew|won|lost"
    r"|found|wrote|made|took|gave|spent|had|did|(?<!is )(?<!are )(?<!was )(?<!were )(?<!be )"
    r"(?<!been )(?<!get )(?<!got )(?<!has )(?<!have )[a-z]{2,}ed)\b(?! in\b)"
)
_PAST_TENSE = re.compile(
    r"\b(?:was|were|had|did|went|ran|wrote|led|taught|spent|left|made|took|saw|[a-z]{2,}ed)\b"
)
_ENDS = (
    re.compile(
        r"(?:^|.* )(?:"
        + folded("switch|move|migrate|change|convert|upgrade|go|transition|swap|trade")
        + r")(?: \S+(?: \S+)?)? from (?P<o>.+?) (?:over )?(?:to|for) .+$"
    ),
    re.compile(r".+ (?:instead of|rather than|in plac of) (?P<o>.+)$"),
    re.compile(r"(?:.* )?(?:" + folded("replace|swap") + r") (?P<o>.+?) (?:with|by|for) .+$"),
    re.compile(r"(?:^|.* )" + folded("take over") + r" .* from (?P<o>\S+)$"),
    re.compile(r"(?:(?:user|team|it) )?not (?P<o>\S+(?: \S+){0,3})$"),
)


_REASON = re.compile(r" (?:becaus|due to|so that|after|when|in order to|to sav)\b.*$")


def _over(clause: str) -> Iterator[frozenset[str]]:
    """List what a clause says is over."""
    for pattern in _ENDS:
        found = pattern.match(clause)
        if found:
            yield telling(cues.NOW.sub(" ", found["o"]).split())
    if cues.OVER.search(clause):
        ended = _REASON.sub("", clause)
        words = telling(cues.OVER_WORDS.sub(" ", cues.NOW.sub(" ", ended)).split())
        if words:
            yield words
