"""Rules for the content of a fact itself, independent of its source."""

import re
from typing import NoReturn

from thalweg.redaction.secrets import REDACTION, redact
from thalweg_memory.facts.gates.letters import WIDE, disguised, folded, hiding, visible
from thalweg_memory.facts.gates.orders import ABOUT_AGENT, PIPED, dangerous_order, is_about_answers
from thalweg_memory.facts.gates.own_words import MARKER
from thalweg_memory.facts.gates.support import significant_words

MAX_FACT_CHARS = 400
"""Longest content of a fact."""


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
    if odd := disguised(content):
        refuse(f"has {odd[0]!r}, spelled with the letters of another alphabet")
    content = redact(content)
    if len(content) > MAX_FACT_CHARS:
        refuse(f"is {len(content)} characters long, and {MAX_FACT_CHARS} are the most")
    if not _tells(REDACTION.sub(" ", content)):
        refuse("tells nothing")
    if not by_hand:
        _check_harmless(folded(content))
    return content


def _check_harmless(plain: str) -> None:
    """Raise an error for text that would act on its reader."""
    if MARKER.search(plain) or MARKUP.search(plain):
        refuse("has the marks of a message's frame in it")
    if PIPED.search(plain):
        refuse("holds a command that does harm when it is run")
    for text in (plain, _uncased(plain)):
        if problem := dangerous_order(text):
            refuse(problem)
    if ABOUT_AGENT.search(plain) and not is_about_answers(plain):
        refuse("is about the agent, not about the user")


MARKUP = re.compile(
    r"</?\s*(?:system|user|assistant|memory|human|tool|instructions?|prompt)\b|<\|[^|]{1,30}\|>"
    r"|\[/?INST\]|<<SYS>>|^\W*(?:system|assistant|user|human)\s*:",
    re.IGNORECASE,
)


def _uncased(content: str) -> str:
    """Return a content without its subject, so that an order after it is found: `User: …`."""
    return re.sub(r"^(?:the )?user\s*[:,-]\s*", "", content, flags=re.IGNORECASE)


def _tells(content: str) -> bool:
    """Return whether a content has more than its frame and words for secrets."""
    words = [
        word
        for word in significant_words(content)
        if not WIDE.search(word) and not _SECRET_WORD.fullmatch(word)
    ]
    wide = re.sub("用户|使用者|的|密码|口令|密钥|令牌|是", "", content)
    return bool(words or len(WIDE.findall(wide)) > 1 or re.search(r"\d|@|://", content))


_SECRET_WORD = re.compile(
    r"(?:api|access|secret|private)?[ _-]?(?:passwords?|passphrase|passcode|pin|tokens?|keys?"
    r"|secrets?|credentials?|card|number|uses?|named?|login)",
    re.IGNORECASE,
)
