"""Rank skills by the words they share with a request."""

from collections.abc import Sequence

from thalweg.engine.words.named import rank_named, stems
from thalweg_agent.skills.format import SkillMetadata

QUERY_CHARS = 4_000
"""Characters of each end of a request that are read."""


def relevant_skills(skills: Sequence[SkillMetadata], request: str) -> list[SkillMetadata]:
    """Return the skills that share words with a request, best first; see `rank_named`."""
    named = [(skill["name"], skill["description"]) for skill in skills]
    return [skills[k] for k in rank_named(named, _ends(request), _EMPTY)]


def _ends(text: str) -> str:
    if len(text) <= 2 * QUERY_CHARS:
        return text
    return f"{text[:QUERY_CHARS]}\n{text[-QUERY_CHARS:]}"


_EMPTY = stems(
    "a an and any are as at be been but by can could do does for from get had has have how i if"
    " in into is it its let make me my need new of on one or our please should so some that the"
    " their them then there these they this to up us use user using want was we what when where"
    " which who will with would you your skill skills task tasks help"
)
"""Words that occur in requests about any subject."""
