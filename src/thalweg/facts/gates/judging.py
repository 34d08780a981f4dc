"""The gates: what may become a fact. Whatever a model proposes, these decide.

A proposal is kept when its quote is the user's own plain statement and its content says no more.
What comes from elsewhere waits for the user's word; what is not so is dropped, with the reason.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from thalweg.facts.gates import moods
from thalweg.facts.gates.clauses import Clause, clauses
from thalweg.facts.gates.contents import MARKUP, MAX_FACT_CHARS, RefusedError, clean_content, refuse
from thalweg.facts.gates.framing import ALIKE
from thalweg.facts.gates.hearing import Heard, hear, shown
from thalweg.facts.gates.letters import WIDE, disguised, folded, hiding, visible
from thalweg.facts.gates.orders import (
    ADDRESS,
    PRAISE,
    dangerous_order,
    is_about_answers,
    is_standing,
)
from thalweg.facts.gates.own_words import without_markers
from thalweg.facts.gates.secrets import redact
from thalweg.facts.gates.support import Gap, brings, gap, owners, shares, telling_words, unsaid
from thalweg.facts.proposals import Proposal
from thalweg.facts.settings import MemorySettings
from thalweg.facts.values import Category, Evidence, Trust, Turn
from thalweg.words import fold

LEAST_CONFIDENCE = 0.5
"""Below it a proposal is a guess, whatever the settings."""

Decision = Literal["keep", "quarantine", "drop"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a proposal."""

    decision: Decision
    """`keep`: an active fact. `quarantine`: one that waits for `review`. `drop`: none."""
    why: str
    """The reason, for `review` and `explain`: a phrase that goes on from "it"."""
    proposal: Proposal
    """As it may be stored: redacted, unsupported fields emptied. As it came where it is dropped."""
    evidence: tuple[Evidence, ...] = ()
    trust: Trust = Trust.WEB
    """Of the fact; never above that of its evidence."""

    @property
    def kept(self) -> bool:
        """Whether it becomes a fact that is recalled."""
        return self.decision == "keep"


def judge(
    proposal: Proposal, turns: Sequence[Turn], *, settings: MemorySettings | None = None
) -> Verdict:
    """Decide what becomes of a proposal.

    Args:
        proposal: As the learner gave it; nothing in it is trusted.
        turns: Turns of its thread, oldest first: the one it cites, and those around it.
        settings: The threshold of confidence.

    Example:
        >>> said = Turn("t", 0, "user", "I live in Porto.", "", Trust.USER, uid="m1")
        >>> fact = Proposal("User lives in Porto", "context", 0.9, "m1", "I live in Porto.")
        >>> judge(fact, [said]).decision
        'keep'
        >>> judge(replace(fact, content="User lives in Rome"), [said]).why
        "has 'Rome', which was not said"
    """
    settings = settings or MemorySettings()
    try:
        _check_confidence(proposal.confidence, settings)
        cleaned = replace(proposal, content=clean_content(proposal.content))
        heard = hear(cleaned, turns)
        return _judged(cleaned, heard, turns)
    except RefusedError as refused:
        return Verdict("drop", str(refused), proposal)


def _check_confidence(confidence: float, settings: MemorySettings) -> None:
    if not LEAST_CONFIDENCE <= confidence <= 1:
        refuse(f"has a confidence of {confidence:g}, which is not between {LEAST_CONFIDENCE} and 1")
    if confidence < settings.fact_confidence_threshold:
        least = settings.fact_confidence_threshold
        refuse(f"has a confidence of {confidence:g}, below the threshold of {least:g}")


# -- the two together --------------------------------------------------------------------------


def _judged(proposal: Proposal, heard: Heard, turns: Sequence[Turn]) -> Verdict:
    trust = _trust(heard.turn)
    if trust < Trust.IMPORT:
        return _of_others(proposal, heard, trust)
    content = folded(proposal.content)
    if not heard.sound_quoted:
        refuse(heard.quoted[0].problem if heard.quoted else "quotes nothing")
    about_user = _is_about_user(content, heard)
    if whose := owners(content, heard.said, about_user=about_user):
        refuse(whose)
    worded = _worded(proposal, heard)
    doubt = _doubt(worded.content, heard, turns)
    decision: Decision = "quarantine" if doubt else "keep"
    return _verdict(decision, doubt or "is the user's own statement", worded, heard, trust)


def _trust(turn: Turn) -> Trust:
    return min(turn.trust, Trust.ASSISTANT) if turn.role == "assistant" else turn.trust


def _of_others(proposal: Proposal, heard: Heard, trust: Trust) -> Verdict:
    """Judge what was learned from a text that is not the user's."""
    lacks = gap(proposal.content, heard.said, heard.turn.said_at)
    if lacks.grave:
        refuse(lacks.problem)
    why = f"was learned from {_FROM[trust]}, not from the user"
    return _verdict("quarantine", why, proposal, heard, trust)


