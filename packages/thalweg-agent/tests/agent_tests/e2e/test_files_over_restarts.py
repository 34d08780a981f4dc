"""Files of agents that are interrupted, resumed elsewhere, taken back in time, or fail."""

# ruff: noqa: ANN401  # what LangGraph and tools hand on is anything

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from agent_tests.e2e.family import Family, Plan, contents, data, do, task

CONFIG: Any = {"configurable": {"thread_id": "t"}}
LINES = "first\nsecond\nthird\nfourth\n"


class Processes:
    """The same agents on the same checkpoints, in one process after another."""

    def __init__(self, folder: Path) -> None:
        self._path = str(folder / "checkpoints.db")
        self._open: list[Any] = []

    def family(self, plans: dict[str, Plan]) -> Family:
        """Begin another process."""
        saver = SqliteSaver.from_conn_string(self._path)
        self._open.append(saver)
        return Family(plans, checkpointer=saver.__enter__())

    def close(self) -> None:
        """End all."""
        for saver in self._open:
            saver.__exit__(None, None, None)


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    started = Processes(tmp_path)
    yield started
    started.close()


def answers(result: dict[str, Any]) -> Command[Any]:
    """Answer yes to every question."""
    return Command(resume={asked.id: "yes" for asked in result["__interrupt__"]})


def edit(old: str, new: str, path: str = "/a") -> Any:
    """Plan an edit."""
    return do("edit", path=path, old=old, new=new)


def test_edits_before_and_after_a_question_of_a_subagent_are_all_kept(
    processes: Processes,
) -> None:
    """Its own, its parent's and another's edits of one file; it resumes in another process."""
    plans: dict[str, Plan] = {
        "main": [[edit("first", "1st"), task("one"), task("two")]],
        "one": [[edit("second", "2nd")], [do("ask", question="?")], [edit("third", "3rd")]],
        "two": [[edit("fourth", "4th")]],
    }
    asked = processes.family(plans).run({"/a": data(LINES)}, CONFIG)
    result = processes.family(plans).run(None, CONFIG, answers(asked))

    assert contents(result) == {"/a": "1st\n2nd\n3rd\n4th\n"}


def test_two_subagents_that_asked_go_on_with_each_other_s_edits(processes: Processes) -> None:
    """The first to resume must not start from a file without the other's edit."""
    plans: dict[str, Plan] = {
        "main": [[task("one"), task("two")]],
        "one": [[edit("first", "1st")], [do("ask", question="?")], [edit("second", "2nd")]],
        "two": [[edit("third", "3rd")], [do("ask", question="?")], [edit("fourth", "4th")]],
    }
    asked = processes.family(plans).run({"/a": data(LINES)}, CONFIG)
    assert len(asked["__interrupt__"]) == 2
    result = processes.family(plans).run(None, CONFIG, answers(asked))

    assert contents(result) == {"/a": "1st\n2nd\n3rd\n4th\n"}


def test_who_goes_on_first_begins_from_the_edits_of_who_goes_on_later(
    processes: Processes,
) -> None:
    """The other has not changed a file again, and no one has read its state yet."""
    plans: dict[str, Plan] = {
        "main": [[task("one"), task("two")]],
        "one": [
            [edit("first", "1st")],
            [do("ask", question="one?")],
            [edit("second", "2nd")],
            [do("open_gate", name="edited")],
        ],
        "two": [[edit("third", "3rd")], [do("ask", question="two?")], [edit("fourth", "4th")]],
    }
    asked = processes.family(plans).run({"/a": data(LINES)}, CONFIG)
    said = {"one?": "yes", "two?": "wait: edited"}
    resume = {one.id: said[one.value] for one in asked["__interrupt__"]}
    result = processes.family(plans).run(None, CONFIG, Command(resume=resume))

    assert contents(result) == {"/a": "1st\n2nd\n3rd\n4th\n"}


def test_one_answer_at_a_time_keeps_what_the_other_had_done(processes: Processes) -> None:
    """Each answer is a run of its own."""
    plans: dict[str, Plan] = {
        "main": [[task("one"), task("two")]],
        "one": [[edit("first", "1st")], [do("ask", question="1")], [do("delete", path="/b")]],
        "two": [[edit("third", "3rd")], [do("ask", question="2")], [edit("fourth", "4th")]],
    }
    asked = processes.family(plans).run({"/a": data(LINES), "/b": data("")}, CONFIG)
    for _ in range(2):
        first = asked["__interrupt__"][0]
        asked = processes.family(plans).run(None, CONFIG, Command(resume={first.id: "yes"}))

    assert contents(asked) == {"/a": "1st\nsecond\n3rd\n4th\n"}


