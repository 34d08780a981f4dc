"""Files of agents that work side by side: no change is lost, and none undone unseen."""

# ruff: noqa: ANN401  # what LangGraph and tools hand on is anything

import asyncio
from collections.abc import Mapping
from typing import Any, Literal

import pytest

from agent_tests.e2e.family import Family, Plan, contents, data, do, task

Way = Literal["sync", "async"]
TWO = "first line\nsecond line\n"


def run(family: Family, files: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Run to the end, either way."""
    if family.is_async:
        return asyncio.run(family.arun(files))
    return family.run(files)


@pytest.fixture(params=["sync", "async"])
def way(request: pytest.FixtureRequest) -> Way:
    return "async" if request.param == "async" else "sync"


def test_parallel_subagents_that_edit_two_files_keep_both_edits(way: Way) -> None:
    """The edits that one of two agents used to lose."""
    plans: dict[str, Plan] = {
        "main": [[task("one"), task("two")]],
        "one": [[do("edit", path="/a", old="x", new="1")]],
        "two": [[do("edit", path="/b", old="x", new="2")]],
    }
    result = run(Family(plans, is_async=way == "async"), {"/a": data("x"), "/b": data("x")})

    assert contents(result) == {"/a": "1", "/b": "2"}


def test_parallel_subagents_that_edit_two_places_of_one_file_keep_both(way: Way) -> None:
    """An edit applies to what the file is at that moment."""
    plans: dict[str, Plan] = {
        "main": [[task("one"), task("two")]],
        "one": [[do("edit", path="/a", old="first", new="1st")]],
        "two": [[do("edit", path="/a", old="second", new="2nd")]],
    }
    result = run(Family(plans, is_async=way == "async"), {"/a": data(TWO)})

    assert contents(result) == {"/a": "1st line\n2nd line\n"}


def test_an_edit_beside_a_task_is_kept_with_what_the_subagent_did(way: Way) -> None:
    """One turn asks for an edit and for a subagent."""
    plans: dict[str, Plan] = {
        "main": [[do("edit", path="/a", old="first", new="1st"), task("one")]],
        "one": [[do("edit", path="/a", old="second", new="2nd")]],
    }
    result = run(Family(plans, is_async=way == "async"), {"/a": data(TWO)})

    assert contents(result) == {"/a": "1st line\n2nd line\n"}


def test_a_mixed_turn_keeps_what_every_call_of_it_did(way: Way) -> None:
    """Writes, a delete and subagents that write, edit and delete."""
    plans: dict[str, Plan] = {
        "main": [
            [
                do("write", path="/w1", content="w1"),
                do("write", path="/w2", content="w2"),
                do("delete", path="/old"),
                task("one"),
                task("two"),
            ]
        ],
        "one": [[do("write", path="/one", content="1"), do("delete", path="/kept/by/none")]],
        "two": [[do("edit", path="/a", old="x", new="2")], [do("read", path="/a")]],
    }
    given = {"/old": data("o"), "/kept/by/none": data("k"), "/a": data("x")}
    result = run(Family(plans, is_async=way == "async"), given)

    assert contents(result) == {"/w1": "w1", "/w2": "w2", "/one": "1", "/a": "2"}


def test_a_subagent_sees_files_of_its_parent_and_of_others_at_once(way: Way) -> None:
    """Neither waits for the other to end."""
    plans: dict[str, Plan] = {
        "main": [[do("write", path="/p", content="of the parent"), task("one"), task("two")]],
        "one": [
            [do("write", path="/o", content="of one")],
            [do("open_gate", name="one wrote")],
            [do("pass_gate", name="two has seen")],
        ],
        "two": [
            [do("pass_gate", name="one wrote")],
            [do("read", path="/o"), do("read", path="/p")],
            [do("open_gate", name="two has seen")],
        ],
    }
    family = Family(plans, is_async=way == "async")
    run(family)

    assert family.results["two"][1:3] == ["of one", "of the parent"]


def test_what_a_subagent_deletes_is_gone_for_its_parent(way: Way) -> None:
    """Deletes travel like any change, also out of a subagent of a subagent."""
    plans: dict[str, Plan] = {
        "main": [[task("one")], [do("read", path="/a")]],
        "one": [[task("two")], [do("delete", path="/b")]],
        "two": [[do("delete", path="/a")]],
    }
    family = Family(plans, is_async=way == "async")
    result = run(family, {"/a": data("x"), "/b": data("x"), "/c": data("x")})

    assert contents(result) == {"/c": "x"}
    assert family.results["main"][-1] == "File '/a' not found"


def conflict_plans(second: Plan) -> dict[str, Plan]:
    """One changes a file, then two makes a change that undoes it, then one continues."""
    return {
        "main": [[task("one"), task("two")]],
        "one": [
            [do("pass_gate", name="two has read")],
            [do("read", path="/a")],
            [do("write", path="/a", content="of one")],
            [do("open_gate", name="one wrote")],
            [do("pass_gate", name="two tried")],
            [do("read", path="/a")],
        ],
        "two": [
            [do("read", path="/a")],
            [do("open_gate", name="two has read")],
            [do("pass_gate", name="one wrote")],
            *second,
            [do("open_gate", name="two tried")],
        ],
    }


@pytest.mark.parametrize(
    ("verb", "call"),
    [
        ("written", do("write", path="/a", content="of two")),
        ("deleted", do("delete", path="/a")),
        ("edited", do("edit", path="/a", old="first", new="1st")),
    ],
)
def test_a_change_over_one_not_seen_is_an_error_that_both_see(
    way: Way, verb: str, call: Any
) -> None:
    """The second must read again and learns who was first; the first learns of the attempt."""
    family = Family(conflict_plans([[call]]), is_async=way == "async")
    result = run(family, {"/a": data(TWO)})

    assert contents(result) == {"/a": "of one"}
    error = family.results["two"][3]
    assert "subagent 'worker' (one)" in error
    assert "Read '/a' again" in error
    told = [text for text in family.results["one"] if "subagent 'worker' (two)" in text]
    assert len(told) == 1
    assert verb in told[0]


def test_after_reading_again_the_second_change_is_made(way: Way) -> None:
    """The way out that the error names is one."""
    again = [
        [do("write", path="/a", content="of two")],
        [do("read", path="/a")],
        [do("write", path="/a", content="of both")],
    ]
    family = Family(conflict_plans(again), is_async=way == "async")
    result = run(family, {"/a": data(TWO)})

    assert contents(result) == {"/a": "of both"}
    assert family.results["two"][4:6] == ["of one", "written"]


def test_a_conflict_with_a_subagent_that_has_ended_is_told_to_its_parent(way: Way) -> None:
    """The agent that requested the work is notified, with its next result."""
    plans: dict[str, Plan] = {
        "main": [[task("one"), task("two")]],
        "one": [[do("write", path="/a", content="of one")]],
        "two": [
            [do("pass_gate", name="one ended")],
            [do("write", path="/a", content="of two")],
        ],
    }
    family = Family(plans, is_async=way == "async")
    send, asend = family.send, family.asend

    def opening(who: str, runtime: Any) -> Any:
        sent = send(who, runtime)
        family.gate(f"{who} ended").set()
        return sent

    async def aopening(who: str, runtime: Any) -> Any:
        sent = await asend(who, runtime)
        family.gate(f"{who} ended").set()
        return sent

    family.send, family.asend = opening, aopening  # type: ignore[method-assign]
    result = run(family)

    assert contents(result) == {"/a": "of one"}
    assert "changed it after you last saw it" in family.results["two"][1]
    (told,) = [text for text in family.results["main"] if "tried to have '/a' written" in text]
    assert told.startswith("report of two")


def test_what_a_subagent_changed_must_be_read_before_its_parent_overwrites_it(
    way: Way,
) -> None:
    """This also holds turns later, and in a new run that starts from the checkpoint."""
    plans: dict[str, Plan] = {
        "main": [
            [do("read", path="/a")],
            [task("one")],
            [do("write", path="/other", content="")],
            [do("write", path="/a", content="of main")],
            [do("read", path="/a")],
            [do("write", path="/a", content="of main")],
        ],
        "one": [[do("edit", path="/a", old="x", new="1")]],
    }
    family = Family(plans, is_async=way == "async")
    result = run(family, {"/a": data("x")})

    assert contents(result) == {"/a": "of main", "/other": ""}
    assert "subagent 'worker' (one) changed it" in family.results["main"][3]
    assert family.results["main"][4:] == ["1", "written"]


def test_two_edits_of_one_file_in_one_turn_both_land(way: Way) -> None:
    """Of the same agent, side by side."""
    edits = [do("edit", path="/a", old=str(k), new=f"<{k}>") for k in range(10, 40)]
    plans: dict[str, Plan] = {"main": [edits]}
    given = {"/a": data(" ".join(str(k) for k in range(10, 40)))}
    result = run(Family(plans, is_async=way == "async"), given)

    assert contents(result) == {"/a": " ".join(f"<{k}>" for k in range(10, 40))}


def test_two_contents_for_one_path_in_one_turn_are_a_conflict(way: Way) -> None:
    """One is written, the other call reports the conflict; the same content twice is none."""
    plans: dict[str, Plan] = {
        "main": [
            [do("write", path="/a", content="1"), do("write", path="/a", content="2")],
            [do("write", path="/b", content="="), do("write", path="/b", content="=")],
            [do("write", path="/a", content="3")],
        ]
    }
    family = Family(plans, is_async=way == "async")
    result = run(family)

    first, second, *others = family.results["main"]
    assert {first, second} > {"written"}
    assert "another of the tool calls that you made at the same time" in first + second
    assert others == ["written"] * 3
    assert contents(result) == {"/a": "3", "/b": "="}
