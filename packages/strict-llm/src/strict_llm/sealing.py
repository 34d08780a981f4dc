"""Reasoning that only its provider can read: signed, or sealed into an opaque text.

The key is the same for every strict provider, so that a thread may move from one to another.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from functools import lru_cache

_KEY = b"the key of every strict-llm provider"
_SEAL_BYTES = 32


@lru_cache(maxsize=4_096)
def signature(text: str) -> str:
    """Sign a text.

    Example:
        >>> signature("hm") == signature("hm"), signature("hm") == signature("hm ")
        (True, False)
    """
    return urlsafe_b64encode(_mac(text.encode("utf-8", "surrogatepass"))).decode()


def bound(text: str, prefix: str, previous: str) -> str:
    """Sign a text with digests of the content it is bound to; `bonds` reads them."""
    return f"{prefix}.{previous}.{signature(f'{prefix}.{previous}.{text}')}"


def bonds(signed: str) -> tuple[str, str]:
    """Read the digests that a signature is bound to; empty texts if it is bound to nothing."""
    prefix, _, rest = signed.partition(".")
    previous, dot, _ = rest.partition(".")
    return (prefix, previous) if dot else ("", "")


def is_genuine(text: str, signed: str) -> bool:
    """Check that a signature, bound or not, is of this text."""
    prefix, previous = bonds(signed)
    return signed == (bound(text, prefix, previous) if prefix else signature(text))


def sealed(text: str) -> str:
    """Return a sealed text, which `opened` reverses.

    Example:
        >>> opened(sealed("hm")), opened("gAAAAAnonsense")
        ('hm', None)
    """
    content = text.encode("utf-8", "surrogatepass")
    return "gAAAAA" + urlsafe_b64encode(_mac(content) + content).decode()


@lru_cache(maxsize=4_096)
def opened(seal: str) -> str | None:
    """Return the sealed text, or `None` if the seal is not ours or was changed."""
    try:
        raw = urlsafe_b64decode(seal.removeprefix("gAAAAA"))
    except (Error, ValueError):
        return None
    mac, content = raw[:_SEAL_BYTES], raw[_SEAL_BYTES:]
    if not seal.startswith("gAAAAA") or not hmac.compare_digest(mac, _mac(content)):
        return None
    return content.decode("utf-8", "surrogatepass")


def _mac(content: bytes) -> bytes:
    return hmac.digest(_KEY, content, "sha256")
