"""Whole agents at work, each the same on two packages: what is said, what is kept, what is raised.

A scene gets a package by name and returns plain values. Where two packages are to be alike, their
values are equal.
"""

import asyncio
import base64
import dataclasses
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState, TodoListMiddleware
from langchain.agents.middleware.types import PrivateStateAttr
from langchain.agents.structured_output import ToolStrategy
from langchain.tools import ToolRuntime, tool
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from pydantic import BaseModel

from thalweg.testing.model import ScriptedModel

Scene = Callable[[str, Path], Any]
SCENES: dict[str, Scene] = {}
IS_ASYNC = ContextVar("is_async", default=False)
"""Whether agents are run in an event loop."""
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def scene(function: Scene) -> Scene:
    """Put a function among the scenes, by its name."""
    SCENES[function.__name__] = function
    return function


def of(package: str, path: str) -> Any:  # noqa: ANN401 (whatever it is)
    """Take `module:name` out of a package."""
    module, _, name = path.rpartition(":")
    return getattr(import_module(f"{package}.{module}" if module else package), name)


def call(name: str, id: str = "c1", /, **arguments: Any) -> dict[str, Any]:  # noqa: A002, ANN401
    """Write one tool call."""
    return {"name": name, "args": arguments, "id": id, "type": "tool_call"}


def play(*answers: str | dict[str, Any] | Sequence[dict[str, Any]]) -> ScriptedModel:
    """Make a model that says these words or makes these calls, in order."""
    left = [
        AIMessage(said)
        if isinstance(said, str)
        else AIMessage("", tool_calls=[said] if isinstance(said, dict) else list(said))
        for said in answers
    ]
    return ScriptedModel(script=lambda _: left.pop(0))


def told(messages: Iterable[BaseMessage]) -> list[tuple[Any, ...]]:
    """Say what messages hold."""
    return [
        (m.type, m.content, *((m.name, m.status) if isinstance(m, ToolMessage) else ()))
        for m in messages
    ]


def kept(files: dict[str, Any] | None) -> dict[str, str]:
    """Say what files hold."""
    return {path: file["content"] for path, file in sorted((files or {}).items())}


def invoke(agent: Any, given: Any, config: Any = None, **more: Any) -> Any:  # noqa: ANN401
    """Run an agent in the way that is asked for."""
    if IS_ASYNC.get():
        return asyncio.run(agent.ainvoke(given, config, **more))
    return agent.invoke(given, config, **more)


def ran(agent: Any, given: dict[str, Any] | None = None, config: Any = None, **more: Any) -> Any:  # noqa: ANN401
    """Run an agent and say what came of it; of an error, its kind and words."""
    given = given or {"messages": "Go."}
    try:
        result = invoke(agent, given, config, **more)
    except Exception as error:  # noqa: BLE001 (which one is what is asked)
        return type(error).__name__, str(error)
    return told(result["messages"]), kept(result.get("files"))


