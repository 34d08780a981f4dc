"""What is handed to subagents, and what comes back."""

import dataclasses
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

from langchain.agents.middleware import AgentMiddleware, AgentState, TodoListMiddleware
from langchain.agents.middleware.types import PrivateStateAttr
from langchain.agents.structured_output import ToolStrategy
from langchain.tools import ToolRuntime, tool
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langgraph.graph import MessagesState, StateGraph
from langgraph.types import Command
from pydantic import BaseModel

from tests.peers.scenes.stage import call, invoke, kept, of, play, ran, recorded, scene, told, tools


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
    """Delegate what changes nothing: the report is the last message."""
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
def a_fork_goes_on_with_the_conversation(package: str, _: Path) -> Any:  # noqa: ANN401
    """It sees the earlier messages, and the task last."""
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
    """State that is private is kept by the agent; other state is passed down and comes back."""

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


def _given(answer: dict[str, Any], _: Any) -> dict[str, Any]:  # noqa: ANN401
    return answer


@scene
def subagents_that_are_functions(package: str, _: Path) -> Any:  # noqa: ANN401
    """Words, a mapping, a dataclass, an empty last message; no structured response is kept."""

    @dataclasses.dataclass
    class Found:
        what: str

    answers: list[dict[str, Any]] = [
        {"messages": [AIMessage("Words.")]},
        {"messages": [AIMessage("m")], "structured_response": {"what": "x", "sure": 0.5}},
        {"messages": [AIMessage("m")], "structured_response": Found("a")},
        {"messages": [AIMessage("The answer."), AIMessage("")]},
    ]
    subs = [
        {"name": f"s{k}", "description": "S.", "runnable": RunnableLambda(partial(_given, a))}
        for k, a in enumerate(answers)
    ]
    calls = [call("task", f"c{k}", description="?", subagent_type=f"s{k}") for k in range(4)]
    agent = of(package, ":create_deep_agent")(model=play(calls, "Done."), subagents=subs)
    result = invoke(agent, {"messages": "Go."})
    return told(result["messages"]), "structured_response" in result


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
