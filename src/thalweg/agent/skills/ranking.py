"""Rank skills by the words they share with a request."""

import math
from collections import Counter as Counted
from collections.abc import Sequence

from thalweg.agent.skills.format import SkillMetadata
from thalweg.engine.words import stem, words

NAME_WEIGHT = 3.0
"""Weight of a word in the name, relative to one in the description."""
QUERY_CHARS = 4_000
"""Characters of each end of a request that are read."""


def relevant_skills(skills: Sequence[SkillMetadata], request: str) -> list[SkillMetadata]:
    """Return the skills that share words with a request, best first; ties keep their order.

    A word weighs more the fewer skills contain it: a word in all of them does not discriminate.
    Words of scripts without spaces are compared by pairs of letters.
    """
    asked = _words(_ends(request))
    named = [_words(skill["name"]) & asked for skill in skills]
    described = [_words(skill["description"]) & asked for skill in skills]
    known = Counted(
        word for own in (a | b for a, b in zip(named, described, strict=True)) for word in own
    )
    rare = {word: math.log(1 + len(skills) / count) for word, count in known.items()}
    scores = [
        math.fsum((NAME_WEIGHT if word in name else 1.0) * rare[word] for word in name | about)
        for name, about in zip(named, described, strict=True)
    ]
    order = sorted(range(len(skills)), key=lambda k: (-scores[k], k))
    return [skills[k] for k in order if scores[k] > 0]


def _words(text: str) -> frozenset[str]:
    return frozenset(map(stem, words(text))) - _EMPTY


def _ends(text: str) -> str:
    if len(text) <= 2 * QUERY_CHARS:
        return text
    return f"{text[:QUERY_CHARS]}\n{text[-QUERY_CHARS:]}"


_EMPTY = frozenset(
    stem(word)
    for word in words(
        "a an and any are as at be been but by can could do does for from get had has have how i if"
        " in into is it its let make me my need new of on one or our please should so some that the"
        " their them then there these they this to up us use user using want was we what when where"
        " which who will with would you your skill skills task tasks help"
    )
)
"""Words that occur in requests about any subject."""
