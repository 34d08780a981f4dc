"""Rules for the content of a fact itself, by its form alone."""

import re
from typing import NoReturn

from thalweg.redaction.secrets import REDACTION, redact
from thalweg_memory.facts.gates.letters import disguised, folded, hiding, visible
from thalweg_memory.facts.gates.own_words import MARKER

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
    if odd := disguised(content):
        refuse(f"has {odd[0]!r}, spelled with the letters of another alphabet")
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
