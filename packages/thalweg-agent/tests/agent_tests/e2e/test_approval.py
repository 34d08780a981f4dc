"""A person is asked before a call is run: in agents, in subagents, and over compactions."""

import json
import random
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from agent_tests.e2e.approving import step
from core_tests.archives import archive_in_memory
from core_tests.e2e.scripted import RuledModel, calls, says
from core_tests.e2e.worlds import AT, Run, both_worlds, in_sync
from core_tests.forking import start
from thalweg.archive import Archive, ThreadKey, open_archive
from thalweg.archive.threads.thread_history import turns
from thalweg.engine.edits import Fold
from thalweg_agent import create_deep_agent

KEY = ThreadKey("local", "t")


@tool
def deploy(where: str) -> str:
    """Deploy somewhere."""
    return f"deployed to {where}"


@tool
def look(where: str) -> str:
    """Look somewhere."""
    return f"looked at {where}"


def batch(*made: AIMessage) -> AIMessage:
    """Make one answer of several with calls."""
    return AIMessage("", tool_calls=[call for one in made for call in one.tool_calls])


def edit(where: str, name: str = "deploy") -> dict[str, Any]:
    """Decide that a call is run otherwise."""
    return {"type": "edit", "edited_action": {"name": name, "args": {"where": where}}}


def decided(*decisions: dict[str, Any]) -> Command[Any]:
    """Decide."""
    return Command(resume={"decisions": list(decisions)})


def say(text: str) -> dict[str, Any]:
    """Make a request."""
    return {"messages": [HumanMessage(text)]}


def results(messages: Sequence[BaseMessage]) -> dict[str, str]:
    """List the results of calls, by id."""
    return {m.tool_call_id: m.text for m in messages if isinstance(m, ToolMessage)}


@both_worlds
def test_each_of_several_calls_gets_its_own_decision(run: Run) -> None:
    """Approved, edited, rejected and answered in one turn; who is not asked about is run."""
    turn = batch(
        calls("deploy", "approved", where="a"),
        calls("deploy", "edited", where="b"),
        calls("look", "free", where="c"),
        calls("deploy", "rejected", where="d"),
        calls("deploy", "answered", where="e"),
    )
    model = RuledModel(rule=says(turn, "Done."))
    agent = create_deep_agent(
        model,
        [deploy, look],
        interrupt_on={"deploy": True},
        checkpointer=InMemorySaver(),
        archive=":memory:",
    )
    (asked,) = run(agent, say("Deploy."))["__interrupt__"]
    assert [one["args"]["where"] for one in asked.value["action_requests"]] == ["a", "b", "d", "e"]

    decisions = (
        {"type": "approve"},
        edit("b2"),
        {"type": "reject", "message": "too late"},
        {"type": "respond", "message": "e is done already"},
    )
    messages = run(agent, decided(*decisions))["messages"]

    told = results(messages)
    assert told["approved"] == "deployed to a"
    assert told["free"] == "looked at c"
    assert told["edited"].endswith("deployed to b2")
    assert "too late" in told["rejected"]
    assert told["answered"] == "e is done already"
    assert messages[-1].text == "Done."
    assert model.problems == []
    assert results(model.requests[-1]) == told


@both_worlds
def test_what_was_run_is_what_the_log_and_every_later_request_say(run: Run) -> None:
    """The model's own call is kept as it wrote it; its result states what was run in its place."""
    model = RuledModel(rule=says(calls("deploy", "c1", where="prod"), "Done.", "Yes."))
    archive = archive_in_memory()
    agent = create_deep_agent(
        model,
        [deploy, look],
        interrupt_on={"deploy": True},
        checkpointer=InMemorySaver(),
        archive=archive,
    )
    run(agent, say("Deploy."))
    run(agent, decided(edit("staging")))
    run(agent, say("Are you sure?"))

    executed = 'Executed instead: deploy with arguments {"where": "staging"}'
    for request in model.requests[1:]:
        assert executed in results(request)["c1"]
        assert results(request)["c1"].endswith("deployed to staging")
    logged = [m.text for m in archive.messages(KEY) if m.role == "tool"]
    assert [executed in text for text in logged] == [True]
    assert "deployed to prod" not in str(model.requests)


