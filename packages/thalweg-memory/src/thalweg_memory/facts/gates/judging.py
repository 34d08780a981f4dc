"""The decision about a proposed fact, for any proposal of a model: by its origin, not its meaning.

A proposal whose quote stands in the user's own words is kept, told as these words until a model has
verified it (see `learning.lesson.verified`). One of another origin waits for the user's review.
Secrets, hidden characters, markup and commands are dropped, with the reason. A date without a day
is stored as the first or the last day that it may name.
"""

import re
import unicodedata
from calendar import monthrange
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal, NoReturn

from thalweg.redaction.secrets import REDACTION, redact
from thalweg_memory.facts.days import day_in_words, local
from thalweg_memory.facts.gates.form import (
    MARKER,
    folded,
    hiding,
    shown,
    visible,
    without_markers,
)
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Category, Evidence, Proposal, Statement, Trust

MAX_FACT_CHARS = 400
"""Longest content of a fact."""
ADDRESS = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,15}://\S+|\bwww\.\S+|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w.@/-])(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|app|ai|co|cn|de|fr|es|jp|ru|uk|eu|us"
    r"|info|xyz|me|example|test|invalid|local|internal|top|site|online|shop|biz|tk|ml|link"
    r"|click)(?![\w-])(?:[/:]\S*)?|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b",
    re.IGNORECASE,
)
"""URLs, e-mail addresses, hosts."""
_PIPED = re.compile(
    r"(?:curl|wget)\s+\S|\|\s*(?:ba|z|da)?sh\b|\brm\s+-[rf]{1,2}\b|--no-verify|--force\b.*\bpush"
    r"|\bpush\b.*--force|chmod\s+(?:-R\s+)?7|\bsudo\s+\S|base64\s+-d|\beval\s*[($]|powershell\s+-"
    r"|Invoke-WebRequest|nc\s+-e",
    re.IGNORECASE,
)
"""Commands that no memory should bring to mind."""
MARKUP = re.compile(
    r"</?\s*(?:system|user|assistant|memory|human|tool|instructions?|prompt)\b|<\|[^|]{1,30}\|>"
    r"|\[/?INST\]|<<SYS>>|^\W*(?:system|assistant|user|human)\s*:",
    re.IGNORECASE,
)


class ValidationRefusedError(Exception):
    """A validator refused. It is caught inside of this package and becomes a `Verdict`."""


def refuse(why: str) -> NoReturn:
    """Raise a refusal, with the reason as a phrase that continues "it"."""
    raise ValidationRefusedError(why)


def clean_content(content: str, *, by_hand: bool = False) -> str:
    """Return a content in its stored form, or refuse it for its own form.

    Args:
        content: The content.
        by_hand: Whether a person typed it: then any wording is allowed, and only invisible
            characters, excessive length, and missing content are refused.
    """
    if hiding(content):
        refuse("has hidden characters")
    content = " ".join(visible(content).split())
    content = redact(content)
    if len(content) > MAX_FACT_CHARS:
        refuse(f"is {len(content)} characters long, and {MAX_FACT_CHARS} are the most")
    if not re.search(r"\w", REDACTION.sub(" ", content)):
        refuse("tells nothing")
    if not by_hand:
        plain = folded(content)
        if REDACTION.search(content):
            refuse("has a secret")
        if MARKER.search(plain) or MARKUP.search(plain):
            refuse("has the marks of a message's frame in it")
        if _PIPED.search(plain):
            refuse("holds a command that does harm when it is run")
    return content


def new_address(content: str, source: str) -> str:
    """Return an address in a content that a text does not have; empty for none.

    Example:
        >>> new_address("User's page is ada.example", "my page is ada.example!")
        ''
    """
    lowered = folded(source).casefold()
    found = (match[0] for match in ADDRESS.finditer(folded(content)))
    return next((one for one in found if one.casefold().rstrip(".,;)/") not in lowered), "")


_DAY = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?(?![\d-])")
LEAST_CONFIDENCE = 0.5
"""Below it a proposal is a guess, for any settings."""
Decision = Literal["keep", "quarantine", "drop"]
_FROM = {
    Trust.ASSISTANT: "an answer of the model, or another person's message",
    Trust.TOOL: "a tool's result, or an answer after one",
    Trust.WEB: "a web page",
}
_MAX_FIELD_CHARS = 80
_SAME = str.maketrans("’‘‛`´“”„‟«»「」『』–—‐‑‒−…", '\'\'\'\'\'""""""""""------.')


