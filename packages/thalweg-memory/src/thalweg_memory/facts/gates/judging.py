"""The decision about a proposed fact, for any proposal of a model.

The source of a proposal decides, not its wording. It is kept if its quote is in the user's own
words and is a statement, and if it adds no name, number or address. Proposals from other sources
wait for the user's review (`review`); an order, a secret, a question or a supposition is dropped,
with the reason. A date without a day is stored as the first or the last day that it may name.
"""

import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from thalweg.redaction.secrets import REDACTION, redact
from thalweg_memory.facts.gates import moods
from thalweg_memory.facts.gates.clauses import Clause, sentences
from thalweg_memory.facts.gates.contents import (
    MARKUP,
    ValidationRefusedError,
    clean_content,
    refuse,
)
from thalweg_memory.facts.gates.letters import WIDE, disguised, folded, hiding, visible
from thalweg_memory.facts.gates.orders import (
    ADDRESS,
    dangerous_order,
    is_about_answers,
    is_standing,
)
from thalweg_memory.facts.gates.own_words import MARKER, without_markers
from thalweg_memory.facts.gates.quote_search import CitedTurn, NotOwnError, locate_quote, shown
from thalweg_memory.facts.gates.support import brings, is_mentioned, shares, significant_words
from thalweg_memory.facts.proposals import Proposal
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Category, Evidence, Statement, Trust

_DAY = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?(?![\d-])")
LEAST_CONFIDENCE = 0.5
"""Below it a proposal is a guess, for any settings."""
Decision = Literal["keep", "quarantine", "drop"]
_OFFER = re.compile(r"[ \t]*(?:[-*•]|\d{1,2}[.)]|[a-zA-Z][.)])[ \t]")
_USER = re.compile("用户|使用者")
_SHORT = 3
"""Latin words of at most so many letters have little meaning: `ist`, `une`."""
_FROM = {
    Trust.ASSISTANT: "an answer of the model",
    Trust.TOOL: "a tool's result, or an answer after one",
    Trust.WEB: "a web page",
}
_INTRODUCED = re.compile(
    r"(?:^|(?<=[.!?。！？\n]))(?P<lead>[^.!?。！？\n:：]+)[:：]\s*(?P<rest>\S[^\n]*)", re.MULTILINE
)
_LEAD_WORDS = 7
"""Words of a sentence that introduces another's: `Update`, `One more thing` introduce one's own.
Seven part the sets of `tests/sets` best: all honest leads without the speaker are shorter."""
_BEGINNING = 16
"""Letters in which a text in the first person mostly has its first pronoun."""
# -- what is stored ----------------------------------------------------------------------------
_MAX_FIELD_CHARS = 80


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

    @property
    def kept(self) -> bool:
        """Whether it becomes a fact that is recalled."""
        return self.decision == "keep"


def judge(
    proposal: Proposal,
    turns: Sequence[Statement],
    *,
    settings: MemorySettings | None = None,
    updates: str = "",
) -> Verdict:
    """Return the verdict on a proposal.

    Args:
        proposal: The proposal of the model; nothing in it is trusted.
        turns: Turns of its thread, oldest first: the one it cites, and those around it.
        settings: The threshold of confidence.
        updates: The text of the existing fact that it updates: it may repeat names from there.

    Example:
        >>> said = Statement("t", 0, "user", "I live in Porto.", "", Trust.USER, uid="m1")
        >>> fact = Proposal("User lives in Porto", "context", 0.9, "m1", "I live in Porto.")
        >>> judge(fact, [said]).decision
        'keep'
        >>> judge(replace(fact, content="User lives in Rome"), [said]).why
        "has 'Rome', which is in no message"
    """
    settings = settings or MemorySettings()
    cleaned = proposal
    try:
        _check_confidence(proposal.confidence, settings)
        cleaned = replace(proposal, content=clean_content(proposal.content))
        cited = locate_quote(cleaned, turns)
        return _judged(cleaned, cited, turns, updates)
    except NotOwnError as refused:
        return _not_own(cleaned, refused)
    except ValidationRefusedError as refused:
        return Verdict("drop", str(refused), proposal)


