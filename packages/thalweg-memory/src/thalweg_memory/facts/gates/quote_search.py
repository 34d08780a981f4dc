"""Search for the quote of a proposal in the speaker's own words of the turn that it cites.

A quote is found word for word, also if the text spells its spaces and marks otherwise.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from thalweg.redaction.secrets import redact
from thalweg_memory.facts.gates.clauses import Clause, clauses
from thalweg_memory.facts.gates.contents import ValidationRefusedError, refuse
from thalweg_memory.facts.gates.letters import hiding, visible
from thalweg_memory.facts.gates.own_words import own_words
from thalweg_memory.facts.proposals import Proposal
from thalweg_memory.facts.values import Statement

_SAME = str.maketrans("’‘‛`´“”„‟«»「」『』–—‐‑‒−…", '\'\'\'\'\'""""""""""------.')


def find_quote(quote: str, text: str) -> Iterator[tuple[int, int]]:
    r"""Yield the start and the end of each occurrence of a quote as whole words.

    Case, spaces, line feeds, widths and kinds of quotation marks and dashes do not matter.

    Example:
        >>> [*find_quote("i'm  vegan", "Well, I’m\nvegan. I'm vegangelist")]
        [(6, 15)]
    """
    target = "".join(letter for letter, _ in _letters(quote)).strip()
    letters = [*_letters(text)]
    plain = "".join(letter for letter, _ in letters)
    start = plain.find(target) if target else -1
    while start >= 0:
        end = start + len(target)
        if not (_splits(plain, start) or _splits(plain, end)):
            yield letters[start][1], letters[end - 1][1] + 1
        start = plain.find(target, start + 1)


def _letters(text: str) -> Iterator[tuple[str, int]]:
    """Yield each letter in its form for comparison, with its place; a run of spaces is one."""
    space = True
    for place, letter in enumerate(text):
        if letter.isspace():
            if not space:
                yield " ", place
            space = True
            continue
        space = False
        for plain in unicodedata.normalize("NFKC", letter).casefold().translate(_SAME):
            yield plain, place


def _splits(text: str, place: int) -> bool:
    """Return whether a place is inside a word of a script with spaces."""
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    return _is_spaced(before) and _is_spaced(after)


def _is_spaced(letter: str) -> bool:
    return letter.isalnum() and not (
        "\u0e00" <= letter <= "\u0eff" or "\u3040" <= letter <= "\ud7af" or letter > "\uf900"
    )


@dataclass(frozen=True, slots=True)
class CitedTurn:
    """The turn that is cited, and what of it a fact may rest on."""

    turn: Statement
    own: str
    clauses: tuple[Clause, ...]
    """All clauses of the turn."""
    quoted: tuple[Clause, ...]
    """The clauses of the sentences that contain the quote."""
    inside: tuple[Clause, ...]
    """The clauses that contain the quote."""
    quote: str
    """The quote as it is in the speaker's own words."""

    @property
    def sound(self) -> tuple[Clause, ...]:
        """Clauses that a fact may rest on."""
        return tuple(clause for clause in self.clauses if not clause.problem)

    @property
    def sound_quoted(self) -> tuple[Clause, ...]:
        """Those of them in the quoted sentences."""
        return tuple(clause for clause in self.quoted if not clause.problem)


class NotOwnError(ValidationRefusedError):
    """A quote is not in the speaker's own words: it was pasted, quoted, or is from elsewhere."""

    def __init__(self, why: str, turn: Statement) -> None:
        super().__init__(why)
        self.turn = turn


def locate_quote(proposal: Proposal, turns: Sequence[Statement]) -> CitedTurn:
    """Find the turn and the quote in it, or refuse: it is not there, or it is not his own."""
    turn = next((turn for turn in turns if turn.uid == proposal.uid), None)
    if turn is None:
        refuse("cites a turn that is not there")
    own = shown(turn.text)
    if hiding(proposal.quote):
        refuse("quotes hidden characters")
    quote = redact(visible(proposal.quote))
    all_clauses = clauses(own)
    places = [*find_quote(quote, own)]
    if not places:
        is_pasted = any(find_quote(quote, visible(turn.text)))
        problem = (
            "quotes quoted or pasted text" if is_pasted else "quotes words that are in no message"
        )
        raise NotOwnError(problem, turn)
    found = [_at(place, turn, own, all_clauses) for place in places]
    return next((one for one in found if one.sound_quoted), found[0])


def _at(
    place: tuple[int, int], turn: Statement, own: str, all_clauses: tuple[Clause, ...]
) -> CitedTurn:
    start, end = place
    inside = [clause for clause in all_clauses if clause.start < end and start < clause.end]
    numbers = {clause.sentence for clause in inside}
    quoted = tuple(clause for clause in all_clauses if clause.sentence in numbers)
    return CitedTurn(
        turn, own, all_clauses, quoted, tuple(inside), _sound_part(own, start, end, inside)
    )


def _sound_part(own: str, start: int, end: int, inside: Sequence[Clause]) -> str:
    """Cut a quote to the clauses from the first sound one to the last."""
    sound = [clause for clause in inside if not clause.problem]
    if not sound:
        return own[start:end]
    return own[max(start, sound[0].start) : min(end, sound[-1].end)]


@lru_cache(maxsize=64)
def shown(text: str) -> str:
    r"""Return the part of a turn's text to store and show: own words, redacted, nothing hidden.

    Example:
        >>> shown("my password is hunter2\u200b")
        '[hidden text]'
    """
    return visible(redact(own_words(text)))
