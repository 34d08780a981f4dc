"""A subagent's part in its parent's files: what it changes, and what it is refused afterwards."""

import asyncio
from copy import copy, deepcopy
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from agent_tests.property.authors import Agent
from thalweg_agent.backends.concurrency.child_files import child_of, with_notices
from thalweg_agent.backends.concurrency.path_lock import PathLockQueue
from thalweg_agent.backends.concurrency.shared import shared
from thalweg_agent.backends.protocol import FileData
from thalweg_agent.backends.state import StateBackend

BACKEND = shared(StateBackend())


def file(content: str) -> FileData:
    """Write a file as state keeps it."""
    return FileData(content=content, encoding="utf-8")


def family(**files: str) -> tuple[Agent, Agent]:
    """Make a main agent with files, and a subagent of it."""
    main = Agent(BACKEND)
    main.channel.update([{f"/{name}": file(content) for name, content in files.items()}])
    return main, main.spawn("one")


def update_of(child: Agent, **given: Any) -> dict[str, Any]:  # noqa: ANN401 (as Child.update's)
    """End a subagent and take its update, without stamps."""
    assert child.child is not None
    with child.child:
        pass
    files = child.child.update(**given).get("files", {})
    return {path: data and data["content"] for path, data in files.items() if path[0] == "/"}


def test_a_subagent_that_was_stopped_changes_nothing_any_more() -> None:
    """One of its threads may continue for a while; its earlier writes are kept."""
    main, child = family(a="x")
    child.call(lambda: BACKEND.write("/b", "in time"))
    assert update_of(child) == {"/b": "in time"}

    raw = StateBackend()
    late = [
        child.call(lambda: BACKEND.write("/a", "late").error),
        child.call(lambda: BACKEND.edit("/a", "x", "late").error),
        child.call(lambda: BACKEND.delete("/a").error),
        child.call(lambda: raw.write("/a", "late").error),
        child.call(lambda: raw.upload_files([("/a", b"late")])[0].error),
    ]
    assert all("the run of this agent has ended" in str(error) for error in late)
    read = main.call(lambda: BACKEND.read("/a"))
    assert read.file_data is not None
    assert read.file_data["content"] == "x"


def test_what_a_runnable_changed_in_its_state_itself_is_its_change() -> None:
    """A compiled graph may use no backend: changed, new and removed files are all found."""
    main, child = family(a="x", b="x", c="x")
    given = {path: file("x") for path in ("/a", "/b", "/c")}
    left = {"/a": file("changed"), "/b": file("x"), "/new": file("made")}

    assert update_of(child, files=left, given=given) == {
        "/a": "changed",
        "/c": None,
        "/new": "made",
    }
    assert "subagent 'one' (one) changed it" in str(
        main.call(lambda: BACKEND.write("/a", "over").error, anew=False)
    )


def test_what_a_runnable_changed_over_another_s_change_is_set_aside_and_told() -> None:
    """The existing file is kept; both are notified."""
    main, child = family(a="x")
    other = main.spawn("two", anew=False)
    other.call(lambda: BACKEND.edit("/a", "x", "of two"))
    given = {"/a": file("x")}

    assert update_of(child, files={"/a": file("of one")}, given=given) == {}
    assert child.child is not None
    assert "its version was not kept" in child.child.notices()
    told = other.call(lambda: with_notices(ToolMessage("done", tool_call_id="t")))
    assert isinstance(told, ToolMessage)
    assert "its version was not kept" in str(told.content)


def test_a_step_begins_from_what_the_last_one_left_and_copies_lead_nowhere() -> None:
    """A node that writes files itself is not overruled by what was live before it."""
    main, _ = family(a="x")
    main.call(lambda: BACKEND.write("/a", "live"), anew=False)
    main.end_step([])
    main.channel.update([{"/a": file("given by a node")}])
    read = main.call(lambda: BACKEND.read("/a"))

    assert read.file_data is not None
    assert read.file_data["content"] == "given by a node"
    assert type(copy(main.channel.get())) is dict
    assert type(deepcopy(main.channel.get())) is dict


def test_outside_of_a_graph_a_subagent_leaves_what_differs() -> None:
    """There is nothing to share; the configuration is what it was."""
    with child_of(name="one", call_id="1") as child:
        config = child.config({"tags": ["mine"]})
    left = child.update({"/a": file("1"), "/b": file("=")}, given={"/b": file("="), "/c": file("")})

    assert config == {"tags": ["mine"]}
    assert left == {"files": {"/a": file("1"), "/c": None}}
    assert child.notices() == ""


@pytest.mark.parametrize("is_command", [False, True])
def test_a_notice_is_added_to_blocks_and_to_commands_once(
    is_command: bool,  # noqa: FBT001 (a parameter of a test)
) -> None:
    """For any return value of a tool, its last message carries it."""
    main, child = family(a="x")
    main.call(lambda: BACKEND.write("/a", "of main"), anew=False)
    child.call(lambda: BACKEND.write("/a", "of one"))
    message = ToolMessage([{"type": "text", "text": "done"}], tool_call_id="t")
    result: ToolMessage | Command[Any] = message
    if is_command:
        result = Command(update={"messages": [message], "files": {}})
    noted = main.call(lambda: with_notices(result), anew=False)
    told = noted.update["messages"][-1] if isinstance(noted, Command) else noted  # type: ignore[index]

    assert "subagent 'one' (one) tried" in str(told.content[-1])
    assert main.call(lambda: with_notices(result), anew=False) is result


def test_whoever_stops_waiting_for_a_path_leaves_the_way_free() -> None:
    """A task that is cancelled in the queue blocks no other task after it."""

    async def scene() -> list[str]:
        turnstile, passed = PathLockQueue(), list[str]()

        async def go(name: str, path: str) -> None:
            async with turnstile.at(path):
                passed.append(name)

        async with turnstile.at("/d"):
            waiting = [asyncio.create_task(go(n, p)) for n, p in (("1", "/d/a"), ("2", "/d/a"))]
            await go("elsewhere", "/e")
            await asyncio.sleep(0)
            waiting[0].cancel()
            await asyncio.sleep(0)
        await asyncio.gather(*waiting, return_exceptions=True)
        return passed

    assert asyncio.run(asyncio.wait_for(scene(), 30)) == ["elsewhere", "2"]