def _not_own(proposal: Proposal, refused: NotOwnError) -> Verdict:
    """Have a proposal wait whose quote is nobody's own words: a person sees the attempt."""
    turn = refused.turn
    evidence = Evidence(turn.thread, turn.uid, "", turn.said_at, Trust.WEB, turn.position)
    return Verdict("quarantine", str(refused), _storable(proposal, ""), (evidence,), Trust.WEB)


def _check_confidence(confidence: float, settings: MemorySettings) -> None:
    if not LEAST_CONFIDENCE <= confidence <= 1:
        refuse(f"has a confidence of {confidence:g}, which is not between {LEAST_CONFIDENCE} and 1")
    if confidence < settings.fact_confidence_threshold:
        least = settings.fact_confidence_threshold
        refuse(f"has a confidence of {confidence:g}, below the threshold of {least:g}")


# -- the two together --------------------------------------------------------------------------
def _judged(
    proposal: Proposal, cited: CitedTurn, turns: Sequence[Statement], updates: str
) -> Verdict:
    trust = _trust(cited.turn)
    if trust < Trust.IMPORT:
        why = f"was learned from {_FROM[trust]}, not from the user"
        return _verdict("quarantine", why, proposal, cited, trust)
    if not cited.sound_quoted:
        refuse(cited.quoted[0].problem if cited.quoted else "quotes nothing")
    around = _around(cited, turns, updates)
    content = folded(proposal.content)
    if problem := _unstated(content, cited, around):
        refuse(problem)
    doubt = next(_doubts(content, cited, turns, around), "")
    decision: Decision = "quarantine" if doubt else "keep"
    return _verdict(decision, doubt or "is the user's own statement", proposal, cited, trust)


def _around(cited: CitedTurn, turns: Sequence[Statement], updates: str) -> str:
    """Return the further texts that a fact may take words from, in addition to its own turn.

    These are the user's other turns, questions and lists of options in an answer, and the fact that
    is updated. An answer's statement about the user is only the model's claim.
    """
    others = [turn for turn in turns if turn.uid != cited.turn.uid]
    own = (shown(turn.text) for turn in others if turn.trust == Trust.USER)
    offered = (_offered(turn.text) for turn in others if _trust(turn) == Trust.ASSISTANT)
    return without_markers(" ".join((*own, *offered, updates)))


def _offered(answer: str) -> str:
    """Join the questions and the list items of an answer: a user may answer these with `yes`."""
    text = shown(answer)
    found = (text[start:end] for start, end in sentences(text))
    return " ".join(one for one in found if one.rstrip()[-1:] in "?？" or _OFFER.match(one))


def _is_borrowed(content: str, cited: CitedTurn, turns: Sequence[Statement], around: str) -> bool:
    """Return whether more words of a fact come from elsewhere than from the user's own.

    Elsewhere means the statements of an answer and, if text was withheld from the turn, any word
    that the user's own words do not contain.
    """
    text = f"{without_markers(cited.own)} {around}"
    own, letters = significant_words(text), set(WIDE.findall(text))
    words = _weighty(content)
    missing = {
        word
        for word in words
        if not is_mentioned(word, own) and not (WIDE.search(word) and letters.issuperset(word))
    }
    if MARKER.search(cited.turn.text) or MARKER.search(cited.own):
        return 2 * len(missing) > len(words)
    if any(_holds_others_words(turn) for turn in turns):
        return 3 * len(missing) >= 2 * len(words)
    answers = " ".join(shown(turn.text) for turn in turns if turn.role == "assistant")
    stated = significant_words(answers)
    borrowed = {word for word in missing if is_mentioned(word, stated)}
    return bool(borrowed) and len(borrowed) >= len(words - missing)


def _holds_others_words(turn: Statement) -> bool:
    """Return whether something was read here that is not the user's and of which no word is kept.

    That is a text that was withheld from a turn, or a tool's result before an answer.
    """
    return _trust(turn) < Trust.ASSISTANT or MARKER.search(turn.text) is not None


