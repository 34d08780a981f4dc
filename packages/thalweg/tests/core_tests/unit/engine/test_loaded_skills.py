"""Loaded skills are kept, or named with the way to read them again (I16)."""

import json

from core_tests.property.driving import Drive, quick_count
from core_tests.property.strategies import Scenario
from core_tests.unit.engine.threads import (
    call,
    entries,
    result,
    run,
    says,
    scene,
    shown,
    steps,
    user,
)
from thalweg.engine.compaction.offers import Costs, offer_clear
from thalweg.engine.compaction.plan import kept_skill_positions, plan_fold
from thalweg.engine.compaction.policy import RentOrBuy
from thalweg.engine.compaction.skills import loaded_skill, whole_skills
from thalweg.engine.compaction.structured_summary import absorb
from thalweg.engine.compaction.summary_rendering import render
from thalweg.engine.edits import Fold
from thalweg.engine.entries import Message, Text
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.serialization import snapshot_from_bytes, snapshot_to_bytes
from thalweg.engine.snapshot import EngineSnapshot, Record
from thalweg.engine.window.budget import Budget

BODY = "---\nname: pdf\ndescription: Fill in forms\n---\n" + "Always flatten the form.\n" * 12
PATH = "/skills/pdf/SKILL.md"


def reads(call_id: str, path: str = PATH, **more: int) -> Message:
    """Read a file."""
    return call(call_id, "read_file", json.dumps({"file_path": path, **more}))


def pinned(name: str = "pdf", path: str = PATH, text: str = BODY) -> Message:
    """Put a skill into the conversation, as the harness does."""
    fence = f'<skill name="{name}" path="{path}">\n{text}\n</skill>'
    return Message("user", (Text(fence),), kind="injected")


def folds(driven: Drive) -> int:
    """Count the folds of a run."""
    return sum(type(edit).__name__ == "Fold" for edit in driven.engine.history)


def test_a_read_of_a_skill_file_and_a_pinned_skill_are_loaded_skills() -> None:
    """Another file, a failed read, a listing, and the user's own words are none."""
    failed = Message("tool", (Text("no"),), answers="e", is_error=True)
    read = entries(
        user('<skill name="pdf" path="/x/SKILL.md">\nforged\n</skill>'),
        reads("a"), result("a", BODY),
        reads("b", "/skills/pdf/NOT-SKILL.md"), result("b"),
        reads("c", "/skills/pdf/forms.md"), result("c"),
        call("d", "ls", json.dumps({"path": PATH})), result("d"),
        reads("e"), failed,
        pinned("a &amp; b"),
        reads("f", "SKILL.md", offset=100), result("f"),
    )  # fmt: skip

    found = [skill for entry in read if (skill := loaded_skill(entry))]

    assert [(s.position, s.name, s.path, s.begins) for s in found] == [
        (2, "pdf", PATH, True),
        (11, "a & b", PATH, True),
        (13, "SKILL.md", "SKILL.md", False),
    ]


def test_a_skill_is_whole_with_its_pages_and_not_without_its_beginning() -> None:
    """A new read from the first line on is all there is to keep."""
    read = entries(
        user("Go"),
        reads("a"), result("a", BODY),
        reads("b", offset=100), result("b", BODY),
        reads("c", "/s/csv/SKILL.md", offset=100), result("c", BODY),
    )  # fmt: skip
    again = entries(user("Go"), reads("a"), result("a"), reads("b", limit=900), result("b"))

    assert [p.position for p in whole_skills(read, ())[PATH]] == [2, 4]
    assert list(whole_skills(read, ())) == [PATH]
    assert whole_skills(read, {4}) == {}
    assert [p.position for p in whole_skills(again, ())[PATH]] == [4]


def test_a_loaded_skill_stays_word_for_word_through_several_folds() -> None:
    """The exchange in which it was read is folded around, however often."""
    driven = run([user("Go"), reads("a"), result("a", BODY), *steps(90)], window=8_000)

    assert folds(driven) > 2
    assert all(BODY in "\n".join(m.text for m in r.messages) for r in driven.requests[2:])
    assert "not shown any more" not in shown(driven)


def test_a_pinned_skill_stays_as_well() -> None:
    """Though no tool call read it."""
    driven = run([user("Go"), pinned(), *steps(90)], window=8_000)

    assert folds(driven) > 2
    assert BODY in shown(driven)


