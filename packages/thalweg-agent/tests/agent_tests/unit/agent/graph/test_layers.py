"""The order of a deep agent's middleware and of the parts of its system prompt."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import BaseMessage, SystemMessage

from memory_tests.memories import memory_in_memory
from thalweg.context.middleware import ContextMiddleware
from thalweg.context.turn.additions import with_text
from thalweg.testing import ScriptedModel
from thalweg_agent import create_deep_agent
from thalweg_agent.backends.state import StateBackend
from thalweg_agent.graph.build import Recipe, stack, with_general_purpose
from thalweg_agent.graph.layers import LAYERS, USERS, arrange
from thalweg_agent.middleware.filesystem import FilesystemMiddleware
from thalweg_agent.middleware.loops import LoopMiddleware
from thalweg_agent.profiles import HarnessProfile
from thalweg_agent.subagents.retention import Retention
from thalweg_agent.tools.rights import Rights

MODEL = ScriptedModel(script=lambda _: "Done.")
NAMES = [layer.name for layer in LAYERS]


class Mine(AgentMiddleware[Any, Any, Any]):
    """Adds a line to the system prompt."""

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Add the text to the request."""
        return handler(with_text(request, "USERS"))


class MyFiles(FilesystemMiddleware):
    """Takes the place of ours."""

    name = "FilesystemMiddleware"


def recipe(*middleware: AgentMiddleware[Any, Any, Any], **given: Any) -> Recipe:  # noqa: ANN401 (any field)
    """Make one with everything in it."""
    whole: dict[str, Any] = {
        "model": MODEL,
        "tools": (),
        "system_prompt": None,
        "subagents": with_general_purpose((), None),
        "subagent_retention": Retention(days=30),
        "background": [{"name": "far", "description": "Far.", "graph_id": "g"}],
        "skills": ["/skills/"],
        "memory": ["/AGENTS.md"],
        "user_memory": memory_in_memory(),
        "permissions": Rights(),
        "backend": StateBackend(),
        "interrupt_on": {"delete": True},
        "state_schema": None,
        "context": ContextMiddleware(archive=":memory:"),
        "profile": HarnessProfile(excluded_tools=frozenset({"grep"})),
    }
    return Recipe(**{**whole, **given}, middleware=middleware)


def test_the_order_of_the_layers() -> None:
    """It is data, and each has its reason."""
    printed = "\n".join(f"{layer.name}: {layer.why}" for layer in LAYERS)
    print(printed)  # noqa: T201 (to be read: pytest -s)
    assert NAMES == [
        "TodoListMiddleware",
        "MemoryFilesMiddleware",
        "MemoryMiddleware",
        "SkillsMiddleware",
        "FilesystemMiddleware",
        "SubAgentMiddleware",
        "AsyncSubAgentMiddleware",
        "SubagentRetentionMiddleware",
        "RunContextMiddleware",
        "PatchToolCallsMiddleware",
        "LoopMiddleware",
        "AnswerMiddleware",
        USERS,
        "ToolProfileMiddleware",
        "HumanInTheLoopMiddleware",
        "ContextMiddleware",
    ]
    assert all(layer.why for layer in LAYERS)


def test_an_agent_has_every_layer_in_its_place() -> None:
    """With a user's own where it belongs."""
    names = [one.name for one in stack(recipe(Mine()))]
    assert names == [name if name != USERS else "Mine" for name in NAMES]


def test_looks_at_a_background_task_are_no_loop() -> None:
    """Their result is the same as long as the task runs."""
    (loops,) = [one for one in stack(recipe()) if isinstance(one, LoopMiddleware)]
    assert loops.exempt == {"check_async_task", "list_async_tasks"}
    (loops,) = [one for one in stack(recipe(background=())) if isinstance(one, LoopMiddleware)]
    assert not loops.exempt


def test_what_was_not_asked_for_is_not_there() -> None:
    """No memory files, skills, subagents, approvals or profile."""
    options: dict[str, Any] = {"background": (), "interrupt_on": {}, "profile": HarnessProfile()}
    plain = recipe(memory=None, user_memory=None, skills=None, subagents=(), **options)
    assert [one.name for one in stack(plain)] == [
        "TodoListMiddleware",
        "FilesystemMiddleware",
        "RunContextMiddleware",
        "PatchToolCallsMiddleware",
        "LoopMiddleware",
        "AnswerMiddleware",
        "ContextMiddleware",
    ]


def test_a_users_middleware_with_a_name_of_ours_takes_its_place() -> None:
    """It is there once, in the place of ours; others keep their order."""
    mine, files, asking = Mine(), MyFiles(), HumanInTheLoopMiddleware({"task": True})
    made = arrange(stack(recipe()), [mine, asking, files])
    assert [one.name for one in made] == [name if name != USERS else "Mine" for name in NAMES]
    assert made[NAMES.index("FilesystemMiddleware")] is files
    assert made[NAMES.index("HumanInTheLoopMiddleware")] is asking


@pytest.mark.parametrize("own", ["CUSTOM", SystemMessage("CUSTOM")], ids=["text", "message"])
def test_the_parts_of_the_system_prompt_come_in_the_order_of_the_layers(
    own: str | SystemMessage,
) -> None:
    """Custom, base, todos, memory, skills, files, subagents, the user's, approval."""
    seen: list[str] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        seen.append(messages[0].text)
        return "Done."

    agent = create_deep_agent(
        ScriptedModel(script=script),
        system_prompt=own,
        middleware=[Mine()],
        skills=["/skills/"],
        memory=["/AGENTS.md"],
        interrupt_on={"delete": True},
        archive=":memory:",
    )
    skill = "---\nname: sow\ndescription: When to sow.\n---\nIn May."
    files = {
        "/AGENTS.md": {"content": "Water at dusk.", "encoding": "utf-8"},
        "/skills/sow/SKILL.md": {"content": skill, "encoding": "utf-8"},
    }
    agent.invoke({"messages": [("user", "hi")], "files": files})
    marks = [
        "CUSTOM",
        "You work on tasks with tools",
        "write_todos",
        "Water at dusk.",
        "When to sow.",
        "read_file",
        "general-purpose",
        "USERS",
        "A person decides",
    ]
    prompt = seen[0]
    places = [prompt.index(marks[0])]
    for mark in marks[1:]:
        places.append(prompt.index(mark, places[-1]))
    assert places == sorted(places)


def test_marks_for_a_cache_in_a_system_message_stay() -> None:
    """The blocks of the user's own message are sent as they are."""
    block = {"type": "text", "text": "CUSTOM", "cache_control": {"type": "ephemeral"}}
    seen: list[BaseMessage] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        seen.append(messages[0])
        return "Done."

    given = SystemMessage(content=[block])
    agent = create_deep_agent(ScriptedModel(script=script), system_prompt=given)
    agent.invoke({"messages": [("user", "hi")]})
    assert isinstance(seen[0].content, list)
    assert seen[0].content[0] == block
    assert given.content == [block]
