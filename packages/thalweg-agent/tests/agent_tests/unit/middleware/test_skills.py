"""SkillsMiddleware: loaded once, followed, listed within a budget, tools brought into view."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ToolCallRequest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime

from thalweg.engine.tokens import exact_counter
from thalweg.errors import ConfigError
from thalweg.testing import ScriptedModel
from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.backends.protocol import (
    BackendProtocol,
    FileDownloadResponse,
    FileInfo,
    GlobResult,
    LsResult,
)
from thalweg_agent.middleware.skills.middleware import SkillsMiddleware, disclosed_skill_tool_names

THREAD: RunnableConfig = {"configurable": {"thread_id": "t"}}


def write(
    root: Path, name: str, description: str = "Does it", body: str = "How.", extra: str = ""
) -> Path:
    """Write a skill."""
    path = root / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name}\ndescription: {description}\n{extra}---\n\n{body}\n")
    return path


class Watched(FilesystemBackend):
    """A folder that counts what is asked of it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root_dir=root, virtual_mode=True)
        self.asked: list[str] = []
        self.read_paths: list[str] = []
        self.failing = ""

    def ls(self, path: str) -> LsResult:
        """See `BackendProtocol.ls`."""
        self.asked.append("ls")
        if path == self.failing:
            return LsResult(error="Cannot list: timed out")
        return super().ls(path)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """See `BackendProtocol.glob`."""
        self.asked.append("glob")
        return super().glob(pattern, path)

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """See `BackendProtocol.download_files`."""
        self.read_paths += paths
        return super().download_files(paths)


class Dated(BackendProtocol):
    """Files without dates, and no globs."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files
        self.read_paths: list[str] = []

    def ls(self, path: str) -> LsResult:
        """List the folders that hold a file."""
        folders = {file.rpartition("/")[0] for file in self.files}
        inside = sorted(folder for folder in folders if folder.startswith(path))
        return LsResult(entries=[FileInfo(path=f"{one}/", is_dir=True) for one in inside])

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Read files."""
        self.read_paths += paths
        return [
            FileDownloadResponse(path, self.files[path].encode())
            if path in self.files
            else FileDownloadResponse(path, error="file_not_found")
            for path in paths
        ]


def loaded(middleware: SkillsMiddleware, state: dict[str, Any] | None = None) -> dict[str, Any]:
    """Begin a run, and return the state that the model call sees."""
    before: Any = {"messages": [], **(state or {})}
    return {**before, **(middleware.before_agent(before, Runtime()) or {})}


def names(state: dict[str, Any]) -> list[str]:
    """Name the skills of a state."""
    return [one["name"] for one in state["skills_metadata"]]


@pytest.fixture
def backend(tmp_path: Path) -> Watched:
    """Make a folder of skills."""
    write(tmp_path / "base", "pdf", "Base PDF")
    write(tmp_path / "base", "csv", "Tables")
    write(tmp_path / "team", "pdf", "Team PDF")
    return Watched(tmp_path)


def test_later_sources_win_by_name(backend: Watched) -> None:
    """The place in the list is where the name came first."""
    state = loaded(SkillsMiddleware(backend=backend, sources=["/base/", ("/team", "Our")]))

    assert [(s["name"], s["description"]) for s in state["skills_metadata"]] == [
        ("csv", "Tables"),
        ("pdf", "Team PDF"),
    ]
    assert state["skills_metadata"][1]["path"] == "/team/pdf/SKILL.md"
    assert state["skills_load_errors"] == []


def test_nothing_is_read_again_when_nothing_changed(backend: Watched) -> None:
    """A later run lists each source once, and asks for dates once."""
    middleware = SkillsMiddleware(backend=backend, sources=["/base/", "/team/"])
    state = loaded(middleware)
    backend.asked.clear()
    backend.read_paths.clear()

    assert middleware.before_agent({"messages": [], **state}, Runtime()) is None
    assert backend.asked == ["ls", "glob", "ls", "glob"]
    assert backend.read_paths == []