def test_a_delete_before_a_question_is_not_forgotten(processes: Processes) -> None:
    """Even if the subagent touches no file after."""
    plans: dict[str, Plan] = {
        "main": [[task("one")], [do("read", path="/a")]],
        "one": [[do("delete", path="/a")], [do("ask", question="?")]],
    }
    asked = processes.family(plans).run({"/a": data("x"), "/b": data("y")}, CONFIG)
    family = processes.family(plans)
    result = family.run(None, CONFIG, answers(asked))

    assert contents(result) == {"/b": "y"}
    assert family.results["main"][-1] == "File '/a' not found"


def test_a_change_not_seen_is_a_conflict_after_the_question_too(processes: Processes) -> None:
    """Another subagent ended before; the one that resumes never saw its change."""
    plans: dict[str, Plan] = {
        "main": [[task("one"), task("two")]],
        "one": [
            [do("read", path="/a")],
            [do("open_gate", name="read")],
            [do("ask", question="?")],
            [do("write", path="/a", content="of one")],
        ],
        "two": [[do("pass_gate", name="read")], [do("write", path="/a", content="of two")]],
    }
    asked = processes.family(plans).run({"/a": data("x")}, CONFIG)
    family = processes.family(plans)
    result = family.run(None, CONFIG, answers(asked))

    assert contents(result) == {"/a": "of two"}
    assert "subagent 'worker' (two) changed it" in family.results["one"][-1]


def test_what_a_subagent_changed_is_unseen_in_the_next_process(processes: Processes) -> None:
    """The parent read the file before; its next run must not overwrite it."""
    plans: dict[str, Plan] = {
        "main": [[do("read", path="/a")], [task("one")]],
        "one": [[do("write", path="/a", content="of one")]],
        "next": [[do("write", path="/a", content="!")], [do("read", path="/a")]],
        "last": [[do("write", path="/a", content="of main")]],
    }
    processes.family(plans).run({"/a": data("x")}, CONFIG)
    family = processes.family(plans)
    result = family.run(None, CONFIG, "next")
    assert contents(result) == {"/a": "of one"}
    assert "subagent 'worker' (one) changed it" in family.results["next"][0]

    assert contents(processes.family(plans).run(None, CONFIG, "last")) == {"/a": "of main"}


def test_an_edit_beside_a_question_of_the_parent_is_made_once(processes: Processes) -> None:
    """The task that asked runs again, the other does not."""
    plans: dict[str, Plan] = {"main": [[edit("first", "1st 1st"), do("ask", question="?")]]}
    asked = processes.family(plans).run({"/a": data(LINES)}, CONFIG)
    result = processes.family(plans).run(None, CONFIG, answers(asked))

    assert contents(result) == {"/a": LINES.replace("first", "1st 1st")}


def test_a_run_that_failed_goes_on_with_every_edit_once(processes: Processes) -> None:
    """One subagent dies, another had ended; the step is run again from its checkpoint."""
    plans: dict[str, Plan] = {
        "main": [[edit("first", "1st"), task("one"), task("two")]],
        "one": [[edit("second", "2nd")]],
        "two": [[edit("third", "3rd")]],
    }
    family = processes.family(plans)
    family.fails.add("two")
    with pytest.raises(ConnectionError):
        family.run({"/a": data(LINES)}, CONFIG)
    result = processes.family(plans).run(None, CONFIG, None)

    assert contents(result) == {"/a": "1st\n2nd\n3rd\nfourth\n"}


def _before(family: Family, turn: int) -> Any:
    """Find the checkpoint from which the calls of a turn were made."""
    states = [s for s in family.main.get_state_history(CONFIG) if s.next and "tools" in s.next]
    return states[-turn].config