def first_day(text: str) -> str:
    """Return the first day of a date, a month or a year in ISO 8601; empty for anything else.

    Example:
        >>> first_day("2026-03"), first_day("2026"), first_day("soon")
        ('2026-03-01', '2026-01-01', '')
    """
    found = _DAY.match(text)
    if found is None:
        return ""
    try:
        return date(int(found[1]), int(found[2] or 1), int(found[3] or 1)).isoformat()
    except ValueError:
        return ""


def last_day(text: str) -> str:
    """Return the end of the last day of a date, a month or a year in ISO 8601.

    Example:
        >>> last_day("2026-02"), last_day("soon")
        ('2026-02-28T23:59:59Z', '')
    """
    found = _DAY.match(text)
    if found is None or not first_day(text):
        return ""
    year, month = int(found[1]), int(found[2] or 12)
    day = int(found[3] or monthrange(year, month)[1])
    return f"{date(year, month, day).isoformat()}T23:59:59Z"


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
class Verdict:
    """What becomes of a proposal."""

    decision: Decision
    """`keep`: an active fact. `quarantine`: one that waits for `review`. `drop`: none."""
    why: str
    """The reason, for `review` and `explain`: a phrase that continues "it"."""
    proposal: Proposal
    """The proposal in storable form: redacted, fields that cannot be stored emptied.

    Unchanged if it is dropped.
    """
    evidence: tuple[Evidence, ...] = ()
    trust: Trust = Trust.WEB
    """Of the fact; never above that of its evidence."""
    words: str = ""
    """The user's own words that it rests on, as they are told; empty if there are none."""

    @property
    def kept(self) -> bool:
        """Whether it becomes a fact that is recalled."""
        return self.decision == "keep"


def judge(
    proposal: Proposal,
    turns: Sequence[Statement],
    *,
    settings: MemorySettings | None = None,
    cited: Collection[str] = (),
) -> Verdict:
    """Return the verdict on a proposal.

    Args:
        proposal: The proposal of the model; nothing in it is trusted.
        turns: Turns of its thread, oldest first: the one it cites, and those around it.
        settings: The threshold of confidence.
        cited: Turns that facts rest on, by `Statement.uid`: they are told by these facts, and are
            not told again before the words of the next message.

    Example:
        >>> said = Statement("t", 0, "user", "I live in Porto.", "", Trust.USER, uid="m1")
        >>> fact = Proposal("User lives in Porto", "context", 0.9, "m1", "I live in Porto.")
        >>> judge(fact, [said]).decision
        'keep'
        >>> judge(replace(fact, quote="in Rome"), [said]).why
        'quotes words that are in no message'
    """
    cleaned = proposal
    try:
        _check_confidence(proposal.confidence, settings or MemorySettings())
        cleaned = replace(proposal, content=clean_content(proposal.content))
        turn = next((turn for turn in turns if turn.uid == proposal.uid), None)
        if turn is None:
            refuse("cites a turn that is not there")
        if hiding(proposal.quote):
            refuse("quotes hidden characters")
    except ValidationRefusedError as refused:
        return Verdict("drop", str(refused), proposal)
    trust = min(turn.trust, Trust.ASSISTANT) if turn.role == "assistant" else turn.trust
    own, sought = shown(turn.text), redact(visible(proposal.quote))
    start, end = next(find_quote(sought, own), (0, 0))
    problem = ""
    if not without_markers(own[start:end]).strip():
        pasted = any(find_quote(sought, visible(turn.text)))
        problem = f"quotes {'pasted text' if pasted else 'words that are in no message'}"
        trust, end = Trust.WEB, start
    elif trust < Trust.IMPORT:
        problem = f"was learned from {_FROM[trust]}, not from the user"
    else:
        said = " ".join(shown(one.text) for one in turns if one.trust == Trust.USER)
        if address := new_address(cleaned.content, said):
            problem, trust = f"has {address!r}, which is in no message of the user's", Trust.WEB
    evidence = Evidence(turn.thread, turn.uid, own[start:end], turn.said_at, trust, turn.position)
    stored = _storable(cleaned, evidence.quote)
    if problem:
        return Verdict("quarantine", problem, stored, (evidence,), trust)
    words = _told(turn, own, start, end, _before(turn, turns, cited))
    return Verdict("keep", "is in the user's own words", stored, (evidence,), trust, words)


_LEAD = 80
"""Characters of the beginning of a message that precede a quotation from it."""
_MOST = 300
"""Characters of a quotation."""
_SENTENCE = re.compile(r"[^.!?。！？\n]*(?:[.!?。！？\n]+|$)")
_MARKS = str.maketrans(dict.fromkeys('"“”„‟«»「」『』', "'"))


