"""Manual removal of facts, which can be undone; `forget` is permanent."""

from collections.abc import Iterable, Sequence

from thalweg.errors import NoSuchFactError
from thalweg_memory.facts.changes import Change, Hide, RemoveFact, WriteSection
from thalweg_memory.facts.values import Fact, FactId, Profile, ProfileSection


def plan_delete(facts: Iterable[Fact], ids: Sequence[str]) -> tuple[Change, ...]:
    """Plan to remove facts of any status.

    Raises:
        NoSuchFactError: One of them does not exist.
    """
    known = {fact.id for fact in facts}
    fact_ids = [FactId(name) for name in dict.fromkeys(ids)]
    for name in fact_ids:
        if name not in known:
            raise NoSuchFactError(name)
    return tuple(RemoveFact(name, "deleted by hand") for name in fact_ids)


def plan_clear(facts: Iterable[Fact], profile: Profile, *, now: str) -> tuple[Change, ...]:
    """Plan to remove all facts and the profile, and to exclude all earlier turns from recall."""
    sections = (section for section in profile.sections if section.text)
    return (
        *(RemoveFact(fact.id, "cleared by hand") for fact in facts),
        *(
            WriteSection(ProfileSection(section.name, "", now), "cleared by hand")
            for section in sections
        ),
        Hide("cleared by hand"),
    )
