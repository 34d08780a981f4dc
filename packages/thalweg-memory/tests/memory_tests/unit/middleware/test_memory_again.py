"""What was shown is made again: the same bytes, except for people's changes and removed items."""

from dataclasses import replace
from typing import Any

import pytest

from memory_tests.e2e.test_user_memory import ADA, AT, fact, known, learn
from thalweg_memory import Memory, MemoryStore
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Fact, FactId, ProfileSection, RemoveFact, WriteSection
from thalweg_memory.middleware.recall import (
    SYSTEM_PROMPT_PLACE,
    MemoryRenderer,
    ShownMemory,
    from_plain,
    to_plain,
)

TEA = fact("tea", "Ada drinks green tea")


def tell(store: MemoryStore, uid: str = "m1", **more: Any) -> str:  # noqa: ANN401 (of `ShownMemory`)
    """Write what was shown when the memory was in the version of `at`."""
    given: dict[str, Any] = {"at": 1, "facts": (FactId("tea"), FactId("pot")), **more}
    memory = Memory(store, ADA, settings=MemorySettings(max_injection_tokens=100))
    return MemoryRenderer().render(memory, [ShownMemory(uid, **given)]).get(uid, "")


def stored() -> tuple[MemoryStore, str]:
    """Make a memory, and return what was shown of it then."""
    store = known(tea="Ada drinks green tea", pot="Ada has a pot")
    return store, tell(store)


@pytest.mark.parametrize(
    "changed",
    [
        replace(TEA, aliases=("Ada likes green tea",), observed_at="2026-05-01T10:00:00Z"),
        replace(TEA, content="Ada drinks green tea daily"),
        replace(TEA, status="superseded", valid_to="2026-05-01T10:00:00Z"),
        replace(TEA, status="expired"),
    ],
)
def test_what_was_learned_since_changes_no_byte(changed: Fact) -> None:
    """What is new is shown separately, if it is worth showing."""
    store, before = stored()
    learn(store, changed)

    assert tell(store) == before
    assert "green tea" in before


def test_what_a_person_put_right_is_put_right_where_it_was_told() -> None:
    """The old words would go on to mislead."""
    store, before = stored()
    learn(store, replace(TEA, content="Ada drinks black tea"), actor="user")

    assert tell(store) == before.replace("green", "black")


def test_what_a_person_took_out_or_doubts_is_gone() -> None:
    """The message is removed with it, if nothing of it remains."""
    store, before = stored()
    learn(store, replace(TEA, status="quarantined"))
    assert tell(store).splitlines() == [one for one in before.splitlines() if "tea" not in one]
    version = store.version(ADA)
    store.commit(ADA, [RemoveFact(FactId("pot"), "wrong")], expected=version, actor="user", now=AT)

    assert tell(store) == ""


def test_the_profile_reads_as_it_did() -> None:
    """Until a person writes it."""
    store, _ = stored()

    def write(text: str, actor: str) -> None:
        section = WriteSection(ProfileSection("workContext", text, AT), "written")
        store.commit(ADA, [section], expected=store.version(ADA), actor=actor, now=AT)

    write("Ada paints.", "learned:m")
    at = store.operations(ADA, limit=1)[0].id
    before = tell(store, at=at, sections=("workContext",))
    write("Ada sculpts.", "learned:m")

    assert "Ada paints." in before
    assert tell(store, at=at, sections=("workContext",)) == before
    write("Ada rests.", "user")
    assert "Ada rests." in tell(store, at=at, sections=("workContext",))


def test_the_system_prompt_has_the_seeds_block_within_its_limit() -> None:
    """User context first, then facts; what is too much is cut, with a note."""
    store = known(**{f"f{n}": f"Ada owns thing number {n}" for n in range(20)})
    section = WriteSection(ProfileSection("workContext", "Ada paints.", AT), "written")
    store.commit(ADA, [section], expected=store.version(ADA), actor="user", now=AT)
    facts = tuple(FactId(f"f{n}") for n in range(20))
    text = tell(store, SYSTEM_PROMPT_PLACE, facts=facts, sections=("workContext",))

    assert text.startswith(
        "<memory>\n## User Context\nWork: Ada paints.\n\n## Key Facts\n- Ada owns"
    )
    assert text.endswith("(Memory truncated to fit token limit)\n</memory>")
    assert "thing number 15" not in text


def test_a_field_of_another_version_is_skipped_in_a_state() -> None:
    shown = ShownMemory("m1", facts=(FactId("a"),), tokens=60)

    assert from_plain([{**one, "later": [1]} for one in to_plain([shown])]) == [shown]
