"""Digests of the content that a memory stores, keyed with its secret."""

import hashlib
import hmac
import unicodedata
from dataclasses import dataclass
from typing import Literal

from thalweg.database.base import encode
from thalweg.engine.words import find_tokens

Kind = Literal["content", "fact", "thread", "uid"]


@dataclass(frozen=True, slots=True)
class Digests:
    """Short keyed digests, which reveal nothing without the store's secret."""

    secret: bytes
    scope: int
    """The same text has another digest in another scope."""

    def of(self, kind: Kind, text: str) -> bytes:
        """Make the digest of a content, a fact's id, a thread's name or a message's id."""
        canonical = normal(text) if kind == "content" else text
        payload = encode(f"{kind}\0{self.scope}\0{canonical}")
        return hmac.digest(self.secret, payload, hashlib.sha256)[:16]


def normal(text: str) -> str:
    """Return a text without differences of form: case, spaces, punctuation.

    Example:
        >>> normal("Ada  likes TEA.") == normal("ada likes tea")
        True
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(find_tokens(folded)) or folded.strip()
