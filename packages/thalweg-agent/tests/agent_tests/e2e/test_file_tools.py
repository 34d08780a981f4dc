"""Agents with file tools, in real graphs."""

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from agent_tests.unit.agent.tools.calls import WAYS, Way
from thalweg.testing import ScriptedModel
from thalweg_agent import create_deep_agent
from thalweg_agent.backends.composite import CompositeBackend
from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.backends.local_shell import LocalShellBackend
from thalweg_agent.backends.protocol import BackendProtocol
from thalweg_agent.backends.state import StateBackend
from thalweg_agent.backends.store import StoreBackend
from thalweg_agent.middleware.filesystem import FilesystemMiddleware, FilesystemPermission
from thalweg_agent.middleware.permissions import interrupts

Turn = Sequence[tuple[str, dict[str, Any]]]

BACKENDS: dict[str, Callable[[Path], BackendProtocol]] = {
    "state": lambda _: StateBackend(),
    "disk": lambda path: FilesystemBackend(path, virtual_mode=True),
    "shell": lambda path: LocalShellBackend(path, virtual_mode=True),
    "store": lambda _: StoreBackend(namespace=lambda _: ("files",)),
    "composite": lambda path: CompositeBackend(
        default=StateBackend(),
        routes={"/disk/": FilesystemBackend(path, virtual_mode=True)},
    ),
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    """Run an agent the blocking and the awaited way."""
    found: Way = request.param
    return found


def scripted(*turns: Turn) -> ScriptedModel:
    """Call tools turn by turn, then rest."""

    def script(messages: Sequence[BaseMessage]) -> AIMessage | str:
        done = sum(isinstance(message, AIMessage) for message in messages)
        if done >= len(turns):
            return "done"
        calls = [
            {"name": name, "args": args, "id": f"{done}-{n}"}
            for n, (name, args) in enumerate(turns[done])
        ]
        return AIMessage("", tool_calls=calls)

    return ScriptedModel(script=script)


def driven(agent: Any, asked: Any, way: Way, **config: str) -> dict[str, Any]:  # noqa: ANN401
    """Run an agent."""
    given = {"configurable": {"thread_id": "t", **config}}
    result = (
        agent.invoke(asked, given) if way == "invoke" else asyncio.run(agent.ainvoke(asked, given))
    )
    assert isinstance(result, dict)
    return result


def answers(result: dict[str, Any]) -> list[str]:
    """Take what the tools answered."""
    return [str(m.content) for m in result["messages"] if isinstance(m, ToolMessage)]


ASKED = {"messages": [("user", "go")]}


@pytest.mark.parametrize("kind", BACKENDS)
def test_an_agent_works_on_files_wherever_they_are(kind: str, tmp_path: Path, way: Way) -> None:
    """The same calls get the same answers."""
    model = scripted(
        [("write_file", {"file_path": "/a/one.txt", "content": "one\ntwo\n"})],
        [("edit_file", {"file_path": "/a/one.txt", "old_string": "two", "new_string": "2"})],
        [
            ("read_file", {"file_path": "/a/one.txt"}),
            ("ls", {"path": "/a"}),
            ("glob", {"pattern": "*.txt"}),
            ("grep", {"pattern": "2", "output_mode": "content"}),
        ],
        [("delete", {"file_path": "/a"})],
        [("read_file", {"file_path": "/a/one.txt"})],
    )
    middleware = FilesystemMiddleware(backend=BACKENDS[kind](tmp_path))
    agent = create_agent(model, middleware=[middleware], store=InMemoryStore())

    told = answers(driven(agent, ASKED, way))

    assert told[:2] == [
        "Updated file /a/one.txt",
        "Successfully replaced 1 instance(s) of the string in '/a/one.txt'",
    ]
    assert told[2:6] == [
        "@@ lines 1-2 of 2 @@\none\n2",
        "['/a/one.txt']",
        "['/a/one.txt']",
        "/a/one.txt:\n  2: 2",
    ]
    assert told[6] == "Deleted /a"
    assert told[7].startswith("Error: ")


@pytest.mark.parametrize("kind", ["state", "disk", "composite"])
def test_edits_of_one_file_in_one_answer_all_arrive(kind: str, tmp_path: Path, way: Way) -> None:
    """Each edit applies to the result of the others, in any order of execution."""
    names = [f"w{n:02}" for n in range(12)]
    model = scripted(
        [("write_file", {"file_path": "/f", "content": " ".join(names)})],
        [
            ("edit_file", {"file_path": "/f", "old_string": name, "new_string": name.upper()})
            for name in names
        ],
        [("read_file", {"file_path": "/f"})],
    )
    agent = create_agent(model, middleware=[FilesystemMiddleware(backend=BACKENDS[kind](tmp_path))])

    told = answers(driven(agent, ASKED, way))

    assert told[-1] == f"@@ lines 1-1 of 1 @@\n{' '.join(names).upper()}"


def test_files_in_the_state_are_there_in_the_next_run(way: Way) -> None:
    """In the same thread, a caller can pass files and sees their later content."""
    model = scripted([("edit_file", {"file_path": "/a", "old_string": "1", "new_string": "2"})])
    agent = create_agent(model, middleware=[FilesystemMiddleware()], checkpointer=InMemorySaver())
    given = {"/a": {"content": "1", "encoding": "utf-8"}}

    first = driven(agent, {**ASKED, "files": given}, way)
    second = driven(agent, ASKED, way)

    assert first["files"]["/a"]["content"] == second["files"]["/a"]["content"] == "2"
    assert driven(agent, ASKED, way, thread_id="other").get("files", {}) == {}


def test_the_model_is_told_of_what_it_can_use(tmp_path: Path) -> None:
    """The tools of the request, and the system prompt."""
    seen: list[Any] = []

    class Listening(ScriptedModel):
        def bind_tools(self, tools: Any, **more: Any) -> Any:  # noqa: ANN401
            seen.append({t.name for t in tools})
            return super().bind_tools(tools, **more)

    def script(messages: Sequence[BaseMessage]) -> str:
        seen.append(str(messages[0].text))
        return "fine"

    backend = FilesystemBackend(tmp_path, virtual_mode=True)
    agent = create_agent(
        Listening(script=script),
        system_prompt="Be brief.",
        middleware=[FilesystemMiddleware(backend=backend)],
    )

    driven(agent, ASKED, "invoke")

    tools, told = seen
    assert tools == {"ls", "read_file", "write_file", "edit_file", "delete", "glob", "grep"}
    assert told.startswith("Be brief.\n\n## Files\n")


@pytest.mark.parametrize("has_shell", [False, True])
def test_the_system_prompt_documents_the_file_tools_and_execute(
    tmp_path: Path, *, has_shell: bool
) -> None:
    """A line for each tool that the model has, in a deep agent; a user's description, too."""
    prompts: list[str] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        prompts.append(messages[0].text)
        return "fine"

    backend = LocalShellBackend(root_dir=tmp_path, virtual_mode=True) if has_shell else None
    profile: Any = {"tool_description_overrides": {"glob": "Finds paths. \n\nMore."}}
    agent = create_deep_agent(
        ScriptedModel(script=script), backend=backend, archive=":memory:", profile=profile
    )
    agent.invoke({"messages": [("user", "hi")]})

    lines = dict(re.findall(r"^- `(\w+)`: (.+)$", prompts[0], re.MULTILINE))
    names = ["ls", "read_file", "write_file", "edit_file", "delete", "glob", "grep"]
    assert [*lines] == [*names, "execute"] if has_shell else names
    assert lines["glob"] == "Finds paths."
    assert lines["ls"].startswith("Lists what is in a folder")


def test_a_long_result_of_a_users_tool_is_filed_and_read(way: Way) -> None:
    """In the agent's own files."""

    @tool
    def search(query: str) -> str:
        """Search."""
        return "\n".join(f"{query} {n}" for n in range(400))

    model = scripted(
        [("search", {"query": "hit"})],
        [("read_file", {"file_path": "/large_tool_results/0-0", "offset": 200, "limit": 1})],
    )
    middleware = FilesystemMiddleware(tool_token_limit_before_evict=300)
    agent = create_agent(model, tools=[search], middleware=[middleware])

    result = driven(agent, ASKED, way)

    filed, read = answers(result)
    assert "saved to this file: /large_tool_results/0-0\n" in filed
    assert read == "@@ lines 201-201 of 400 | next offset 201 @@\nhit 200"
    assert result["files"]["/large_tool_results/0-0"]["content"].endswith("hit 399")


def test_the_reference_to_a_long_result_has_the_lines_that_were_chosen() -> None:
    """Here its first ten, and none of its end."""

    @tool
    def search(query: str) -> str:
        """Search."""
        return "\n".join(f"{query} {n}" for n in range(400))

    middleware = FilesystemMiddleware(tool_token_limit_before_evict=300, preview_lines=(10, 0))
    model = scripted([("search", {"query": "hit"})])
    result = driven(create_agent(model, tools=[search], middleware=[middleware]), ASKED, "invoke")

    (filed,) = answers(result)
    assert re.findall(r"hit (\d+)", filed) == [str(n) for n in range(10)]


def test_a_call_waits_for_a_human_when_a_rule_says_so(tmp_path: Path, way: Way) -> None:
    """It resumes as the human decides; other calls do not wait."""
    rules = [FilesystemPermission(["write"], ["/prod/**"], "interrupt")]
    backend = FilesystemBackend(tmp_path, virtual_mode=True)
    model = scripted(
        [("write_file", {"file_path": "/dev/a", "content": "x"})],
        [("write_file", {"file_path": "/prod/a", "content": "x"})],
    )
    middleware: list[Any] = [
        FilesystemMiddleware(backend=backend, permissions=rules),
        HumanInTheLoopMiddleware(interrupt_on=dict(interrupts(rules, backend))),
    ]
    agent = create_agent(model, middleware=middleware, checkpointer=InMemorySaver())

    waiting = driven(agent, ASKED, way)
    there = (tmp_path / "dev/a").exists(), (tmp_path / "prod/a").exists()
    decided = {"decisions": [{"type": "approve"}]}
    driven(agent, Command(resume=decided), way)

    assert "__interrupt__" in waiting
    assert there == (True, False)
    assert (tmp_path / "prod/a").read_text() == "x"


def test_a_model_that_makes_up_arguments_is_told(way: Way) -> None:
    """What is missing is an error; what is too much is passed over."""
    model = scripted(
        [("read_file", {"path": "/a"})],
        [("write_file", {"file_path": "/a", "content": "x", "mode": "w"})],
    )
    agent = create_agent(model, middleware=[FilesystemMiddleware()])

    wrong, written = answers(driven(agent, ASKED, way))

    assert "file_path" in wrong
    assert "Field required" in wrong
    assert written == "Updated file /a"
