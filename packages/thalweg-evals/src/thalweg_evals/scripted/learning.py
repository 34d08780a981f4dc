"""How a scripted model learns about its user: it notes the facts of its case when it sees them.

It answers the same prompts as every learner (`learn` and `profile`): it reads which turns may be
learned from, quotes the user's own words, and decides which existing fact a new one updates. It
never notes anything that is not in the request.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Protocol, runtime_checkable

from thalweg_evals.scripted.moves import Use, View
from thalweg_memory.facts.values import Category

FACTS, PAIRS, SECTIONS = "facts", "pairs", "sections"
"""The requests of a learner; the answering tools have the same names."""
_TURN = re.compile(r"^(§+) (\d+), [^\n]*\((learn from this|known already[^\n]*)\)$", re.MULTILINE)
_KNOWN = re.compile(r"^(F\d+): (.*?)(?: \(since [\d-]+\))?$", re.MULTILINE)
_LISTED = re.compile(r"^([FN]\d+): (.*?)(?: \((?:\"|said|since|until).*)?$", re.MULTILINE)
_NAMED = re.compile(r"^(F\d+) \([^)]*\): (.*?)(?: \(since [\d-]+\))?$", re.MULTILINE)
_THE_CONVERSATION = "The conversation:"
_SURE = 0.95


@dataclass(frozen=True, slots=True)
class ScriptedNote:
    """A fact that a competent learner notes when the user mentions it."""

    said: str
    """Pattern of the user's words, which are the quote. Its last group is the value; earlier groups
    are inserted into `content` and `attribute` as `{0}`, `{1}`."""
    content: str
    """The fact, containing `{value}`."""
    attribute: str
    category: Category = "context"
    language: str = "en"

    def content_of(self, groups: Sequence[str]) -> str:
        """Return the fact."""
        return self.content.format(*groups[:-1], value=groups[-1])


@runtime_checkable
class Teaches(Protocol):
    """A case with facts to note about its user; in other cases nothing is noted."""

    @property
    def facts(self) -> Sequence[ScriptedNote]:
        """The facts that a competent learner notes."""
        ...


def learned(view: View, notes: Sequence[ScriptedNote]) -> Use | None:
    """Return the answer to a learner's request; `None` for any other request.

    Args:
        view: The request.
        notes: The facts to note when they are mentioned.
    """
    if FACTS in view.tools:
        return Use(FACTS, {FACTS: list(_facts(view.prompt, notes))})
    if PAIRS in view.tools:
        return Use(PAIRS, {PAIRS: list(_pairs(view.prompt))})
    if SECTIONS in view.tools:
        return Use(SECTIONS, {SECTIONS: list(_sections(view.prompt))})
    return None


def _facts(prompt: str, notes: Sequence[ScriptedNote]) -> Iterator[Mapping[str, Any]]:
    listing, _, conversation = prompt.partition(_THE_CONVERSATION)
    known = {content: name for name, content in _KNOWN.findall(listing)}
    for number, text in _learnable(conversation):
        for note in notes:
            for found in re.finditer(note.said, text):
                yield _fact(note, found, number, known)


def _learnable(conversation: str) -> Iterator[tuple[int, str]]:
    headings = list(_TURN.finditer(conversation))
    ends = [heading.start() for heading in headings[1:]] + [len(conversation)]
    for heading, end in zip(headings, ends, strict=True):
        if heading[3] == "learn from this":
            yield int(heading[2]), conversation[heading.end() : end].strip()


def _fact(
    note: ScriptedNote, found: re.Match[str], number: int, known: Mapping[str, str]
) -> Mapping[str, Any]:
    groups = found.groups()
    content = note.content_of(groups)
    same = known.get(content, "")
    other = re.compile(re.escape(note.content_of([*groups[:-1], "\0"])).replace("\0", ".+"))
    older = next((name for text, name in known.items() if other.fullmatch(text)), "")
    return {
        "turn": number,
        "quote": found[0],
        "language": note.language,
        "content": content,
        "category": note.category,
        "confidence": _SURE,
        "subject": "user",
        "attribute": note.attribute.format(*groups[:-1]),
        "value": groups[-1],
        "since": "",
        "relation": "same" if same else "update" if older else "new",
        "known": same or older,
    }


def _pairs(prompt: str) -> Iterator[Mapping[str, Any]]:
    """Compare new facts with existing ones: of two with the same beginning, the newer is valid."""
    rows = [(name, content) for name, content in _LISTED.findall(prompt) if not name.endswith("0")]
    for new, content in rows:
        for known, before in rows:
            alike = sum(
                1
                for _ in takewhile(lambda two: two[0] == two[1], zip(content, before, strict=False))
            )
            if new[0] == "N" and known[0] == "F" and 2 * alike > len(before):
                verdict = "same" if content == before else "replaces"
                yield {"new": new, "known": known, "reason": "it begins alike", "verdict": verdict}


def _sections(prompt: str) -> Iterator[Mapping[str, Any]]:
    listing, _, _ = prompt.partition("The profile as it is:")
    facts = _NAMED.findall(listing)
    if facts:
        text = " ".join(content for _, content in facts)
        names = [name for name, _ in facts]
        yield {"section": "personalContext", "text": text, "facts": names}