def test_only_what_changed_is_read_again(backend: Watched, tmp_path: Path) -> None:
    """An edit, a new skill and a removed one are changes."""
    middleware = SkillsMiddleware(backend=backend, sources=["/base/"])
    state = loaded(middleware)
    backend.read_paths.clear()
    write(tmp_path / "base", "deploy", "Ship it")
    changed = write(tmp_path / "base", "csv", "Other tables")
    os.utime(changed, (1, 1))

    after = loaded(middleware, state)

    assert sorted(backend.read_paths) == ["/base/csv/SKILL.md", "/base/deploy/SKILL.md"]
    assert [s["description"] for s in after["skills_metadata"]] == [
        "Other tables",
        "Ship it",
        "Base PDF",
    ]
    (tmp_path / "base" / "pdf" / "SKILL.md").unlink()
    assert names(loaded(middleware, after)) == ["csv", "deploy"]


def test_a_skill_that_was_hidden_by_name_comes_back(backend: Watched, tmp_path: Path) -> None:
    """It comes back when the one that won is removed."""
    middleware = SkillsMiddleware(backend=backend, sources=["/base/", "/team/"])
    state = loaded(middleware)
    (tmp_path / "team" / "pdf" / "SKILL.md").unlink()

    after = loaded(middleware, state)

    assert {s["name"]: s["description"] for s in after["skills_metadata"]}["pdf"] == "Base PDF"


def test_a_thread_keeps_its_skills_where_nobody_knows_dates() -> None:
    """Reading all of them with every run would cost more than it brings."""
    backend = Dated({"/s/a/SKILL.md": "---\nname: a\ndescription: one\n---\n"})
    middleware = SkillsMiddleware(backend=backend, sources=["/s"])
    state = loaded(middleware)
    backend.files["/s/a/SKILL.md"] = "---\nname: a\ndescription: two\n---\n"

    assert middleware.before_agent({"messages": [], **state}, Runtime()) is None
    reloaded = loaded(middleware, {**state, "skills_metadata": None})
    assert reloaded["skills_metadata"][0]["description"] == "two"


def test_skills_that_somebody_else_put_into_the_state_stay() -> None:
    """Also none at all."""
    middleware = SkillsMiddleware(backend=Dated({}), sources=["/s"])

    assert middleware.before_agent({"messages": [], "skills_metadata": []}, Runtime()) is None


def test_a_source_that_fails_later_keeps_what_it_had(backend: Watched) -> None:
    """A folder that cannot be listed for a moment is no reason to forget its skills."""
    middleware = SkillsMiddleware(backend=backend, sources=["/base", "/team"])
    state = loaded(middleware)
    backend.failing = "/team"

    after = loaded(middleware, state)

    assert after["skills_metadata"] == state["skills_metadata"]


def test_a_broken_skill_is_skipped_and_said_to_be(tmp_path: Path) -> None:
    """In the log for people, in the prompt for the model; the others load."""
    write(tmp_path / "s", "good")
    (tmp_path / "s" / "broken").mkdir()
    (tmp_path / "s" / "broken" / "SKILL.md").write_bytes(b"---\nname: \xff\n---\n")
    (tmp_path / "s" / "no-skill").mkdir()

    state = loaded(SkillsMiddleware(backend=Watched(tmp_path), sources=["/s"]))

    assert names(state) == ["good"]
    assert len(state["skills_load_errors"]) == 1
    assert "/s/broken/SKILL.md" in state["skills_load_errors"][0]
    assert "UTF-8" in state["skills_load_errors"][0]


def test_both_ways_to_run_find_the_same(backend: Watched) -> None:
    """One flow, driven twice."""
    middleware = SkillsMiddleware(backend=backend, sources=["/base/", "/team/"])
    state: Any = {"messages": []}

    async def awaited() -> object:
        return await middleware.abefore_agent(state, Runtime())

    assert anyio.run(awaited) == middleware.before_agent(state, Runtime())


def test_arguments_that_cannot_be_used_are_refused_at_once() -> None:
    """With what to do."""
    given = Dated({})
    with pytest.raises(TypeError, match="must be str or None"):
        SkillsMiddleware(backend=given, sources=[], system_prompt=0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="missing required format slot"):
        SkillsMiddleware(backend=given, sources=[], system_prompt="{skills_list}")
    slots = "{skills_locations} {skills_load_warnings} {skills_list}"
    with pytest.raises(ValueError, match=r"other braces.*write {{ and }}"):
        SkillsMiddleware(backend=given, sources=[], system_prompt=slots + ' as {"a": 1}')
    for other in ("{skills_list.x}", "{skills_list[a]}"):
        with pytest.raises(ValueError, match="other braces"):
            SkillsMiddleware(backend=given, sources=[], system_prompt=slots + other)
    with pytest.raises(TypeError, match=r"expected str or \(str, str\) tuple"):
        SkillsMiddleware(backend=given, sources=[("/a", "b", "c")])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="duplicate tool name"):
        SkillsMiddleware(backend=given, sources=[], tools=[greet, greet])
    with pytest.raises(TypeError, match="list of tools or a resolver"):
        SkillsMiddleware(backend=given, sources=[], tools=greet)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="provider-native"):
        SkillsMiddleware(backend=given, sources=[], tools=[{"name": "x"}])  # type: ignore[list-item]
    with pytest.raises(ConfigError, match="pass 100 or more"):
        SkillsMiddleware(backend=given, sources=[], budget=99)


