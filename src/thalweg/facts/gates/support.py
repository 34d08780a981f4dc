"""Whether a fact says no more than what was said: words, names, numbers, dates, denial, manner.

A fact may be worded otherwise than its quote. It may not bring anything: each telling word of it
stands in a sound clause of the turn, or is one of the few that facts are framed with.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from thalweg.facts.gates import moods
from thalweg.facts.gates.clauses import Clause, clauses
from thalweg.facts.gates.framing import (
    ALIKE,
    ALIKE_WIDE,
    FREE,
    FREE_WIDE,
    RELATIVE,
    TIME_NAMES,
    TIME_WIDE,
)
from thalweg.facts.gates.letters import WIDE, folded
from thalweg.facts.gates.numbers import DATE, NUMBER, new_number, numbers
from thalweg.facts.gates.orders import ADDRESS, is_about_answers
from thalweg.facts.gates.persons import THE_LISTENER, THE_USER, names
from thalweg.words import fold


@dataclass(frozen=True, slots=True)
class Gap:
    """What a fact says that its turn does not."""

    problem: str
    """Empty where there is none."""
    grave: bool = False
    """It brings something new or turns it round; otherwise only its wording cannot be followed."""


NO_GAP = Gap("")


def gap(content: str, said: Sequence[Clause], said_at: str) -> Gap:
    """Compare a fact with the clauses it may rest on.

    Example:
        >>> said = clauses("I don't like tea. I live in Porto.")
        >>> gap("User lives in Porto", said, "").problem
        ''
        >>> gap("User likes tea", said, "").problem, gap("User lives in Rome", said, "").problem
        ('says the opposite of what was said', "has 'Rome', which was not said")
    """
    text = folded("\n".join(clause.text for clause in said))
    content = folded(content)
    if thing := brings(content, said, said_at):
        return Gap(f"has {thing!r}, which was not said", grave=True)
    if turned := _turned(content, said):
        return Gap(turned, grave=True)
    missing = [*_missing(content, text), *_new_runs(content, text)]
    if missing:
        return Gap(f"is worded with {missing[0]!r}, which was not said")
    return NO_GAP


def brings(content: str, said: Sequence[Clause], said_at: str) -> str:
    """Find an address, a number or a name that was not said; empty where there is none.

    Example:
        >>> brings("User is in Rome", clauses("I'm in Porto"), "")
        'Rome'
    """
    text = folded("\n".join(clause.text for clause in said))
    names = (word for word in _missing(content, text) if _is_name(word, content))
    return _new_address(content, text) or new_number(content, text, said_at) or next(names, "")


def unsaid(content: str, said: Sequence[Clause], said_at: str) -> str:
    """Find anything telling in a short text, a value, that was not said; empty where all was.

    Example:
        >>> (
        ...     unsaid("porto", clauses("I'm in Porto"), ""),
        ...     unsaid("rome", clauses("I'm in Porto"), ""),
        ... )
        ('', 'rome')
    """
    text = folded("\n".join(clause.text for clause in said))
    missing = [*_missing(content, text), *_new_runs(content, text)]
    return _new_address(content, text) or new_number(content, text, said_at) or "".join(missing[:1])


def _missing(content: str, text: str) -> list[str]:
    vocabulary = _words(text)
    return [word for word in _telling(content) if not _is_said(word, vocabulary, text)]


_WORD = re.compile(r"[^\W\d_](?:[\w'’+#]|[.-](?=\w))*|\d+[^\W\d_][\w-]*")
_WIDE = re.compile(f"{WIDE.pattern}+")


def _words(text: str) -> frozenset[str]:
    narrow = _WIDE.sub(" ", text)
    tokens = [token for found in _WORD.findall(narrow) for token in _split(found)]
    return frozenset(fold(token) for token in tokens)


def _split(token: str) -> list[str]:
    token = re.sub(r"['’]s$", "", token)
    parts = re.findall(r"\d+|[^\W\d_]+", token)
    return [token, *parts] if len(parts) > 1 else [token]


def telling_words(content: str) -> list[str]:
    """List the words of a fact that tell something, in scripts with spaces.

    Example:
        >>> telling_words("User prefers green tea")
        ['prefers', 'green', 'tea']
    """
    return _telling(folded(content))


def _telling(content: str) -> list[str]:
    narrow = ADDRESS.sub(" ", _WIDE.sub(" ", content))
    return [
        word
        for found in _WORD.findall(narrow)
        if (word := re.sub(r"['’]s$", "", found)).casefold() not in FREE and len(word) > 1
    ]


_SHORTEST_CUT = 3
_SHORTEST_ROOT = 4


def _is_said(word: str, vocabulary: frozenset[str], text: str) -> bool:
    """Say whether a word, another form of it or one of its few synonyms was said."""
    parts = {fold(part) for part in _split(word)[1:] if len(part) > 1}
    root = fold(word)
    if root in vocabulary or (parts and parts <= vocabulary):
        return True
    if root in TIME_NAMES and (RELATIVE.search(text) or DATE.search(text)):
        return True
    alike = ALIKE.get(root)
    if alike and (alike[0] & vocabulary or (alike[1] and alike[1].search(text))):
        return True
    return any(_is_cut(root, said) or _is_cut(said, root) for said in vocabulary)


def _is_cut(short: str, long: str) -> bool:
    """Say whether one is the beginning of the other: `dev` of `developer`, `retrain` of `-ing`."""
    if len(short) < _SHORTEST_CUT or not short.isalpha():
        return False
    if long.startswith(short):
        return len(long) <= 2 * len(short) + 3
    if len(short) == len(long) >= _SHORTEST_ROOT and short[:-1] == long[:-1]:
        return {short[-1], long[-1]} <= set("aeiouу")
    root = min(len(short), len(long)) - 2
    return (
        root >= _SHORTEST_ROOT
        and short[:root] == long[:root]
        and len(long) - root <= _SHORTEST_ROOT
    )


_GERMAN = re.compile(
    r"\b(?:nutzer\w*|benutzer\w*|anwender\w*|der|die|das|und|ist|nicht|mit)\b", re.IGNORECASE
)


def _is_name(word: str, content: str) -> bool:
    """Say whether a word names something: capitals inside a sentence, digits, an identifier."""
    if re.search(r"\d|[a-z][A-Z]|\w[.#+-]\w|^[A-Z]{2,}$", word):
        return "-" not in word or not word.islower()
    starts = re.search(rf"(?:^|[.:;!?]\s+)[\"“'«]?{re.escape(word)}", content) is not None
    return word[0].isupper() and not starts and not _GERMAN.search(content)


def _new_address(content: str, text: str) -> str:
    said = text.casefold()
    return next(
        (
            found[0]
            for found in ADDRESS.finditer(content)
            if found[0].casefold().rstrip(".,;)/") not in said
        ),
        "",
    )


def _new_runs(content: str, text: str) -> list[str]:
    """Find stretches of a script without spaces that were not said."""
    for form in (TIME_WIDE, FREE_WIDE):
        content = form.sub(" ", content)
    for group in ALIKE_WIDE:
        if group.search(text):
            content = group.sub(" ", content)
    found: list[str] = []
    for run in _WIDE.findall(content):
        found += _unsaid(run, text)
    return found


def _unsaid(run: str, text: str) -> list[str]:
    covered = [False] * len(run)
    for i in range(len(run) - 1):
        if run[i : i + 2] in text:
            covered[i] = covered[i + 1] = True
    marks = "".join(
        "x" if seen or letter in text else letter for seen, letter in zip(covered, run, strict=True)
    )
    strict = "".join("x" if seen else letter for seen, letter in zip(covered, run, strict=True))
    return re.findall("[^x]+", marks) + [
        rest for rest in re.findall("[^x]+", strict) if len(rest) > 1
    ]


def _turned(content: str, said: Sequence[Clause]) -> str:
    """Say whether a part of a fact denies what was stated, or the other way round."""
    for part in clauses(content):
        beside = _beside(part, said)
        if not beside:
            continue
        if all(
            clause.negative != part.negative and not _is_bound(part, clause) for clause in beside
        ):
            return "says the opposite of what was said"
        if all(clause.past for clause in beside) and not moods.TOLD_PAST.search(content):
            return "tells as present what is past"
        if all(_is_mere_wish(clause) for clause in beside) and not moods.TOLD_WISH.search(content):
            return "tells as done what is wished or planned"
    return ""


_BOUND = re.compile(
    r"\b(?:at most|at least|up to|max\w*|min\w*|no (?:more|less|fewer) than)\b"
    r"|最多|至多|最少|至少|不超过",
    re.IGNORECASE,
)
_BEYOND = re.compile(
    r"\b(?:above|over|beyond|below|under|(?:more|less|fewer|higher|lower) than)\b"
    r"|超过|高于|低于|少于|多于",
    re.IGNORECASE,
)


def _is_bound(part: Clause, clause: Clause) -> bool:
    """Say whether `never above 18` is told as `at most 18`."""
    shared = set(NUMBER.findall(part.text)) & set(NUMBER.findall(clause.text))
    return bool(shared and _BOUND.search(part.text) and _BEYOND.search(clause.text))


def _is_mere_wish(clause: Clause) -> bool:
    return clause.wished and not is_about_answers(clause.text)


def _beside(part: Clause, said: Sequence[Clause]) -> list[Clause]:
    """Find the clauses that share most with a part of a fact."""
    shares = [_shared(part.text, clause.text) for clause in said]
    best = max(shares, default=0)
    return [
        clause for clause, share in zip(said, shares, strict=True) if share == best and best > 0
    ]


def shares(content: str, said: Sequence[Clause]) -> bool:
    """Say whether a fact has anything telling in common with some clauses.

    Example:
        >>> shares("User drinks tea", clauses("I like tea")), shares("User naps", clauses("Ok"))
        (True, False)
    """
    content = folded(content)
    return any(_shared(content, clause.text) for clause in said) or any(
        found[0].casefold() in folded(clause.text).casefold()
        for found in ADDRESS.finditer(content)
        for clause in said
    )


def _shared(part: str, said: str) -> int:
    said = folded(said)
    vocabulary = _words(said)
    told = numbers(said)
    wide = _WIDE.findall(FREE_WIDE.sub(" ", part))
    pairs = {run[i : i + 2] for run in wide for i in range(max(1, len(run) - 1))}
    return (
        sum(_is_said(word, vocabulary, said) for word in _telling(part))
        + sum(pair in said for pair in pairs)
        + sum(number in told for number in NUMBER.findall(part))
    )


def owners(content: str, said: Sequence[Clause], *, about_user: bool) -> str:
    """Say whose doing or saying a fact takes for the user's; empty where it is told rightly.

    Example:
        >>> owners("User likes tea", clauses("My boss likes tea."), about_user=True)
        "takes what 'boss' does or says for the user's"
    """
    for part in clauses(content):
        beside = _beside(part, said)
        wrong = [_wrong_owner(content, clause, about_user=about_user) for clause in beside]
        if beside and all(wrong):
            return wrong[0]
    return ""


def _wrong_owner(content: str, clause: Clause, *, about_user: bool) -> str:
    if clause.reported and not moods.REPORTING.search(content):
        return "takes for a fact what somebody else is reported to say"
    for other in clause.others:
        if other in {THE_USER, THE_LISTENER} and about_user:
            return f"is no word of the user's about himself, it tells of {other!r}"
        if about_user and not names(content, other):
            return f"takes what {other!r} does or says for the user's"
    return ""
