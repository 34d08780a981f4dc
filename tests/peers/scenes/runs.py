"""Runs as a whole: their input, their output, their errors."""

import base64
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NotRequired

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.tools import ToolRuntime, tool
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from tests.peers.scenes.stage import (
    PIXEL,
    TREE,
    call,
    invoke,
    kept,
    of,
    play,
    ran,
    recorded,
    scene,
    told,
    tools,
)
from thalweg.testing import ScriptedModel


@scene
def calls_that_cannot_be(package: str, _: Path) -> Any:  # noqa: ANN401
    """Call a tool that there is not, and one with too little."""
    return tools(package, call("no_such_tool", x=1), call("edit_file", file_path="/a"), files=TREE)


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
        """Return the caller's name."""
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
def a_tool_that_raises(package: str, _: Path) -> Any:  # noqa: ANN401
    """What the caller gets, of the agent's tool and of a subagent's."""

    @tool
    def breaks() -> str:
        """Break."""
        msg = "broken"
        raise ZeroDivisionError(msg)

    return tools(package, call("breaks"), tools=[breaks])


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
    """With a checkpointer, earlier messages are in the next request, and so are the files."""
    model, seen = recorded(
        call("write_file", file_path="/a.txt", content="a\n"), "One.", call("ls", path="/"), "Two."
    )
    agent = of(package, ":create_deep_agent")(model=model, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    invoke(agent, {"messages": "First."}, config)
    result = invoke(agent, {"messages": "Second."}, config)
    return seen, kept(result["files"])


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
    """What a server or a studio asks an agent for: the shapes of its input and output."""
    agent = of(package, ":create_deep_agent")(model=play("Done."))
    given = agent.get_input_jsonschema()["properties"]
    made = agent.get_output_jsonschema()["properties"]
    return {"messages", "files"} <= set(given), {"messages", "files", "structured_response"} <= set(
        made
    )


@scene
def who_speaks_in_a_stream(package: str, _: Path) -> Any:  # noqa: ANN401
    """Tags and metadata of the caller, and the names of agent and subagent."""
    inner = create_agent(play("Inner."), name="worker")
    agent = of(package, ":create_deep_agent")(
        model=play(call("task", description="?", subagent_type="worker"), "Outer."),
        name="supervisor",
        subagents=[{"name": "worker", "description": "W.", "runnable": inner}],
    )
    config: Any = {"tags": ["mine"], "metadata": {"request": "r1"}}
    heard = set()
    for _, (message, about) in agent.stream(
        {"messages": "Go."}, config, stream_mode="messages", subgraphs=True
    ):
        if message.type in {"AIMessageChunk", "ai"}:
            names = about.get("lc_agent_name"), about.get("request"), about.get("langgraph_node")
            heard.add((message.text, *names, "mine" in about.get("tags", [])))
    return sorted(map(str, heard))