class Talk:
    """An agent with skills, and what its model was sent."""

    def __init__(
        self, middleware: Sequence[AgentMiddleware[Any, Any, Any]], *turns: AIMessage
    ) -> None:
        self.sent: list[list[BaseMessage]] = []
        self.tools: list[list[str]] = []
        left = list(turns)

        def script(messages: Sequence[BaseMessage]) -> AIMessage | str:
            self.sent.append(list(messages))
            return left.pop(0) if left else "done"

        talk = self

        class Model(ScriptedModel):
            def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:  # noqa: ANN401
                talk.tools.append([one.name for one in tools])
                return super().bind_tools(tools, **kwargs)

        self.agent = create_agent(
            Model(script=script), [read_file], middleware=middleware, checkpointer=InMemorySaver()
        )

    def say(self, text: str, **more: object) -> dict[str, Any]:
        """Send a message, and wait for the answer."""
        given: Any = {"messages": [HumanMessage(text)], **more}
        return dict(self.agent.invoke(given, THREAD))

    @property
    def state(self) -> dict[str, Any]:
        """What the thread keeps."""
        return dict(self.agent.get_state(THREAD).values)

    @property
    def system(self) -> list[str]:
        """The system prompts that were sent."""
        return [str(messages[0].text) for messages in self.sent]


@tool
def read_file(file_path: str) -> str:
    """Read a file."""
    return f"text of {file_path}"


@tool
def greet(name: str = "you") -> str:
    """Greet a person."""
    return f"hello {name}"


def reads(path: str, call_id: str = "r1") -> AIMessage:
    """Read a file."""
    return AIMessage(
        "", tool_calls=[{"name": "read_file", "args": {"file_path": path}, "id": call_id}]
    )


def greets(call_id: str) -> AIMessage:
    """Call a tool that a skill brings in."""
    return AIMessage("", tool_calls=[{"name": "greet", "args": {}, "id": call_id}])


def test_few_skills_are_all_described_and_need_no_tool_to_be_found(backend: Watched) -> None:
    """The list follows the agent's own prompt."""
    talk = Talk([SkillsMiddleware(backend=backend, sources=["/base"])])
    result = talk.say("Hi")

    assert "## Skills System" in talk.system[0]
    assert (
        "- **pdf**: Base PDF\n  -> Read `/base/pdf/SKILL.md` for full instructions"
        in talk.system[0]
    )
    assert talk.tools == [["read_file"]]
    assert set(result) == {"messages"}


def test_with_hundreds_of_skills_those_of_the_request_are_described(tmp_path: Path) -> None:
    """The text is the same for the whole thread; the others are found by a tool."""
    for n in range(300):
        write(
            tmp_path / "s",
            f"skill-{n:03}",
            f"Does number {n} for whoever asks for it in so many words",
        )
    write(tmp_path / "s", "weekly", "撰写每周报告")
    write(tmp_path / "s", "the-invoices", "Check invoices against orders")
    asks = AIMessage(
        "",
        tool_calls=[{"name": "find_skills", "args": {"query": "an invoice", "of": 1}, "id": "f"}],
    )
    talk = Talk([SkillsMiddleware(backend=Watched(tmp_path), sources=["/s"])], asks)
    result = talk.say("请写这周的报告")
    talk.say("Now check this invoice")

    assert "撰写每周报告" in talk.system[0]
    assert "Check invoices" not in talk.system[0]
    assert "more skills are not described here" in talk.system[0]
    assert len(set(talk.system)) == 1
    assert exact_counter()(talk.system[0]) < 2_300
    assert sorted(talk.tools[0]) == ["find_skills", "read_file"]
    found = next(m for m in result["messages"] if isinstance(m, ToolMessage))
    assert str(found.content).startswith("- **the-invoices**: Check invoices against orders")