@both_worlds
def test_who_writes_instead_of_deciding_has_the_calls_passed_over(run: Run) -> None:
    """They are answered as cancelled, once; a decision that comes too late runs nothing."""
    model = RuledModel(rule=says(calls("deploy", "c1", where="prod"), "As you like.", "Good."))
    agent = create_deep_agent(
        model,
        [deploy],
        interrupt_on={"deploy": True},
        checkpointer=InMemorySaver(),
        archive=":memory:",
    )
    run(agent, say("Deploy."))
    assert run(agent, say("No, leave it."))["messages"][-1].text == "As you like."
    run(agent, say("Fine."))

    for request in model.requests[1:]:
        assert "did not complete" in results(request)["c1"]
        assert "deployed" not in str(request)
    assert model.problems == []


def test_an_interrupted_run_that_goes_on_has_nothing_cancelled() -> None:
    """Its calls wait: not when it is resumed, nor when the state is read or touched meanwhile."""
    model = RuledModel(rule=says(calls("deploy", "c1", where="prod"), "Done."))
    agent = create_deep_agent(
        model,
        [deploy],
        interrupt_on={"deploy": True},
        checkpointer=InMemorySaver(),
        archive=":memory:",
    )
    in_sync(agent, say("Deploy."))
    assert agent.get_state(AT).values["messages"][-1].tool_calls
    messages = in_sync(agent, decided({"type": "approve"}))["messages"]

    assert results(messages) == {"c1": "deployed to prod"}


@contextmanager
def kept(kind: str, folder: Path) -> Iterator[tuple[Archive, BaseCheckpointSaver[Any]]]:
    """Open an archive and checkpoints: in memory, or as the files of one folder."""
    if kind == "memory":
        with open_archive(":memory:") as archive:
            yield archive, InMemorySaver()
        return
    with (
        open_archive(folder / "thalweg.db") as archive,
        closing(sqlite3.connect(folder / "checkpoints.db", check_same_thread=False)) as database,
    ):
        yield archive, SqliteSaver(database)


