"""What an agent may do, and whom it has to ask."""

from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from tests.peers.scenes.stage import TREE, call, invoke, kept, of, play, scene, told, tools


@scene
def asks_before(package: str, _: Path) -> Any:  # noqa: ANN401
    """A call is approved, one edited, one rejected, one answered by the person."""
    agent = of(package, ":create_deep_agent")(
        model=play(
            *(call("write_file", f"c{k}", file_path=f"/{k}.txt", content="x") for k in range(4)),
            "Done.",
        ),
        interrupt_on={
            "write_file": {"allowed_decisions": ["approve", "edit", "reject", "respond"]}
        },
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    edited = {"name": "write_file", "args": {"file_path": "/e.txt", "content": "e"}}
    decisions: list[dict[str, Any]] = [
        {"type": "approve"},
        {"type": "edit", "edited_action": edited},
        {"type": "reject", "message": "No."},
        {"type": "respond", "message": "Done by hand."},
    ]
    result = invoke(agent, {"messages": "Go."}, config)
    asked = []
    for decision in decisions:
        asked.append(result["__interrupt__"][0].value["action_requests"][0]["args"])
        result = invoke(agent, Command(resume={"decisions": [decision]}), config)
    return asked, told(result["messages"]), kept(result["files"])


@scene
def asks_before_in_a_subagent(package: str, _: Path) -> Any:  # noqa: ANN401
    """The subagent's call waits, too, and the run resumes at that point."""
    sub = {
        "name": "w",
        "description": "W.",
        "system_prompt": "",
        "model": play(call("write_file", file_path="/w.txt", content="w"), "Written."),
    }
    agent = of(package, ":create_deep_agent")(
        model=play(call("task", description="Write.", subagent_type="w"), "Done."),
        subagents=[sub],
        interrupt_on={"write_file": True},
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    result = invoke(agent, {"messages": "Go."}, config)
    asked = [i.value["action_requests"][0]["args"] for i in result["__interrupt__"]]
    result = invoke(agent, Command(resume={"decisions": [{"type": "approve"}]}), config)
    return asked, result["messages"][-1].text, kept(result["files"])


@scene
def keeps_to_permissions(package: str, _: Path) -> Any:  # noqa: ANN401
    """Rules of all three modes, for every tool."""
    rule = of(package, ":FilesystemPermission")
    return tools(
        package,
        call("read_file", file_path="/app/.env"),
        call("ls", path="/app"),
        call("grep", pattern="KEY"),
        call("glob", pattern="/app/**"),
        call("edit_file", file_path="/notes.txt", old_string="one", new_string="1"),
        call("write_file", file_path="/app/x.txt", content="x"),
        call("delete", file_path="/notes.txt"),
        files=TREE,
        permissions=[
            rule(operations=["read", "write"], paths=["/app/.env"], mode="deny"),
            rule(operations=["write"], paths=["/app/**"], mode="allow"),
            rule(operations=["write"], paths=["/**"], mode="deny"),
        ],
    )


@scene
def refuses_rules(package: str, _: Path) -> Any:  # noqa: ANN401
    """Rules that cannot be."""
    raised = []
    for path in ("relative", "/a/../b", "/~/c"):
        try:
            of(package, ":FilesystemPermission")(operations=["read"], paths=[path])
        except Exception as error:  # noqa: BLE001
            kinds = [isinstance(error, kind) for kind in (ValueError, NotImplementedError)]
            raised.append((kinds[1] or kinds[0], str(error).split("': ")[0].strip("'")))
    return raised


@scene
def a_rule_that_asks(package: str, _: Path) -> Any:  # noqa: ANN401
    """A path that a person has to allow."""
    rule = of(package, ":FilesystemPermission")
    agent = of(package, ":create_deep_agent")(
        model=play(
            call("write_file", file_path="/free.txt", content="x"),
            call("write_file", file_path="/asked/a.txt", content="x"),
            "Done.",
        ),
        permissions=[rule(operations=["write"], paths=["/asked/**"], mode="interrupt")],
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    result = invoke(agent, {"messages": "Go."}, config)
    (asked,) = result["__interrupt__"]
    action = asked.value["action_requests"][0]
    result = invoke(agent, Command(resume={"decisions": [{"type": "approve"}]}), config)
    return action["name"], action["args"], kept(result["files"])


@scene
def rights_of_a_subagent(package: str, _: Path) -> Any:  # noqa: ANN401
    """Its rules allow what its parent's forbid."""
    rule = of(package, ":FilesystemPermission")
    sub = {
        "name": "w",
        "description": "W.",
        "system_prompt": "",
        "model": play(call("write_file", file_path="/no/w.txt", content="w"), "Tried."),
        "permissions": [rule(operations=["write"], paths=["/**"])],
    }
    said = tools(
        package,
        call("task", description="?", subagent_type="w"),
        subagents=[sub],
        permissions=[rule(operations=["write"], paths=["/no/**"], mode="deny")],
    )
    return said[1]


@scene
def rules_and_a_shell(package: str, folder: Path) -> Any:  # noqa: ANN401
    """Rules about paths cannot hold in a shell: whether an agent may be made so."""
    rule = of(package, ":FilesystemPermission")
    shell = of(package, "backends:LocalShellBackend")(root_dir=folder, virtual_mode=True)
    try:
        of(package, ":create_deep_agent")(
            model=play("Done."),
            backend=shell,
            permissions=[rule(operations=["write"], paths=["/no/**"], mode="deny")],
        )
    except Exception as error:  # noqa: BLE001
        return isinstance(error, NotImplementedError), isinstance(error, ValueError)
    return "made"