def test_a_tool_that_finds_nothing_says_what_to_do(tmp_path: Path) -> None:
    """Empty answers lead nowhere."""
    for n in range(200):
        write(
            tmp_path / "s", f"skill-{n:03}", "A thing that is described in quite a few words here"
        )
    asks = AIMessage(
        "", tool_calls=[{"name": "find_skills", "args": {"query": "zebra"}, "id": "f"}]
    )
    result = Talk([SkillsMiddleware(backend=Watched(tmp_path), sources=["/s"])], asks).say("Hi")

    assert "None of the 200 skills has a word of 'zebra'" in str(result["messages"][2].content)


@pytest.mark.parametrize("query", [None, 5])
def test_a_query_that_is_no_text_finds_nothing(tmp_path: Path, query: object) -> None:
    """The schema is a dictionary, which validates no call."""
    for n in range(200):
        write(
            tmp_path / "s", f"skill-{n:03}", "A thing that is described in quite a few words here"
        )
    asks = AIMessage("", tool_calls=[{"name": "find_skills", "args": {"query": query}, "id": "f"}])
    result = Talk([SkillsMiddleware(backend=Watched(tmp_path), sources=["/s"])], asks).say("Hi")

    assert "None of the 200 skills" in str(result["messages"][2].content)


def test_what_was_described_stays_when_the_skills_change(tmp_path: Path) -> None:
    """The prompt is written again then anyway: what the new request is about comes in, too."""
    for n in range(120):
        write(
            tmp_path / "s",
            f"skill-{n:03}",
            f"Does number {n} in so many words, and then a few more of them",
        )
    write(tmp_path / "s", "invoices", "Check invoices against orders")
    write(tmp_path / "s", "zebras", "Feed zebras")
    talk = Talk([SkillsMiddleware(backend=Watched(tmp_path), sources=["/s"], budget=300)])
    talk.say("Check this invoice")
    write(tmp_path / "s", "new", "Something else")
    talk.say("Feed the zebras")

    assert "Check invoices" in talk.system[0]
    assert "Feed zebras" not in talk.system[0]
    assert "Check invoices" in talk.system[1]
    assert "Feed zebras" in talk.system[1]


def test_nothing_changes_inside_a_run(backend: Watched, tmp_path: Path) -> None:
    """The prefix of a tool loop holds."""

    @tool
    def add_skill() -> str:
        """Add a skill."""
        write(tmp_path / "base", "late", "Late")
        return "added"

    adds = AIMessage("", tool_calls=[{"name": "read_file", "args": {"file_path": "x"}, "id": "a"}])

    class Adds(AgentMiddleware[Any, Any, Any]):
        def wrap_tool_call(self, request: ToolCallRequest, handler: Any) -> Any:  # noqa: ANN401
            add_skill.invoke({})
            return handler(request)

    talk = Talk([Adds(), SkillsMiddleware(backend=backend, sources=["/base"])], adds)
    talk.say("Hi")
    talk.say("And now?")

    assert talk.system[0] == talk.system[1]
    assert "late" not in talk.system[1]
    assert "late" in talk.system[2]


def test_a_prompt_of_nobody_adds_nothing(backend: Watched) -> None:
    """The skills are in the state all the same."""
    talk = Talk([SkillsMiddleware(backend=backend, sources=["/base"], system_prompt=None)])
    talk.say("Hi")

    assert talk.sent[0][0].type == "human"
    assert names(talk.state) == ["csv", "pdf"]


def test_pinned_skills_come_behind_the_request_and_only_once(tmp_path: Path) -> None:
    """As messages of the harness, without their front matter; unknown names are passed over."""
    write(tmp_path / "s", "crm", body="File it.\n</skill>\nand more")
    talk = Talk([SkillsMiddleware(backend=Watched(tmp_path), sources=["/s"])])
    result = talk.say("Go", pinned_skills=["crm", "none", "crm"])
    talk.say("Again")

    pinned = talk.sent[0][2]
    assert (
        pinned.content
        == '<skill name="crm" path="/s/crm/SKILL.md">\nFile it.\n<\\/skill>\nand more\n</skill>'
    )
    assert pinned.additional_kwargs["lc_source"] == "pinned_skill"
    assert [m.type for m in talk.sent[1]] == ["system", "human", "human", "ai", "human"]
    assert "pinned_skills" not in result
    assert talk.state["pinned_skills"] == []


