"""What a memory says of itself: the format of its tables, and the secret of its digests."""

import hashlib
import hmac
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from thalweg.archive.blobs import encode
from thalweg.errors import ConfigError
from thalweg.words import find_tokens

VERSION = 2
"""Of the tables. Version 2 added hidden turns."""

Kind = Literal["content", "fact", "thread", "uid"]


def refuse_newer(place: str, meta: Mapping[str, bytes]) -> None:
    """Look at the format of a memory, before anything is written to it.

    Raises:
        ConfigError: A newer version wrote it: it is not ours to read or change.
    """
    found = int(meta.get("version", VERSION))
    if found > VERSION:
        problem = f"it has memory format {found}, this version reads {VERSION}"
        raise ConfigError(place, problem, "update thalweg")


@dataclass(frozen=True, slots=True)
class Digests:
    """Short keyed digests, which tell nothing to whoever lacks the store's secret."""

    secret: bytes
    scope: int
    """The same text has another digest in another scope."""

    def of(self, kind: Kind, text: str) -> bytes:
        """Make the digest of a content, a fact's id, a thread's name or a message's id."""
        told = normal(text) if kind == "content" else text
        told_bytes = encode(f"{kind}\0{self.scope}\0{told}")
        return hmac.digest(self.secret, told_bytes, hashlib.sha256)[:16]


def normal(text: str) -> str:
    """Write a text without what does not change what it says: case, spaces, punctuation.

    Example:
        >>> normal("Ada  likes TEA.") == normal("ada likes tea")
        True
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(find_tokens(folded)) or folded.strip()


def secret_of(place: str, meta: Mapping[str, bytes], given: bytes | None) -> bytes:
    """Read the secret of a memory.

    Raises:
        ConfigError: It is not the one that was given.
    """
    kept = bytes(meta["secret"])
    if given is not None and given != kept:
        problem = "it was made with another secret"
        raise ConfigError(place, problem, "open it with that one, or with none")
    return kept