_FROM = {
    Trust.ASSISTANT: "an answer of the model",
    Trust.TOOL: "a tool's result, or an answer after one",
    Trust.WEB: "a web page",
}

_USER = re.compile(
    r"\busers?\b|用户|使用者|\b(?:be)?nutzer\w*|\butilisat\w+|\busuári[oa]|\busuari[oa]"
    r"|\butente\b|ユーザー|사용자"
    r"|пользовател|użytkowni|gebruiker",
    re.IGNORECASE,
)
_STARTS_WIDE = re.compile(
    "^(?:喜欢|爱|用|使用|住|是|有|在|会|想|希望|讨厌|不|叫|偏好|偏爱|习惯|正在|每[天周月年]"
    "|从不|经常|对|能|养|学|做|当|来自|更)"
)


def _is_about_user(content: str, heard: Heard) -> bool:
    """Say whether a content is about the user; where it names nobody else, it is."""
    if _USER.search(content) or moods.FIRST_PERSON.search(content) or _STARTS_WIDE.search(content):
        return True
    first = re.match(r"[\"'“「]?([^\W\d_][\w'’.-]*)", content)
    if first is None or WIDE.match(first[1]):
        return False
    return fold(first[1]) in ALIKE or not any(
        fold(first[1]) == fold(word) for word in re.findall(r"[\w'’.-]+", folded(heard.own))
    )


def _worded(proposal: Proposal, heard: Heard) -> Proposal:
    """Check the wording; where only that cannot be followed, take the user's own words instead."""
    content = folded(proposal.content)
    lacks = _lacks(content, heard)
    if lacks.grave:
        refuse(lacks.problem)
    if not lacks.problem and shares(content, heard.sound_quoted):
        return _with_sound_fields(proposal, heard)
    quote = clean_content(without_markers(heard.quote).strip())
    if not _stands_alone(quote, heard):
        refuse(lacks.problem or "has nothing in common with its quote")
    said = f"用户：“{quote}”" if WIDE.search(quote) else f"User: “{quote}”"
    if len(said) > MAX_FACT_CHARS:
        refuse(lacks.problem or "has nothing in common with its quote")
    return replace(proposal, content=said, subject="user", attribute="", value="", valid_from="")


def _lacks(content: str, heard: Heard) -> Gap:
    if _is_wide(content) != _is_wide(heard.quote):
        return Gap("is in another script than what was said")
    lacks = gap(content, heard.sound, heard.turn.said_at)
    if lacks.grave and not gap(content, heard.said, heard.turn.said_at).grave:
        unsound = [clause.problem for clause in heard.said if clause.soundness == "unsound"]
        return replace(lacks, problem=unsound[0])
    return lacks


def _is_wide(text: str) -> bool:
    """Say whether most of a text is in a script without spaces."""
    wide = len(WIDE.findall(text))
    return wide * 4 > len(re.findall(r"[^\W\d_]", text))


_LEAST_WORDS = 1
_LEAST_WIDE = 4


def _stands_alone(quote: str, heard: Heard) -> bool:
    """Say whether a quote tells something by itself: a whole statement of the user's of himself."""
    tells = len(telling_words(quote)) >= _LEAST_WORDS or len(WIDE.findall(quote)) >= _LEAST_WIDE
    return tells and not any(clause.reported for clause in heard.sound_quoted)


_REMEMBER = re.compile(
    r"\b(?:remember|memori[sz]e|note (?:that|down)|keep in mind|for (?:future|later) reference"
    r"|know that|be aware|merk dir|retiens|souviens-toi|recuerda|lembre|запомни)\b|记住|记下"
    r"|请记|牢记|记一下|覚えて|기억해",
    re.IGNORECASE,
)


def _doubt(content: str, heard: Heard, turns: Sequence[Turn]) -> str:
    """Say why a fact should wait for the user's word; empty where it need not."""
    return next(_doubts(content, heard, turns), "")


def _doubts(content: str, heard: Heard, turns: Sequence[Turn]) -> Iterator[str]:
    if all(clause.soundness == "doubtful" for clause in heard.sound_quoted):
        yield "may be a joke"
    yield from _doubts_of_thread(heard, turns)
    if any(clause.first_person for clause in heard.quoted):
        return
    if ADDRESS.search(content):
        yield "has an address of which nothing says that it is the user's"
    if PRAISE.search(content):
        yield "praises something, and tells nothing of the user"
    if any(is_about_answers(clause.text) for clause in heard.sound_quoted):
        return
    if any(_REMEMBER.search(clause.text) for clause in heard.said):
        yield "is asked to be remembered, and nothing says that it is about the user"
    if any(_is_for_later(clause) for clause in heard.said):
        yield "comes with an order to the agent, and nothing says that it is about the user"
    if len(without_markers(heard.own)) > _LONG and not moods.FIRST_PERSON.search(heard.own):
        yield "stands in a long text that says nothing of its writer, as pasted ones do"


