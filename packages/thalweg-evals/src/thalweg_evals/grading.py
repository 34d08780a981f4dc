"""Read a model's text in graders: the evidence counts, not the phrasing."""

import re
from functools import partial

from thalweg_evals.base import Score

passed = partial(Score, verdict="passed")
failed = partial(Score, verdict="failed")
untested = partial(Score, verdict="untested")
_BARE = re.compile(r"[\W_]+")
_UNKNOWING = re.compile(
    r"\bnot\b|n['\u2019]t\b|\bno\b|\bnone\b|\bnever\b|\bunknown\b|\bunable\b|\bcannot\b|\bwithout\b"
    r"|没有|没(?:说|提)|不知|不清楚|无法|未",
    re.IGNORECASE,
)


def mentions(text: str, code: str) -> bool:
    """Return whether a text contains a code or a name, in any formatting.

    Example:
        >>> mentions("It is **ZQ 8128**.", "ZQ-8128")
        True
    """
    return _bare(code) in _bare(text)


def denies_knowing(text: str) -> bool:
    """Return whether an answer states that something is unavailable.

    Example:
        >>> denies_knowing("I don't have that code.")
        True
    """
    return _UNKNOWING.search(text) is not None


def _bare(text: str) -> str:
    return _BARE.sub("", text).casefold()