def _told(turn: Statement, own: str, start: int, end: int, before: str) -> str:
    """Quote the sentences of a message that hold a quote, after the beginning of the message."""
    held = [f.span() for f in _SENTENCE.finditer(own) if f.start() < end and start < f.end()]
    first, last = held[0][0], held[-1][1]
    lead = _shortened(own[:first], _LEAD)
    day = day_in_words(local(turn.said_at, turn.zone)).rpartition(" ")[0]
    text = f"{lead} {_shortened(own[first:last], _MOST)}".strip().translate(_MARKS)
    about = f' (after "{before}")' if before else ""
    return f'User\'s words{f" of {day}" if day else ""}: "{text}"{about}'


def _before(turn: Statement, turns: Sequence[Statement], cited: Collection[str]) -> str:
    """Return the beginning of the user's message before one, unless a fact rests on it."""
    earlier = [
        one
        for one in turns
        if one.thread == turn.thread and one.seq < turn.seq and one.trust == Trust.USER
    ]
    last = max(earlier, key=lambda one: one.seq, default=None)
    return "" if last is None or last.uid in cited else beginning(shown(last.text))


def beginning(text: str) -> str:
    """Return the beginning of a message as it is told before words of the next one."""
    return _shortened(text, _LEAD).translate(_MARKS)


def _shortened(text: str, most: int) -> str:
    """Return the beginning of a text, cut after a word, in one line."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    return f"{text[:most].rpartition(' ')[0] or text[:most]} […]"


def is_unsure(proposal: Proposal, settings: MemorySettings) -> bool:
    """Return whether a proposal is refused for its confidence."""
    return proposal.confidence < max(LEAST_CONFIDENCE, settings.fact_confidence_threshold)


def _check_confidence(confidence: float, settings: MemorySettings) -> None:
    if not LEAST_CONFIDENCE <= confidence <= 1:
        refuse(f"has a confidence of {confidence:g}, which is not between {LEAST_CONFIDENCE} and 1")
    if confidence < settings.fact_confidence_threshold:
        least = settings.fact_confidence_threshold
        refuse(f"has a confidence of {confidence:g}, below the threshold of {least:g}")


def _field(text: str) -> str:
    text = " ".join(text.split())
    if len(text) > 2 * _MAX_FIELD_CHARS or hiding(text):
        return ""  # a redaction may be shorter than its secret
    plain = redact(visible(text))
    return plain if len(plain) <= _MAX_FIELD_CHARS and not MARKUP.search(plain) else ""


def _storable(proposal: Proposal, quote: str) -> Proposal:
    """Empty the fields that cannot be stored: hidden letters, markup, and invalid dates."""
    language = proposal.language if re.fullmatch(r"[a-z]{2,3}", proposal.language) else ""
    return replace(
        proposal,
        quote=quote,
        language=language,
        subject=_field(proposal.subject),
        attribute=_field(proposal.attribute),
        value=_field(proposal.value),
        valid_from=first_day(proposal.valid_from),
        valid_to=last_day(proposal.valid_to),
    )


def judge_statement(
    content: str,
    turns: Sequence[Statement] = (),
    *,
    by: Literal["user", "agent"] = "user",
    least: Trust = Trust.USER,
    category: Category = "context",
    quote: str = "",
) -> Verdict:
    """Return the verdict on a fact that is to be stored directly.

    Args:
        content: The fact.
        turns: The turns of the run, for an agent's fact.
        by: The author. A user's fact is kept in any wording; an agent's is kept as the user's own
            words, if it quotes them, or, where the run had read nothing else, as the newest ones.
        least: The least trust of all content that the run had read before.
        category: The fact's category.
        quote: The user's words that an agent's fact rests on.

    Example:
        >>> judge_statement("I live in Porto").decision
        'keep'
        >>> judge_statement("User banks at Fox", by="agent", least=Trust.TOOL).decision
        'quarantine'
    """
    proposal = Proposal(content, category, 1.0, "", quote)
    try:
        proposal = replace(proposal, content=clean_content(content, by_hand=by == "user"))
    except ValidationRefusedError as refused:
        return Verdict("drop", str(refused), proposal)
    if by == "user":
        return Verdict("keep", "was stated by the user", proposal, (), Trust.USER)
    own = [turn for turn in reversed(turns) if turn.role == "user" and turn.trust == Trust.USER]
    for turn in own if quote else own[:1] if least >= Trust.ASSISTANT else ():
        cited = replace(proposal, uid=turn.uid, quote=quote or without_markers(shown(turn.text)))
        verdict = judge(cited, turns)
        if verdict.kept:
            return verdict
    why = "was written by the agent, without the user's own words that it rests on"
    return Verdict("quarantine", why, proposal, (), min(least, Trust.ASSISTANT))