def _unstated(content: str, cited: CitedTurn, around: str) -> str:
    """Return why a fact's evidence is a question, supposition, role play or order; else empty.

    It is one if such clauses of the turn alone contain a name, or more words of its content than
    statements do. A question in the two sentences before the quote may name the quote's subject.
    """
    words = _weighty(content)
    sound = " ".join(clause.text for clause in cited.sound)
    stated = words & significant_words(sound)
    before = {clause.sentence - far for clause in cited.quoted for far in (1, 2)}
    unsound = [clause for clause in cited.clauses if clause.problem]
    questions = [c for c in unsound if c.problem == "is a question" and c.sentence in before]
    others = [clause for clause in unsound if clause not in questions]
    only_there = (words & significant_words(" ".join(clause.text for clause in others))) - stated
    if len(only_there) > len(stated):
        return others[0].problem
    name = brings(content, f"{sound} {around}", cited.turn.said_at)
    if name and name.casefold() in " ".join(clause.text for clause in others).casefold():
        return others[0].problem
    return ""


def _weighty(text: str) -> set[str]:
    """Return the words of a text that define its subject: numbers, and no short Latin words."""
    return {
        word
        for word in significant_words(_USER.sub(" ", text))
        if len(word) > _SHORT or word.isdigit() or WIDE.search(word)
    }


def _trust(turn: Statement) -> Trust:
    return min(turn.trust, Trust.ASSISTANT) if turn.role == "assistant" else turn.trust


def _doubts(
    content: str, cited: CitedTurn, turns: Sequence[Statement], around: str
) -> Iterator[str]:
    """Yield why a fact should wait for the user's review."""
    if new := brings(content, f"{cited.own} {around}", cited.turn.said_at):
        yield f"has {new!r}, which is in no message"
    about_answers = any(is_about_answers(clause.text) for clause in cited.sound_quoted)
    if not about_answers and not shares(content, f"{cited.own} {around}"):
        yield "has nothing in common with the messages"
    upto = max((clause.start for clause in cited.inside), default=0)
    if any(moods.CLAIMED.search(one.text) for one in cited.quoted if one.start <= upto):
        yield "is another person's claim, which the user does not confirm"
    if _is_borrowed(content, cited, turns, around):
        yield "takes its words from text that is not the user's"
    if any(_is_introduced(cited.own, clause) for clause in cited.inside):
        yield "follows a colon that may introduce another speaker"
    yield from _doubts_of_thread(cited, turns)
    if _rests_on_order(content, cited):
        yield "may be a permanent order to the agent"
    if any(_is_for_later(clause) and ADDRESS.search(clause.text) for clause in cited.clauses):
        yield "comes with a permanent order that names an address"
    if not any(clause.first_person for clause in cited.quoted):
        yield from _doubts_of_subject(content, cited, about_answers=about_answers)


def _is_introduced(own: str, clause: Clause) -> bool:
    """Return whether a clause follows a colon, after a long lead without the speaker.

    The clause begins with the speaker: a paragraph in the first person, passed on as a text.
    """
    for found in _INTRODUCED.finditer(own):
        is_long = len(found["lead"].split()) >= _LEAD_WORDS
        is_long |= len(WIDE.findall(found["lead"])) >= 2 * _LEAD_WORDS
        if (
            is_long
            and not moods.SPEAKER.search(found["lead"])
            and moods.SPEAKER.search(found["rest"][:_BEGINNING])
            and not moods.POINTS_BACK.match(found["rest"])
            and found.start("rest") <= clause.start < found.end()
        ):
            return True
    return False


def _doubts_of_subject(content: str, cited: CitedTurn, *, about_answers: bool) -> Iterator[str]:
    """Yield why a quote, in which the speaker is not mentioned, may not be about the user."""
    if ADDRESS.search(content):
        yield "has an address that no message attributes to the user"
    if about_answers:
        return
    if any(_is_for_later(clause) for clause in cited.clauses):
        yield "comes with an order to the agent, and is not about the user"


def _rests_on_order(content: str, cited: CitedTurn) -> bool:
    """Return whether a fact has more words of a permanent order than of the statement before it."""
    quoted = cited.sound_quoted
    standing = (at for at, c in enumerate(quoted) if _is_for_later(c) and not c.first_person)
    if (first := next(standing, None)) is None:
        return False
    words = _weighty(content)
    before = words & significant_words(" ".join(clause.text for clause in quoted[:first]))
    ordered = words & significant_words(" ".join(clause.text for clause in quoted[first:]))
    return len(ordered - before) >= len(before)