def granting(tmp_path: Path, include: str = "greet", **more: Any) -> SkillsMiddleware:  # noqa: ANN401
    """Make a skill that names tools, and the middleware that has them."""
    write(
        tmp_path / "s",
        "crm",
        extra=f"allowed-tools: rm_everything\nmetadata:\n  include_tools: {include}\n",
    )
    return SkillsMiddleware(backend=Watched(tmp_path), sources=["/s"], **{"tools": [greet], **more})


def test_a_tool_shows_only_once_its_skill_was_read(tmp_path: Path) -> None:
    """It remains for the thread, regardless of what is removed from the state."""
    talk = Talk([granting(tmp_path)], greets("c0"), reads("/s/crm/SKILL.md"), greets("c1"))
    result = talk.say("Hi")
    answers = {m.tool_call_id: m for m in result["messages"] if isinstance(m, ToolMessage)}

    assert talk.tools == [
        ["read_file"],
        ["read_file"],
        ["read_file", "greet"],
        ["read_file", "greet"],
    ]
    assert answers["c0"].status == "error"
    assert answers["c1"].content == "hello you"
    assert disclosed_skill_tool_names(talk.state) == {"greet"}
    talk.agent.update_state(THREAD, {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES)]})
    talk.say("And on")
    assert talk.tools[-1] == ["read_file", "greet"]


def test_a_skill_never_brings_in_what_was_not_granted(tmp_path: Path) -> None:
    """Neither by `include_tools` nor by `allowed-tools`."""
    calls = AIMessage("", tool_calls=[{"name": "rm_everything", "args": {}, "id": "c1"}])
    talk = Talk([granting(tmp_path, "rm_everything")], reads("/s/crm/SKILL.md"), calls)
    result = talk.say("Hi")

    assert talk.tools == [["read_file"]] * 3
    assert result["messages"][-2].status == "error"
    assert talk.state["_skill_tools_disclosed"] == {}


def test_a_read_that_failed_brings_nothing_in(tmp_path: Path) -> None:
    """Nor does another file of the skill."""

    @tool("read_file")
    def refuses(file_path: str) -> str:
        """Read a file."""
        raise ValueError(file_path)

    class Fails(AgentMiddleware[Any, Any, Any]):
        def wrap_tool_call(self, request: ToolCallRequest, handler: Any) -> Any:  # noqa: ANN401
            del handler
            return ToolMessage("no", tool_call_id=request.tool_call["id"], status="error")

    talk = Talk([Fails(), granting(tmp_path)], reads("/s/crm/SKILL.md"))
    talk.say("Hi")
    other = Talk([granting(tmp_path)], reads("/s/crm/notes.md"))
    other.say("Hi")

    assert talk.tools[-1] == other.tools[-1] == ["read_file"]
    assert refuses.name == "read_file"


def test_a_resolver_gives_tools_by_any_name(tmp_path: Path) -> None:
    """One name may mean several; the resolver is called again before one of them runs."""
    asked: list[str] = []

    def resolve(name: str, runtime: Runtime[Any]) -> list[BaseTool]:
        assert isinstance(runtime, Runtime)
        asked.append(name)
        return [greet] if name == "greeting" else []

    talk = Talk(
        [granting(tmp_path, "greeting", tools=resolve)], reads("/s/crm/SKILL.md"), greets("c1")
    )
    result = talk.say("Hi")

    assert result["messages"][-2].content == "hello you"
    assert asked == ["greeting"] * 3


def test_a_resolver_that_is_awaited_needs_an_agent_that_is(tmp_path: Path) -> None:
    """An error is raised at once instead of returning a coroutine that is never awaited."""

    async def resolve(name: str, runtime: Runtime[Any]) -> list[BaseTool]:
        del name, runtime
        await anyio.lowlevel.checkpoint()
        return [greet]

    talk = Talk([granting(tmp_path, tools=resolve)], reads("/s/crm/SKILL.md"))
    with pytest.raises(TypeError, match="needs the agent's async entry point"):
        talk.say("Hi")

    awaited = Talk([granting(tmp_path, tools=resolve)], reads("/s/crm/SKILL.md"), greets("c1"))
    given: Any = {"messages": [HumanMessage("Hi")]}
    result = anyio.run(awaited.agent.ainvoke, given, THREAD)
    assert result["messages"][-2].content == "hello you"


def test_making_the_middleware_asks_nothing_and_reads_nothing(backend: Watched) -> None:
    """An agent is made often."""
    SkillsMiddleware(backend=backend, sources=["/base"])

    assert backend.asked == backend.read_paths == []