def _is_for_later(clause: Clause) -> bool:
    return "the agent" in clause.problem or (
        is_standing(clause.text) and not is_about_answers(clause.text)
    )


def _doubts_of_thread(heard: Heard, turns: Sequence[Turn]) -> Iterator[str]:
    """Look at the turns around: a role taken on before, a joke that is owned up to after."""
    users = [turn for turn in turns if turn.role == "user" and turn.thread == heard.turn.thread]
    played = False
    for turn in users:
        if turn.seq >= heard.turn.seq:
            break
        text = shown(turn.text)
        played = (played or bool(moods.PLAYED.search(text))) and not moods.PLAYED_OUT.search(text)
    if played and not moods.PLAYED_OUT.search(heard.own):
        yield "is said after a role was taken on in this thread"
    after = next((turn for turn in users if turn.seq > heard.turn.seq), None)
    if after and moods.JOKED.search(shown(after.text)[:120]):
        yield "was called a joke right after"


_LONG = 600
"""Characters of a text that is written by somebody, if not by the user."""


# -- what is stored ----------------------------------------------------------------------------


def _with_sound_fields(proposal: Proposal, heard: Heard) -> Proposal:
    """Empty the fields that say what was not said, or that are none."""
    value = _field(proposal.value)
    subject = _field(proposal.subject)
    if value and unsaid(folded(value), heard.sound, heard.turn.said_at):
        value = ""
    if subject and brings(f"is {folded(subject)}", heard.sound, heard.turn.said_at):
        subject = ""
    return replace(proposal, subject=subject, attribute=_field(proposal.attribute), value=value)


_MAX_FIELD_CHARS = 80


def _field(text: str) -> str:
    if hiding(text) or disguised(text) or dangerous_order(folded(text)):
        return ""
    plain = redact(" ".join(visible(text).split()))
    return plain if len(plain) <= _MAX_FIELD_CHARS and not MARKUP.search(plain) else ""


def _verdict(
    decision: Decision, why: str, proposal: Proposal, heard: Heard, trust: Trust
) -> Verdict:
    turn = heard.turn
    evidence = Evidence(turn.thread, turn.uid, heard.quote, turn.said_at, trust, turn.position)
    language = proposal.language if re.fullmatch(r"[a-z]{2,3}", proposal.language) else ""
    cleaned = replace(
        proposal, quote=heard.quote, language=language, valid_from=_day(proposal.valid_from)
    )
    return Verdict(decision, why, cleaned, (evidence,), trust)


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text[:10]).isoformat() if text else ""
    except ValueError:
        return ""


# -- what is told directly ---------------------------------------------------------------------


def judge_told(
    content: str,
    turns: Sequence[Turn] = (),
    *,
    by: Literal["user", "agent"] = "user",
    least: Trust = Trust.USER,
    category: Category = "context",
) -> Verdict:
    """Decide what becomes of a fact that is to be stored directly.

    Args:
        content: The fact.
        turns: Of the run, where an agent tells it.
        by: Who tells it. What a user tells is kept, as long as it is harmless.
        least: The least trust of anything that the run had read before.
        category: Of the fact.

    Example:
        >>> judge_told("I live in Porto").decision
        'keep'
        >>> judge_told("User banks at Fox", by="agent", least=Trust.TOOL).decision
        'quarantine'
    """
    proposal = Proposal(content, category, 1.0, "", "")
    try:
        proposal = replace(proposal, content=clean_content(content))
    except RefusedError as refused:
        return Verdict("drop", str(refused), proposal)
    if by == "user":
        return Verdict("keep", "was told by the user", proposal, (), Trust.USER)
    if least < Trust.ASSISTANT:
        why = "was written by the agent after it had read what is not the user's"
        return Verdict("quarantine", why, proposal, (), least)
    return _said_by_user(proposal, turns) or Verdict(
        "quarantine",
        "was written by the agent, and the user's own words do not say it",
        proposal,
        (),
        Trust.ASSISTANT,
    )


def _said_by_user(proposal: Proposal, turns: Sequence[Turn]) -> Verdict | None:
    """Find the statement of the user's that a fact rests on, the newest first."""
    for turn in reversed(turns):
        if turn.role != "user" or turn.trust < Trust.USER:
            continue
        for clause in clauses(shown(turn.text)):
            verdict = judge(replace(proposal, uid=turn.uid, quote=clause.text), turns)
            if verdict.kept and verdict.proposal.content == proposal.content:
                return verdict
    return None