def tools(
    package: str,
    *calls: dict[str, Any],
    files: dict[str, str] | None = None,
    **more: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Let an agent make one call after the other, and say what it read."""
    agent = of(package, ":create_deep_agent")(model=play(*calls, "Done."), **more)
    make = of(package, "backends.utils:create_file_data")
    given = {path: make(text) for path, text in (files or {}).items()}
    return ran(agent, {"messages": "Go.", **({"files": given} if files else {})})


TREE = {
    "/app/main.py": "import os\n\n\ndef main():\n    print('one')\n    print('two')\n",
    "/app/README.md": "# App\n\nSays one and two.\n",
    "/app/.env": "KEY=1\n",
    "/notes.txt": "one\ntwo\nthree\n",
}


@scene
def lists(package: str, _: Path) -> Any:  # noqa: ANN401
    """Look at folders, one of which is not there."""
    return tools(
        package, call("ls", path="/"), call("ls", path="/app"), call("ls", path="/none"), files=TREE
    )


@scene
def reads(package: str, _: Path) -> Any:  # noqa: ANN401
    """Read whole, in parts, past the end, and what is not there."""
    return tools(
        package,
        call("read_file", file_path="/notes.txt"),
        call("read_file", file_path="/notes.txt", offset=1, limit=1),
        call("read_file", file_path="/notes.txt", offset=9),
        call("read_file", file_path="/none.txt"),
        call("read_file", file_path="../notes.txt"),
        call("read_file", file_path="/empty.txt"),
        files={**TREE, "/empty.txt": ""},
    )


@scene
def writes(package: str, _: Path) -> Any:  # noqa: ANN401
    """Write a new file, write it again, and outside."""
    return tools(
        package,
        call("write_file", file_path="/new.txt", content="a\n"),
        call("write_file", file_path="/new.txt", content="b\n"),
        call("write_file", file_path="/../up.txt", content="b\n"),
        call("write_file", file_path="~/home.txt", content="b\n"),
        call("read_file", file_path="/new.txt"),
    )


@scene
def edits(package: str, _: Path) -> Any:  # noqa: ANN401
    """Edit what is there once, often, never."""
    return tools(
        package,
        call("edit_file", file_path="/notes.txt", old_string="two", new_string="2"),
        call("edit_file", file_path="/notes.txt", old_string="four", new_string="4"),
        call("edit_file", file_path="/notes.txt", old_string="e", new_string="E"),
        call("edit_file", file_path="/notes.txt", old_string="e", new_string="E", replace_all=True),
        call("edit_file", file_path="/none.txt", old_string="a", new_string="b"),
        files=TREE,
    )


@scene
def deletes(package: str, _: Path) -> Any:  # noqa: ANN401
    """Delete a file, and one that is not there."""
    return tools(
        package,
        call("delete", file_path="/notes.txt"),
        call("delete", file_path="/notes.txt"),
        call("ls", path="/"),
        files=TREE,
    )


@scene
def searches(package: str, _: Path) -> Any:  # noqa: ANN401
    """Search by name and by text, in all ways."""
    return tools(
        package,
        call("glob", pattern="**/*.py"),
        call("glob", pattern="*.md", path="/app"),
        call("glob", pattern="nothing/*"),
        call("grep", pattern="one"),
        call("grep", pattern="one", output_mode="content"),
        call("grep", pattern="one", output_mode="count"),
        call("grep", pattern="one", glob="*.py", output_mode="content"),
        call("grep", pattern="one", path="/app"),
        call("grep", pattern="(", output_mode="content"),
        call("grep", pattern="nothing here"),
        files=TREE,
    )


@scene
def has_no_shell(package: str, _: Path) -> Any:  # noqa: ANN401
    """Ask for a shell where there is none."""
    return tools(package, call("execute", command="ls"), files=TREE)


@scene
def runs_commands(package: str, folder: Path) -> Any:  # noqa: ANN401
    """Run commands that say something, fail, and say something on the other channel."""
    backend = of(package, "backends:LocalShellBackend")(root_dir=folder, virtual_mode=True)
    return tools(
        package,
        call("execute", command="echo one; echo two"),
        call("execute", command="echo oops >&2; exit 3"),
        call("execute", command="true"),
        call("execute", command="pwd | tail -c 1", timeout=5),
        call("execute", command="sleep 5", timeout=1),
        backend=backend,
    )


@scene
def works_on_the_disk(package: str, folder: Path) -> Any:  # noqa: ANN401
    """Read, write and leave a folder."""
    (folder / "a.txt").write_text("a\n", encoding="utf-8")
    (folder / "pixel.png").write_bytes(PIXEL)
    backend = of(package, "backends:FilesystemBackend")(root_dir=folder, virtual_mode=True)
    said = tools(
        package,
        call("read_file", file_path="/a.txt"),
        call("write_file", file_path="/b/c.txt", content="c\n"),
        call("edit_file", file_path="/a.txt", old_string="a", new_string="A"),
        call("read_file", file_path="/../../etc/passwd"),
        call("read_file", file_path="/pixel.png"),
        call("glob", pattern="**/*"),
        backend=backend,
    )
    texts = [(p.name, p.read_text()) for p in sorted(folder.rglob("*.txt"))]
    return said, texts


@scene
def calls_that_cannot_be(package: str, _: Path) -> Any:  # noqa: ANN401
    """Call a tool that there is not, and one with too little."""
    return tools(package, call("no_such_tool", x=1), call("edit_file", file_path="/a"), files=TREE)


@scene
def delegates(package: str, _: Path) -> Any:  # noqa: ANN401
    """Delegate to a subagent of its own, which changes a file."""
    sub = {
        "name": "writer",
        "description": "Writes.",
        "system_prompt": "Write.",
        "model": play(call("write_file", file_path="/w.txt", content="w\n"), "It is in /w.txt."),
    }
    return tools(
        package, call("task", description="Write.", subagent_type="writer"), subagents=[sub]
    )[1]


@scene
def delegates_words_alone(package: str, _: Path) -> Any:  # noqa: ANN401
    """Delegate what changes nothing: the report is what was said last."""
    sub = {"name": "sayer", "description": "Says.", "system_prompt": "", "model": play("It is so.")}
    return tools(package, call("task", description="Say.", subagent_type="sayer"), subagents=[sub])


@scene
def delegates_to_nobody(package: str, _: Path) -> Any:  # noqa: ANN401
    """Delegate to one that there is not."""
    return tools(package, call("task", description="Go.", subagent_type="nobody"))


@scene
def delegates_to_general_purpose(package: str, _: Path) -> Any:  # noqa: ANN401
    """Delegate to the one that is always there: the same model answers."""
    model = play(
        call("task", description="Say it.", subagent_type="general-purpose"), "It.", "Done."
    )
    return ran(of(package, ":create_deep_agent")(model=model))


@scene
def delegates_to_a_graph(package: str, _: Path) -> Any:  # noqa: ANN401
    """Delegate to a graph, which gets the task and nothing else of the conversation."""
    graph = StateGraph(MessagesState)
    graph.add_node("n", lambda s: {"messages": [AIMessage(f"{[m.text for m in s['messages']]}")]})
    graph.set_entry_point("n")
    sub = {"name": "graph", "description": "A graph.", "runnable": graph.compile()}
    return tools(
        package, call("task", description="Count.", subagent_type="graph"), subagents=[sub]
    )


@scene
def reports_with_a_shape(package: str, _: Path) -> Any:  # noqa: ANN401
    """Reports that are models, dataclasses and mappings."""

    class Found(BaseModel):
        what: str
        sure: float

    @dataclasses.dataclass
    class Plain:
        what: str

    schema = {
        "title": "Mapped",
        "description": "m",
        "type": "object",
        "properties": {"what": {"type": "string"}},
        "required": ["what"],
    }
    shapes: dict[str, Any] = {"Found": Found, "Plain": ToolStrategy(Plain), "Mapped": schema}
    subs = [
        {
            "name": name,
            "description": name,
            "system_prompt": "",
            "model": play(
                call(name, **({"what": "x", "sure": 0.5} if name == "Found" else {"what": "x"}))
            ),
            "response_format": shape,
        }
        for name, shape in shapes.items()
    ]
    calls = [call("task", f"c{k}", description="?", subagent_type=n) for k, n in enumerate(shapes)]
    agent = of(package, ":create_deep_agent")(model=play(calls, "Done."), subagents=subs)
    return ran(agent)


@scene
def answers_with_a_shape(package: str, _: Path) -> Any:  # noqa: ANN401
    """The agent's own answer has a shape."""

    class Advice(BaseModel):
        coat: bool

    agent = of(package, ":create_deep_agent")(
        model=play(call("Advice", coat=True)), response_format=Advice
    )
    result = invoke(agent, {"messages": "Go."})
    return told(result["messages"]), result["structured_response"].model_dump()


@scene
def refuses_specs(package: str, _: Path) -> Any:  # noqa: ANN401
    """Subagents that cannot be: what is raised, and with what words."""
    create = of(package, ":create_deep_agent")
    one = {"name": "a", "description": "A.", "system_prompt": ""}
    wrong: list[list[dict[str, Any]]] = [
        [one, one],
        [{**one, "mode": "sideways"}],
        [{**one, "mode": "fork", "skills": ["/s/"]}],
    ]
    raised = []
    for specs in wrong:
        try:
            invoke(create(model=play("no"), subagents=specs), {"messages": "Go."})
        except Exception as error:  # noqa: BLE001
            words = str(error).removeprefix("subagents: ").rstrip(".")  # ours names the argument
            raised.append((isinstance(error, ValueError), words))
        else:
            raised.append((False, "nothing"))
    return raised


@scene
def refuses_a_graph_without_messages(package: str, _: Path) -> Any:  # noqa: ANN401
    """A compiled subagent has to have messages in its state."""

    class Other(TypedDict):
        other: int

    graph = StateGraph(Other)
    graph.add_node("n", lambda _: {"other": 1})
    graph.set_entry_point("n")
    sub = {"name": "graph", "description": "A graph.", "runnable": graph.compile()}
    return tools(package, call("task", description="?", subagent_type="graph"), subagents=[sub])


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
    """The subagent's call waits, too, and the run goes on where it stood."""
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
def remembers_across_threads(package: str, _: Path) -> Any:  # noqa: ANN401
    """`/memories/` outlives a thread, other files do not."""
    backends = {
        n: of(package, f"backends:{n}")
        for n in ("CompositeBackend", "StateBackend", "StoreBackend")
    }
    agent = of(package, ":create_deep_agent")(
        model=play(
            call("write_file", file_path="/memories/a.txt", content="a\n"),
            call("write_file", file_path="/b.txt", content="b\n"),
            call("ls", path="/"),
            "One.",
            call("ls", path="/"),
            call("read_file", file_path="/memories/a.txt"),
            call("grep", pattern="a"),
            "Two.",
        ),
        backend=backends["CompositeBackend"](
            default=backends["StateBackend"](),
            routes={"/memories/": backends["StoreBackend"](namespace=lambda _: ("me",))},
        ),
        store=InMemoryStore(),
        checkpointer=InMemorySaver(),
    )
    return [
        ran(agent, {"messages": f"Go {k}."}, {"configurable": {"thread_id": str(k)}})
        for k in range(2)
    ]


@scene
def middleware_of_ones_own(package: str, _: Path) -> Any:  # noqa: ANN401
    """Tools and state that a middleware brings; a tool that changes the state."""

    class State(AgentState[Any]):
        found: NotRequired[Annotated[list[str], lambda a, b: [*(a or []), *b]]]

    @tool
    def find(what: str, runtime: ToolRuntime) -> Command[Any]:
        """Find something."""
        message = ToolMessage(f"found {what}", tool_call_id=runtime.tool_call_id)
        return Command(update={"found": [what], "messages": [message]})

    class Finds(AgentMiddleware[Any, Any, Any]):
        state_schema = State

        def __init__(self) -> None:
            self.tools = [find]

    agent = of(package, ":create_deep_agent")(
        model=play([call("find", what="a"), call("find", "c2", what="b")], "Done."),
        middleware=[Finds()],
    )
    result = invoke(agent, {"messages": "Go."})
    return told(result["messages"]), result["found"]


@scene
def a_system_message_of_ones_own(package: str, _: Path) -> Any:  # noqa: ANN401
    """Blocks of a system message go first, as they are."""
    seen: list[Any] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        seen.append(messages[0].content)
        return "Done."

    block: Any = {
        "type": "text",
        "text": "You are a gardener.",
        "cache_control": {"type": "ephemeral"},
    }
    prompt = SystemMessage(content=[block])
    agent = of(package, ":create_deep_agent")(
        model=ScriptedModel(script=script), system_prompt=prompt
    )
    invoke(agent, {"messages": "Go."})
    return seen[0][0]


@scene
def runtime_context(package: str, _: Path) -> Any:  # noqa: ANN401
    """A tool reads the context, in the agent and in its subagent."""

    @dataclasses.dataclass
    class Who:
        name: str

    @tool
    def who(runtime: ToolRuntime[Any]) -> str:
        """Say who asks."""
        return str(runtime.context.name)

    agent = of(package, ":create_deep_agent")(
        model=play(
            call("who"),
            call("task", description="Who?", subagent_type="general-purpose"),
            call("who"),
            "Ada, I am told.",
            "Done.",
        ),
        tools=[who],
        context_schema=Who,
    )
    return ran(agent, None, None, context=Who("Ada"))


@scene
def dangling_calls(package: str, _: Path) -> Any:  # noqa: ANN401
    """A call without a result in what is handed in."""
    agent = of(package, ":create_deep_agent")(model=play("Done."))
    given = [HumanMessage("a"), AIMessage("", tool_calls=[call("ls", path="/")]), HumanMessage("b")]
    return ran(agent, {"messages": given})


@scene
def files_of_an_older_kind(package: str, _: Path) -> Any:  # noqa: ANN401
    """Content as a list of lines, as earlier versions kept it."""
    old = {"content": ["one", "two"], "created_at": "2024", "modified_at": "2024"}
    agent = of(package, ":create_deep_agent")(
        model=play(call("read_file", file_path="/old.txt"), "Done.")
    )
    result = invoke(agent, {"messages": "Go.", "files": {"/old.txt": old}})
    return told(result["messages"])


@scene
def skills_are_listed_and_read(package: str, _: Path) -> Any:  # noqa: ANN401
    """What a skill is called and for, and where it lies, is in the prompt; its body is not."""
    seen: list[str] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        seen.append(messages[0].text)
        return "Done."

    text = "---\nname: sow\ndescription: When to sow.\nlicense: MIT\n---\n# Sowing\n\nIn May.\n"
    make = of(package, "backends.utils:create_file_data")
    agent = of(package, ":create_deep_agent")(
        model=ScriptedModel(script=script), skills=["/skills/"]
    )
    invoke(agent, {"messages": "Go.", "files": {"/skills/sow/SKILL.md": make(text)}})
    return [word in seen[0] for word in ("sow", "When to sow.", "/skills/sow/SKILL.md", "In May.")]


@scene
def parts_of_the_graph(package: str, _: Path) -> Any:  # noqa: ANN401
    """What a caller can reach: the limit of steps, the name, the channels of the output."""
    agent = of(package, ":create_deep_agent")(model=play("Done."), name="gardener")
    result = invoke(agent, {"messages": "Go."})
    return agent.config["recursion_limit"], agent.name, "messages" in result, "files" in result


@scene
def in_a_plain_agent(package: str, _: Path) -> Any:  # noqa: ANN401
    """The middleware by itself, in an agent of LangChain."""
    files = of(package, "middleware.filesystem:FilesystemMiddleware")
    agent = create_agent(
        play(call("write_file", file_path="/a.txt", content="a\n"), call("ls", path="/"), "Done."),
        middleware=[files()],
    )
    return ran(agent)


@scene
def only_some_tools(package: str, _: Path) -> Any:  # noqa: ANN401
    """File tools that are not listed are not there."""
    files = of(package, "middleware.filesystem:FilesystemMiddleware")
    agent = of(package, ":create_deep_agent")(
        model=play(call("write_file", file_path="/a.txt", content="a\n"), "Done."),
        middleware=[files(tools=["ls", "read_file"])],
    )
    names = set(agent.nodes["tools"].bound.tools_by_name)
    return sorted(names & {"ls", "read_file", "write_file", "edit_file", "glob", "grep", "delete"})


def recorded(*answers: str | dict[str, Any]) -> tuple[ScriptedModel, list[list[tuple[Any, ...]]]]:
    """Make a model that says this, and the list of what it is sent, without system prompts."""
    model, seen = play(*answers), list[list[tuple[Any, ...]]]()
    script = model.script

    def look(messages: Sequence[BaseMessage]) -> AIMessage | str:
        seen.append(told(m for m in messages if m.type != "system"))
        return script(messages)

    return ScriptedModel(script=look), seen


@scene
def a_fork_goes_on_with_the_conversation(package: str, _: Path) -> Any:  # noqa: ANN401
    """It sees what was said before, and the task last."""
    child, seen = recorded("It was a heron.")
    sub = {"name": "f", "description": "F.", "system_prompt": "", "mode": "fork", "model": child}
    agent = of(package, ":create_deep_agent")(
        model=play(call("task", description="Which bird?", subagent_type="f"), "Done."),
        subagents=[sub],
    )
    given = [("user", "I saw a bird."), ("ai", "Grey?"), ("user", "Grey, and tall.")]
    said = ran(agent, {"messages": given})
    return said, seen[0][:3], "Which bird?" in seen[0][-1][1], seen[0][-1][0]


@scene
def a_child_does_not_see_its_parents_secrets(package: str, _: Path) -> Any:  # noqa: ANN401
    """State that is private stays with the agent; other state goes down and comes back."""

    class State(AgentState[Any]):
        secret: NotRequired[Annotated[str, PrivateStateAttr]]
        shared: NotRequired[str]

    seen: list[Any] = []

    @tool
    def look(runtime: ToolRuntime) -> Command[Any]:
        """Look at the state."""
        seen.append({k: runtime.state.get(k) for k in ("secret", "shared", "todos")})
        done = ToolMessage("looked", tool_call_id=runtime.tool_call_id)
        return Command(update={"shared": "by the child", "messages": [done]})

    class Seeds(AgentMiddleware[Any, Any, Any]):
        state_schema = State

        def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ANN401
            del runtime
            return None if state.get("shared") else {"secret": "s", "shared": "by the parent"}

    sub = {
        "name": "c",
        "description": "C.",
        "system_prompt": "",
        "model": play(call("look"), "Seen."),
        "tools": [look],
        "middleware": [Seeds()],
    }
    agent = of(package, ":create_deep_agent")(
        model=play(call("task", description="Look.", subagent_type="c"), "Done."),
        subagents=[sub],
        middleware=[Seeds()],
    )
    result = invoke(agent, {"messages": "Go."})
    return seen, result["shared"], told(result["messages"])


@scene
def a_childs_plan_is_its_own(package: str, _: Path) -> Any:  # noqa: ANN401
    """Todos go neither down nor up; a middleware of that name replaces the built-in one."""
    todo = {"content": "mine", "status": "in_progress"}
    theirs = {"content": "theirs", "status": "in_progress"}
    sub = {
        "name": "c",
        "description": "C.",
        "system_prompt": "",
        "model": play(call("write_todos", todos=[theirs]), "Planned."),
        "middleware": [TodoListMiddleware()],
    }
    agent = of(package, ":create_deep_agent")(
        model=play(
            call("write_todos", todos=[todo]),
            call("task", description="Plan.", subagent_type="c"),
            "Done.",
        ),
        subagents=[sub],
        middleware=[TodoListMiddleware()],
    )
    result = invoke(agent, {"messages": "Go."})
    return result["todos"], told(result["messages"])


@scene
def tools_of_a_subagent(package: str, _: Path) -> Any:  # noqa: ANN401
    """Those of its parent, unless it has its own: then those instead."""

    @tool
    def ours() -> str:
        """Do it."""
        return "ours"

    @tool
    def own() -> str:
        """Do it, too."""
        return "own"

    one = {"description": ".", "system_prompt": ""}
    subs = [
        {**one, "name": "a", "model": play(call("ours"), call("own"), "A.")},
        {**one, "name": "b", "model": play(call("own"), "B."), "tools": [own]},
    ]
    graphs = of(package, ":create_deep_agent")(
        model=play(
            call("task", description="?", subagent_type="a"),
            call("task", description="?", subagent_type="b"),
            "Done.",
        ),
        tools=[ours],
        subagents=subs,
    )
    return ran(graphs)


@scene
def a_tool_that_raises(package: str, _: Path) -> Any:  # noqa: ANN401
    """What the caller gets, of the agent's tool and of a subagent's."""

    @tool
    def breaks() -> str:
        """Break."""
        msg = "broken"
        raise ZeroDivisionError(msg)

    return tools(package, call("breaks"), tools=[breaks])


@scene
def backends_by_themselves(package: str, folder: Path) -> Any:  # noqa: ANN401
    """The same calls on three backends, outside of any agent."""
    disk = of(package, "backends:FilesystemBackend")(root_dir=folder, virtual_mode=True)
    kept_in = of(package, "backends:StoreBackend")(
        store=InMemoryStore(), namespace=lambda _: ("files",)
    )
    return [_asked(disk, "/d"), _asked(kept_in, "/s")]


@scene
def a_routed_backend(package: str, folder: Path) -> Any:  # noqa: ANN401
    """The same calls on a tree of two backends."""
    disk = of(package, "backends:FilesystemBackend")(root_dir=folder, virtual_mode=True)
    kept_in = of(package, "backends:StoreBackend")(
        store=InMemoryStore(), namespace=lambda _: ("files",)
    )
    both = of(package, "backends:CompositeBackend")(default=disk, routes={"/kept/": kept_in})
    said = [_asked(both, "/kept"), _asked(both, "/e")]
    for root, method in (("/", "grep"), ("/", "glob"), ("/kept", "glob")):
        found = getattr(both, method)("e" if method == "grep" else "**/*.md", root)
        said.append(sorted(match["path"] for match in found.matches or []))
    return _without_routes(said)


def _without_routes(value: Any) -> Any:  # noqa: ANN401
    """Forget how deep a routed path stands: in errors theirs names it without its route."""
    if isinstance(value, str):
        return value.replace("'/kept/", "'/")
    if isinstance(value, dict):
        return {key: _without_routes(each) for key, each in value.items()}
    return [_without_routes(each) for each in value] if isinstance(value, list) else value


def _asked(backend: Any, root: str) -> list[Any]:  # noqa: ANN401
    said = [
        backend.write(f"{root}/a.txt", "one\ntwo\n"),
        backend.write(f"{root}/b/c.md", "three\n"),
        backend.edit(f"{root}/a.txt", "two", "2"),
        backend.edit(f"{root}/a.txt", "nothing", "2"),
        backend.read(f"{root}/a.txt"),
        backend.read(f"{root}/a.txt", offset=1, limit=1),
        backend.read(f"{root}/none.txt"),
        backend.grep("one", root),
        backend.grep("e", root, glob="*.md"),
        backend.glob("**/*.md", root),
        backend.delete(f"{root}/a.txt"),
        backend.delete(f"{root}/a.txt"),
        backend.upload_files([(f"{root}/up.bin", b"\x00\x01")]),
        backend.download_files([f"{root}/up.bin", f"{root}/none.bin"]),
        sorted(entry["path"] for entry in backend.ls(root).entries or []),
    ]
    return [_plain(value) for value in said]


def _plain(value: Any) -> Any:  # noqa: ANN401
    """Write a result as plain values, without the times at which files were changed."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain({f.name: getattr(value, f.name) for f in dataclasses.fields(value)})
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if k not in {"modified_at", "created_at"}}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


@scene
def memory_is_in_the_prompt(package: str, _: Path) -> Any:  # noqa: ANN401
    """All sources that are there, in their order."""
    prompts: list[str] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        prompts.append(messages[0].text)
        return "Done."

    make = of(package, "backends.utils:create_file_data")
    agent = of(package, ":create_deep_agent")(
        model=ScriptedModel(script=script), memory=["/u/AGENTS.md", "/none.md", "/p/AGENTS.md"]
    )
    files = {"/u/AGENTS.md": make("Be brief.\n"), "/p/AGENTS.md": make("Be kind.\n")}
    invoke(agent, {"messages": "Go.", "files": files})
    places = [prompts[0].find(words) for words in ("/u/AGENTS.md", "Be brief.", "Be kind.")]
    return -1 not in places, places[1] < places[2]


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
def odd_texts(package: str, folder: Path) -> Any:  # noqa: ANN401
    """No last line end, other alphabets, more lines than a page."""
    (folder / "many.txt").write_text("".join(f"line {n}\n" for n in range(250)), encoding="utf-8")
    backend = of(package, "backends:FilesystemBackend")(root_dir=folder, virtual_mode=True)
    return tools(
        package,
        call("write_file", file_path="/中文.txt", content="你好"),
        call("read_file", file_path="/中文.txt"),
        call("read_file", file_path="/many.txt"),
        call("read_file", file_path="/many.txt", offset=240),
        call("grep", pattern="line 24", output_mode="count"),
        backend=backend,
    )


@scene
def words_as_mappings(package: str, _: Path) -> Any:  # noqa: ANN401
    """Messages as mappings, with a picture."""
    model, seen = recorded("Done.")
    agent = of(package, ":create_deep_agent")(model=model)
    picture = {
        "type": "image",
        "base64": base64.b64encode(PIXEL).decode(),
        "mime_type": "image/png",
    }
    words = [{"type": "text", "text": "What is this?"}, picture]
    ran(agent, {"messages": [{"role": "user", "content": words}]})
    return seen


@scene
def a_second_run_of_a_thread(package: str, _: Path) -> Any:  # noqa: ANN401
    """With a checkpointer, what was said before is in the next request, and so are the files."""
    model, seen = recorded(
        call("write_file", file_path="/a.txt", content="a\n"), "One.", call("ls", path="/"), "Two."
    )
    agent = of(package, ":create_deep_agent")(model=model, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    invoke(agent, {"messages": "First."}, config)
    result = invoke(agent, {"messages": "Second."}, config)
    return seen, kept(result["files"])


@scene
def line_ends_of_windows(package: str, folder: Path) -> Any:  # noqa: ANN401
    """A file with CRLF is read, found and edited as one without."""
    (folder / "crlf.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    backend = of(package, "backends:FilesystemBackend")(root_dir=folder, virtual_mode=True)
    said = tools(
        package,
        call("read_file", file_path="/crlf.txt"),
        call("edit_file", file_path="/crlf.txt", old_string="one\ntwo", new_string="1\n2"),
        backend=backend,
    )
    return said, (folder / "crlf.txt").read_bytes()


@scene
def what_a_subagent_changed_is_told(package: str, _: Path) -> Any:  # noqa: ANN401
    """Its report, where it wrote a file."""
    sub = {
        "name": "w",
        "description": "W.",
        "system_prompt": "",
        "model": play(call("write_file", file_path="/w.txt", content="w"), "Written."),
    }
    return tools(package, call("task", description="?", subagent_type="w"), subagents=[sub])


@scene
def edits_of_parallel_subagents(package: str, _: Path) -> Any:  # noqa: ANN401
    """Each edits its own file, at the same time."""
    subs = [
        {
            "name": name,
            "description": name,
            "system_prompt": "",
            "model": play(
                call("edit_file", file_path=f"/{name}.txt", old_string="x", new_string=name), "Ok."
            ),
        }
        for name in "abc"
    ]
    calls = [call("task", f"c{n}", description="Edit.", subagent_type=n) for n in "abc"]
    make = of(package, "backends.utils:create_file_data")
    agent = of(package, ":create_deep_agent")(model=play(calls, "Done."), subagents=subs)
    given = {"messages": "Go.", "files": {f"/{name}.txt": make("x\n") for name in "abc"}}
    return kept(invoke(agent, given)["files"])


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
def a_new_checkpointer_is_a_new_thread(package: str, _: Path) -> Any:  # noqa: ANN401
    """Two agents whose threads have the same name know nothing of each other."""
    seen: list[Any] = []
    for words in ("First.", "Second."):
        model, sent = recorded("Done.")
        agent = of(package, ":create_deep_agent")(model=model, checkpointer=InMemorySaver())
        invoke(agent, {"messages": words}, {"configurable": {"thread_id": "t"}})
        seen += sent
    return seen


@scene
def schemas_for_studios(package: str, _: Path) -> Any:  # noqa: ANN401
    """What a server or a studio asks an agent for: the shapes of what goes in and comes out."""
    agent = of(package, ":create_deep_agent")(model=play("Done."))
    given = agent.get_input_jsonschema()["properties"]
    made = agent.get_output_jsonschema()["properties"]
    return {"messages", "files"} <= set(given), {"messages", "files", "structured_response"} <= set(
        made
    )