def _is_for_later(clause: Clause) -> bool:
    return is_standing(clause.text) and not is_about_answers(clause.text)


def _doubts_of_thread(cited: CitedTurn, turns: Sequence[Statement]) -> Iterator[str]:
    """Look at the turns around: a role taken on before, a joke that is owned up to after."""
    users = [turn for turn in turns if turn.role == "user" and turn.thread == cited.turn.thread]
    played = False
    for turn in users:
        if turn.seq >= cited.turn.seq:
            break
        text = shown(turn.text)
        played = (played or bool(moods.PLAYED.search(text))) and not moods.PLAYED_OUT.search(text)
    if played and not moods.PLAYED_OUT.search(cited.own):
        yield "follows a role play in this thread"
    after = next((turn for turn in users if turn.seq > cited.turn.seq), None)
    if after and moods.JOKED.search(shown(after.text)[:120]):
        yield "was called a joke right after"


def _field(text: str) -> str:
    text = " ".join(text.split())
    if len(text) > 2 * _MAX_FIELD_CHARS:  # a redaction may be shorter than its secret
        return ""
    if hiding(text) or disguised(text) or dangerous_order(folded(text)):
        return ""
    plain = redact(visible(text))
    return plain if len(plain) <= _MAX_FIELD_CHARS and not MARKUP.search(plain) else ""


def _verdict(
    decision: Decision, why: str, proposal: Proposal, cited: CitedTurn, trust: Trust
) -> Verdict:
    turn = cited.turn
    evidence = Evidence(turn.thread, turn.uid, cited.quote, turn.said_at, trust, turn.position)
    return Verdict(decision, why, _storable(proposal, cited.quote), (evidence,), trust)


def _storable(proposal: Proposal, quote: str) -> Proposal:
    """Empty the fields that cannot be stored: hidden letters, orders, and invalid dates."""
    language = proposal.language if re.fullmatch(r"[a-z]{2,3}", proposal.language) else ""
    return replace(
        proposal,
        quote=quote,
        language=language,
        subject=_field(proposal.subject),
        attribute=_field(proposal.attribute),
        # The value may still contain what was redacted in the content.
        value="" if REDACTION.search(proposal.content) else _field(proposal.value),
        valid_from=first_day(proposal.valid_from),
        valid_to=last_day(proposal.valid_to),
    )


# -- what is told directly ---------------------------------------------------------------------
def judge_statement(
    content: str,
    turns: Sequence[Statement] = (),
    *,
    by: Literal["user", "agent"] = "user",
    least: Trust = Trust.USER,
    category: Category = "context",
) -> Verdict:
    """Return the verdict on a fact that is to be stored directly.

    Args:
        content: The fact.
        turns: The turns of the run, for an agent's fact.
        by: The author. A user's fact is kept in any wording.
        least: The least trust of all content that the run had read before.
        category: The fact's category.

    Example:
        >>> judge_statement("I live in Porto").decision
        'keep'
        >>> judge_statement("User banks at Fox", by="agent", least=Trust.TOOL).decision
        'quarantine'
    """
    proposal = Proposal(content, category, 1.0, "", "")
    try:
        proposal = replace(proposal, content=clean_content(content, by_hand=by == "user"))
    except ValidationRefusedError as refused:
        return Verdict("drop", str(refused), proposal)
    if by == "user":
        return Verdict("keep", "was stated by the user", proposal, (), Trust.USER)
    if least < Trust.ASSISTANT:
        why = "was written by the agent after it had read what is not the user's"
        return Verdict("quarantine", why, proposal, (), least)
    return _user_support(proposal, turns) or Verdict(
        "quarantine",
        "was written by the agent, without support in the user's own words",
        proposal,
        (),
        Trust.ASSISTANT,
    )


def _user_support(proposal: Proposal, turns: Sequence[Statement]) -> Verdict | None:
    """Find the statement of the user's that a fact rests on, the newest first."""
    for turn in reversed(turns):
        if turn.role != "user" or turn.trust < Trust.USER:
            continue
        for start, end in sentences(text := shown(turn.text)):
            if not shares(proposal.content, text[start:end]):
                continue
            verdict = judge(replace(proposal, uid=turn.uid, quote=text[start:end]), turns)
            if verdict.kept:
                return verdict
    return None