def decide(chance: random.Random, asked: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Decide at random; also return what the result must contain."""
    where = asked["args"]["where"]
    decisions: list[tuple[dict[str, Any], str]] = [
        ({"type": "approve"}, f"deployed to {where} "),
        (
            {"type": "edit", "edited_action": {**asked, "args": {"where": "B", "words": 3}}},
            "deployed to B and so on and so on and so on",
        ),
        ({"type": "reject", "message": f"not {where}"}, f"not {where}"),
        ({"type": "respond", "message": f"{where} is done"}, f"{where} is done"),
    ]
    return chance.choice(decisions)


Step = Callable[[dict[str, Any]], dict[str, Any]]


def talk(chance: random.Random, questions: int, do: Step) -> None:
    """Ask, decide what is asked, and check each request that follows a decision."""
    for number in range(questions):
        came = do({"ask": number})
        while came["asked"]:
            if chance.random() < 0.1:  # passed over: the next question takes its place
                break
            decisions = [decide(chance, asked) for asked in came["asked"]]
            wheres = [asked["args"]["where"] for asked in came["asked"]]
            came = do({"decide": [decision for decision, _ in decisions]})
            check_decided(came["requests"][0], dict(zip(wheres, decisions, strict=True)))
        else:
            assert came["said"] == f"answer {number}"


def check_decided(request: list[dict[str, Any]], decisions: dict[str, Any]) -> None:
    """Check that the exchange that waited is the end of the request, whole, as it was decided."""
    start = max(k for k, message in enumerate(request) if message["type"] == "ai")
    shown = {message["answers"]: message["text"] for message in request[start + 1 :]}
    assert list(shown) == request[start]["calls"]
    for where, (_, told) in decisions.items():
        assert told in shown[where.replace("place", "call")]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "seed"), [("memory", 0), ("sqlite", 1)])
def test_no_compaction_takes_calls_that_wait_for_a_person(
    kind: str, seed: int, tmp_path: Path
) -> None:
    """In a window of a few turns, the decided calls are complete in the next request.

    Each step runs in a newly created agent; on disk, over newly opened connections.
    """
    problems: list[str] = []
    asked: list[int] = []

    def do(given: dict[str, Any]) -> dict[str, Any]:
        with kept(kind, tmp_path) if kind == "sqlite" else nothing() as (archive, saver):
            came = step(archive, saver, given)
        problems.extend(came["problems"])
        asked.append(len(came["asked"]))
        return came

    with kept(kind, tmp_path) as opened:

        @contextmanager
        def nothing() -> Iterator[tuple[Archive, BaseCheckpointSaver[Any]]]:
            yield opened

        talk(random.Random(seed), 12, do)  # noqa: S311 (no secret)
        taken = turns(opened[0], KEY)

    assert problems == []
    assert sum(any(isinstance(e, Fold) for e in turn.page.edits) for turn in taken) >= 3
    assert sum(count > 1 for count in asked) >= 5


@pytest.mark.slow
def test_a_decision_is_taken_up_in_another_process(tmp_path: Path) -> None:
    """The other process has the archive and the checkpoints, and nothing else."""
    came: list[dict[str, Any]] = []
    paths = [tmp_path / name for name in ("thalweg.db", "checkpoints.db")]

    def do(given: dict[str, Any]) -> dict[str, Any]:
        pipe = subprocess.PIPE
        process = start("agent_tests.e2e.approving", *paths, stdin=pipe, stdout=pipe)
        told, _ = process.communicate(json.dumps(given))
        assert process.returncode == 0
        came.append(json.loads(told))
        return came[-1]

    talk(random.Random(5), 2, do)  # noqa: S311 (no secret)

    assert [problem for each in came for problem in each["problems"]] == []
    assert any(each["asked"] for each in came)


def two_children(model: RuledModel, **given: Any) -> Any:  # noqa: ANN401 (an agent)
    """Make an agent whose general-purpose subagent deploys."""
    return create_deep_agent(
        model, [deploy, look], checkpointer=InMemorySaver(), archive=":memory:", **given
    )


def family(messages: Sequence[BaseMessage]) -> AIMessage:
    """Delegate two tasks; each child deploys to the place named in its task, and reports it."""
    asked = next(m.text for m in messages if m.type == "human")
    told = [m.text for m in messages if isinstance(m, ToolMessage)]
    if asked.startswith("Deploy"):
        two = [calls("task", where, description=where) for where in ("north", "south")]
        return AIMessage(" / ".join(told)) if told else batch(*two)
    return AIMessage(told[-1]) if told else calls("deploy", f"d-{asked}", where=asked)


@both_worlds
def test_children_that_run_at_once_are_each_asked_and_decided_by_id(run: Run) -> None:
    """The parent is asked what its subagents ask, and they are decided in any order."""
    model = RuledModel(rule=family)
    agent = two_children(model, interrupt_on={"deploy": True})
    asked = run(agent, say("Deploy."))["__interrupt__"]
    by_place = {i.value["action_requests"][0]["args"]["where"]: i.id for i in asked}
    assert set(by_place) == {"north", "south"}

    resume: dict[str, Any] = {
        by_place["south"]: {"decisions": [{"type": "reject", "message": "not south"}]},
        by_place["north"]: {"decisions": [edit("far north")]},
    }
    messages = run(agent, Command(resume=resume))["messages"]

    told = results(messages)
    assert "deployed to far north" in told["north"]
    assert "not south" in told["south"]
    assert "deployed to south" not in str(model.requests)
    assert model.problems == []


@both_worlds
def test_one_child_may_be_decided_while_the_other_waits(run: Run) -> None:
    """The one that resumes is not run again when the other's turn comes."""
    model = RuledModel(rule=family)
    agent = two_children(model, interrupt_on={"deploy": True})
    asked = run(agent, say("Deploy."))["__interrupt__"]
    by_place = {i.value["action_requests"][0]["args"]["where"]: i.id for i in asked}
    approve = {"decisions": [{"type": "approve"}]}

    (still,) = run(agent, Command(resume={by_place["south"]: approve}))["__interrupt__"]
    assert still.id == by_place["north"]
    before = len(model.requests)
    messages = run(agent, Command(resume={by_place["north"]: approve}))["messages"]

    assert results(messages)["north"].startswith("deployed to north")
    assert results(messages)["south"].startswith("deployed to south")
    assert len(model.requests) == before + 2
    assert model.problems == []


def test_a_person_asked_in_a_child_may_be_passed_over_in_the_parent() -> None:
    """The task is answered as cancelled, and the child deploys nothing."""
    model = RuledModel(rule=lambda m: AIMessage("Well.") if m[-1].text == "Stop!" else family(m))
    agent = two_children(model, interrupt_on={"deploy": True})
    in_sync(agent, say("Deploy."))
    messages = in_sync(agent, say("Stop!"))["messages"]

    assert messages[-1].text == "Well."
    told = results(model.requests[-1])
    assert set(told) == {"north", "south"}
    assert all("did not complete" in text for text in told.values())
    assert "deployed" not in str(model.requests)
    assert model.problems == []