def test_a_thread_taken_back_in_time_does_not_see_the_line_it_left() -> None:
    """In the same process, whose live files were those of the other line."""
    plans: dict[str, Plan] = {
        "main": [[do("write", path="/a", content="1")], [task("one")]],
        "one": [[edit("1", "2")], [do("write", path="/b", content="b")]],
    }
    family = Family(plans, checkpointer=InMemorySaver())
    assert contents(family.run(None, CONFIG)) == {"/a": "2", "/b": "b"}
    back = _before(family, 2)
    family.plans = {**plans, "one": [[do("read", path="/a"), do("read", path="/b")]]}
    result = family.run(None, back, None)

    assert contents(result) == {"/a": "1"}
    assert family.results["one"] == ["1", "File '/b' not found"]


def test_a_thread_forked_by_its_user_goes_on_from_the_files_it_was_given() -> None:
    """`update_state` at an earlier checkpoint begins a line of its own."""
    plans: dict[str, Plan] = {
        "main": [[do("write", path="/a", content="1")], [edit("1", "2")]],
    }
    family = Family(plans, checkpointer=InMemorySaver())
    family.run(None, CONFIG)
    forked = family.main.update_state(_before(family, 2), {"files": {"/a": data("1 forked")}})
    result = family.run(None, forked, None)

    assert contents(result) == {"/a": "2 forked"}


def test_going_back_to_a_question_forgets_what_was_done_before_it() -> None:
    """A subagent that had edited, asked and resumed starts again with the file as it was."""
    plans: dict[str, Plan] = {
        "main": [[do("write", path="/a", content="1")], [task("one")]],
        "one": [[edit("1", "2")], [do("ask", question="?")], [edit("2", "3")]],
    }
    family = Family(plans, checkpointer=InMemorySaver())
    asked = family.run(None, CONFIG)
    back = _before(family, 2)
    assert contents(family.run(None, CONFIG, answers(asked))) == {"/a": "3"}
    again = family.run(None, back, None)
    result = family.run(None, CONFIG, answers(again))

    assert contents(result) == {"/a": "3"}
    assert family.results["one"] == ["edited", "yes", "edited"]


def test_a_checkpoint_holds_changes_and_not_all_files() -> None:
    """A hundred files, one of them edited: the step writes one."""
    saver = InMemorySaver()
    plans: dict[str, Plan] = {
        "main": [[edit("first", "1st")], [task("one")]],
        "one": [[edit("second", "2nd")]],
    }
    given = {f"/{k}": data(str(k)) for k in range(100)}
    family = Family(plans, checkpointer=saver)
    family.run(given | {"/a": data(LINES)}, CONFIG)
    written = [
        saver.serde.loads_typed(value)
        for (_, namespace, _), writes in saver.writes.items()
        if not namespace
        for _, channel, value, _ in writes.values()
        if channel == "files"
    ]

    assert [set(delta) for delta in written] == [set(given) | {"/a"}, {"/a"}, {"/a"}]
    loaded = Family(plans, checkpointer=saver).main.get_state(CONFIG).values["files"]
    assert loaded["/a"]["content"] == "1st\n2nd\nthird\nfourth\n"
    assert len(loaded) == 101


def test_without_a_thread_nothing_is_left_of_a_run() -> None:
    """Two runs of one agent know nothing of each other."""
    plans: dict[str, Plan] = {
        "main": [[task("one")]],
        "one": [[do("write", path="/a", content="1")]],
    }
    family = Family(plans)
    assert contents(family.run()) == {"/a": "1"}
    family.plans = {"main": [[do("read", path="/a")]]}

    assert contents(family.run()) == {}
    assert family.results["main"] == ["File '/a' not found"]


@pytest.mark.slow
def test_two_hundred_subagents_at_once_lose_no_edit() -> None:
    """Each edits its place of one file, and writes a file of its own."""
    names = [f"n{k:03}" for k in range(200)]
    plans: dict[str, Plan] = {"main": [[task(name) for name in names]]}
    plans |= {
        name: [[edit(f"<{name}>", f"({name})"), do("write", path=f"/{name}", content=name)]]
        for name in names
    }
    family = Family(plans, is_async=True)
    given = {"/a": data("".join(f"<{name}>" for name in names))}
    result = asyncio.run(family.arun(given))

    made = contents(result)
    assert made.pop("/a") == "".join(f"({name})" for name in names)
    assert made == {f"/{name}": name for name in names}
    assert sorted(family.results["main"]) == [f"report of {name}" for name in names]