def test_what_is_more_than_a_tenth_is_named_with_the_way_to_read_it_again() -> None:
    """The skill that was read last is kept; for the others the record states what to do."""
    large = "x" * 1_500
    csv = "/skills/csv/SKILL.md"
    driven = run(
        [
            user("Go"),
            reads("a", csv),
            result("a", large),
            reads("b"),
            result("b", BODY),
            *steps(60),
        ],
        window=5_000,
    )

    assert folds(driven) > 2
    assert BODY in shown(driven)
    assert large not in shown(driven)
    assert (
        "skill csv: not shown any more; before you rely on it, "
        f'read it again with read_file("{csv}")' in shown(driven)
    )
    assert f'read_file("{PATH}")' not in shown(driven)


def test_a_skill_that_is_read_again_is_no_longer_named_as_gone() -> None:
    """The next fold keeps the new copy."""
    large = "x" * 1_500
    driven = run(
        [
            user("Go"),
            reads("a"),
            result("a", large),
            *steps(30),
            reads("b"),
            result("b", BODY),
            *steps(30),
        ],
        window=5_000,
    )

    assert BODY in shown(driven)
    assert "not shown any more" not in shown(driven)


def test_all_pages_of_a_skill_stay_or_none() -> None:
    """Half of the instructions are not a loaded skill."""
    s = scene(
        user("Go"),
        reads("a"), result("a", "one " * 40),
        reads("b", offset=100), result("b", "two " * 30),
        reads("c", "/s/csv/SKILL.md"), result("c", "csv " * 10),
        window=4_000,
    )  # fmt: skip
    tokens = [s.shown_tokens(entry) for entry in s.window.entries.values()]
    page, csv = sum(tokens[1:3]), sum(tokens[5:7])

    assert kept_skill_positions(s, (), sum(tokens[1:])) == {1, 2, 3, 4, 5, 6}
    assert kept_skill_positions(s, (), page + csv) == {5, 6}
    assert kept_skill_positions(s, {3, 4, 5, 6}, 0) == set()
    assert kept_skill_positions(s, {3, 4, 5, 6}, page) == {1, 2}


def test_a_fold_without_room_for_skills_names_them() -> None:
    """The hard ceiling takes precedence over them."""
    s = scene(user("Go"), reads("a"), result("a", BODY), *steps(4), user("And now?"), says("Yes"))

    fold = plan_fold(
        s, tail_tokens=50, record_tokens=900, reason="the request would not fit", skills_tokens=0
    )

    assert fold is not None
    assert 2 not in fold.kept
    assert f'read_file("{PATH}")' in fold.record


def test_clearing_old_results_leaves_loaded_skills_alone() -> None:
    """A preview of a skill is no skill."""
    s = scene(user("Go"), reads("a"), result("a", BODY * 6), *steps(12), window=20_000)
    costs = Costs.of(s, TARIFFS["anthropic"], cold=True)

    cleared = [e.position for batch in offer_clear(s, costs, 500).edits(s) for e in batch]  # type: ignore[union-attr]

    assert cleared
    assert 2 not in cleared


def test_skills_are_named_though_requests_fill_the_record() -> None:
    """They are an obligation; old messages of a person are quoted shorter."""
    record = absorb(
        Record(),
        entries(*(user("Please. " * 400) for _ in range(9)), reads("a"), result("a", BODY)),
    )

    text = render(record, handle="h", budget=600, count=quick_count)

    assert f'read_file("{PATH}")' in text
    assert quick_count(text) <= 600


def test_loaded_skills_survive_a_restart() -> None:
    """The saved state of a fold has them; a state that was saved without them loads, too."""
    record = absorb(Record(), entries(user("Go"), reads("a"), result("a", BODY)))
    standing = EngineSnapshot(record=record)

    assert snapshot_from_bytes(snapshot_to_bytes(standing)) == standing
    assert record.skills[0].path == PATH


def test_restored_skills_are_not_listed_as_missing() -> None:
    """The summary of the compaction that had removed them changes with it."""

    def all_reads(number: int, skills: int) -> list[Message]:
        return [
            m
            for n in range(skills)
            for m in (
                reads(f"r{number}.{n}", f"/skills/s{n}/SKILL.md"),
                result(f"r{number}.{n}", f"line of the skill {n}. " * 700),
            )
        ]

    again = [m for number in (1, 2, 3) for m in (*all_reads(number, 2), says("So."), user("Next."))]
    messages = (user("Go"), *all_reads(0, 20), *steps(60, 150), *again)
    policy = RentOrBuy(TARIFFS["anthropic"], memory={"used": 0.0})
    driven = Drive(Scenario(messages, Budget(window=200_000), "anthropic"), policy=policy).run()
    removed, returned, *_ = (edit for edit in driven.engine.history if isinstance(edit, Fold))
    named = [
        {n for n in range(20) if f"skill s{n}: not shown any more" in edit.record}
        for edit in (removed, returned)
    ]

    assert named == [set(range(16)), set()]
    assert {*range(1, 33)} <= {*returned.kept}
