"""Manual removal of facts, which can be undone; `forget` is permanent."""

from collections.abc import Iterable, Sequence

from thalweg.errors import NoSuchFactError
from thalweg.memory.facts.changes import Change, Drop, Hide, Write
from thalweg.memory.facts.values import Fact, FactId, Profile, Section


def plan_delete(facts: Iterable[Fact], ids: Sequence[str]) -> tuple[Change, ...]:
    """Plan to remove facts of any status.

    Raises:
        NoSuchFactError: One of them does not exist.
    """
    known = {fact.id for fact in facts}
    wanted = [FactId(name) for name in dict.fromkeys(ids)]
    for name in wanted:
        if name not in known:
            raise NoSuchFactError(name)
    return tuple(Drop(name, "deleted by hand") for name in wanted)


def plan_clear(facts: Iterable[Fact], profile: Profile, *, now: str) -> tuple[Change, ...]:
    """Plan to remove all facts and the profile, and to exclude all earlier turns from recall."""
    sections = (section for section in profile.sections if section.text)
    return (
        *(Drop(fact.id, "cleared by hand") for fact in facts),
        *(Write(Section(section.name, "", now), "cleared by hand") for section in sections),
        Hide("cleared by hand"),
    )
