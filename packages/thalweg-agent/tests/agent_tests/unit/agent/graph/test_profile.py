"""A profile changes one agent: its prompt, its tools, its middleware, its standard subagent."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool

from thalweg.errors import ConfigError
from thalweg.testing import ScriptedModel
from thalweg_agent import create_deep_agent
from thalweg_agent.middleware import FilesystemMiddleware
from thalweg_agent.middleware.tool_profile import ToolProfileMiddleware
from thalweg_agent.profiles import (
    GeneralPurposeSubagentProfile,
    HarnessProfile,
    HarnessProfileConfig,
)


@tool
def weather(city: str) -> str:
    """Return the weather."""
    return f"Sun in {city}."


def asked(profile: Any, calls: Sequence[AIMessage] = (), **options: Any) -> tuple[Any, list[Any]]:  # noqa: ANN401
    """Run an agent; return its result and what its model was sent."""
    answers = iter(calls)
    sent: list[Sequence[BaseMessage]] = []

    def script(messages: Sequence[BaseMessage]) -> AIMessage:
        sent.append(messages)
        return next(answers, AIMessage("Done."))

    model = ScriptedModel(script=script)
    agent = create_deep_agent(model, [weather], profile=profile, archive=":memory:", **options)
    return agent.invoke({"messages": "Go."}), sent


def call(name: str, **arguments: object) -> AIMessage:
    """Make an answer that calls a tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "c1"}])


def test_the_prompt_has_another_base_and_a_suffix() -> None:
    profile = HarnessProfile(base_system_prompt="BASE", system_prompt_suffix="SUFFIX")

    _, sent = asked(profile, system_prompt="MINE")

    assert sent[0][0].text.startswith("MINE\n\nBASE\n\nSUFFIX")


def test_a_subagent_has_the_suffix_and_not_the_base() -> None:
    profile = HarnessProfile(base_system_prompt="BASE", system_prompt_suffix="SUFFIX")
    task = call("task", description="Look.", subagent_type="general-purpose")

    _, sent = asked(profile, [task, AIMessage("Seen.")])

    first = next(m for m in sent if "Look." in m[-1].text)[0].text
    assert "SUFFIX" in first
    assert "BASE" not in first


@pytest.mark.parametrize("name", ["weather", "write_file", "write_todos", "read_file"])
def test_an_excluded_tool_cannot_be_called(name: str) -> None:
    """This holds for a tool from any source; the others can be called."""
    arguments = {"city": "Rome", "file_path": "/a", "content": "x", "todos": []}

    result, _ = asked({"excluded_tools": [name]}, [call(name, **arguments), call("ls", path="/")])

    refused, listed = [m for m in result["messages"] if isinstance(m, ToolMessage)]
    assert refused.status == "error"
    assert listed.status == "success"
    assert "files" not in result or "/a" not in result["files"]


def test_descriptions_are_replaced_whoever_brought_the_tool() -> None:
    seen: dict[str, str] = {}

    class Look(AgentMiddleware[Any, Any, Any]):
        """The innermost."""

        def wrap_model_call(self, request: Any, handler: Any) -> Any:  # noqa: ANN401
            seen.update({tool.name: tool.description for tool in request.tools})
            return handler(request)

    described = ToolProfileMiddleware(descriptions={"weather": "SUN?", "grep": "FIND!"})
    stack: list[AgentMiddleware[Any, Any, Any]] = [FilesystemMiddleware(), described, Look()]
    model = ScriptedModel(script=lambda _: "Done.")
    agent: Any = create_agent(model, [weather], middleware=stack)
    agent.invoke({"messages": "Go."})

    assert (seen["weather"], seen["grep"]) == ("SUN?", "FIND!")
    assert weather.description == "Return the weather."


def test_the_standard_subagent_can_be_off_or_another() -> None:
    def task_description(profile: GeneralPurposeSubagentProfile) -> str | None:
        agent = create_deep_agent(
            ScriptedModel(script=lambda _: "Done."),
            profile=HarnessProfile(general_purpose_subagent=profile),
            archive=":memory:",
        )
        node: Any = agent.nodes["tools"].bound
        tools = node.tools_by_name
        return tools["task"].description if "task" in tools else None

    assert task_description(GeneralPurposeSubagentProfile(enabled=False)) is None
    another = task_description(GeneralPurposeSubagentProfile(description="For ROSES."))
    assert "For ROSES." in (another or "")


def test_middleware_is_left_out_and_added() -> None:
    class Mine(AgentMiddleware[Any, Any, Any]):
        def before_agent(self, state: Any, runtime: Any) -> dict[str, Any]:  # noqa: ANN401, ARG002
            return {"messages": [("user", "MINE")]}

    profile = HarnessProfile(
        excluded_middleware=frozenset({"TodoListMiddleware"}), extra_middleware=lambda: [Mine()]
    )
    result, _ = asked(profile, [call("write_todos", todos=[])])

    assert "MINE" in [m.text for m in result["messages"]]
    assert "todos" not in result
    (answer,) = (m for m in result["messages"] if isinstance(m, ToolMessage))
    assert answer.status == "error"


@pytest.mark.parametrize("name", ["ContextMiddleware", "SumarizationMiddleware"])
def test_what_is_needed_or_unknown_cannot_be_left_out(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        asked({"excluded_middleware": [name]})


def test_a_config_survives_being_written() -> None:
    config = HarnessProfileConfig(
        system_prompt_suffix="Short.",
        tool_description_overrides={"ls": "List."},
        excluded_tools=frozenset({"grep", "execute"}),
        general_purpose_subagent=GeneralPurposeSubagentProfile(enabled=False),
    )

    assert HarnessProfileConfig.from_dict(config.to_dict()) == config
    profile = config.to_harness_profile()
    assert HarnessProfileConfig.from_harness_profile(profile) == config


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"sufix": "x", "excluded": []}, "profile: Unknown keys: excluded, sufix; use base_system"),
        (
            {"general_purpose_subagent": {"enable": False}},
            "general_purpose_subagent: Unknown keys: enable; use enabled, description",
        ),
    ],
)
def test_unknown_keys_are_all_named_with_those_of_their_place(
    given: dict[str, object], error: str
) -> None:
    with pytest.raises(ConfigError, match=error):
        HarnessProfileConfig.from_dict(given)
