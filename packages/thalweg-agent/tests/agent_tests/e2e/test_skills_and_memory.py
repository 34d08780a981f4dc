"""Skills and memory files in whole agents: real files, small windows, several folds."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph

from thalweg.archive import Archive, ThreadKey, open_archive
from thalweg.archive.threads.thread_history import history
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine import ContextPolicy
from thalweg.engine.window.items import check
from thalweg.engine.wires.langchain import LangChainWire
from thalweg.testing import ScriptedModel
from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.backends.state import StateBackend
from thalweg_agent.middleware.filesystem import FilesystemMiddleware
from thalweg_agent.middleware.memory import MemoryFilesMiddleware
from thalweg_agent.middleware.skills.middleware import SkillsMiddleware

THREAD: RunnableConfig = {"configurable": {"thread_id": "t"}}
RULE = "Always flatten the form before you send it."
PATH = "/skills/pdf/SKILL.md"
BODY = f"# PDF\n\n{RULE}\n" + "".join(f"{n}. Check field {n}.\n" for n in range(150))


@tool
def build(step: int) -> str:
    """Build a part."""
    return f"step {step} of the build went well. " * 160


@pytest.fixture
def archive() -> Iterator[Archive]:
    """Keep threads in memory."""
    with open_archive(":memory:") as opened:
        yield opened


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a folder with a skill and a file of notes."""
    skill = tmp_path / "skills" / "pdf" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(f"---\nname: pdf\ndescription: Fill in PDF forms\n---\n{BODY}")
    (tmp_path / "AGENTS.md").write_text("Be brief.\n")
    return tmp_path


class Talk:
    """An agent as people put it together, and every request its model was sent."""

    def __init__(
        self, root: Path, archive: Archive, window: int, turns: Sequence[AIMessage]
    ) -> None:
        self.sent: list[list[BaseMessage]] = []
        left = list(turns)

        def script(messages: Sequence[BaseMessage]) -> AIMessage | str:
            self.sent.append(list(messages))
            read, _ = LangChainWire().read(messages)
            assert check(read) == ()
            return left.pop(0) if left else "done"

        backend = FilesystemBackend(root_dir=root, virtual_mode=True)
        policy = ContextPolicy(window=window, summarize=False)
        middleware: list[AgentMiddleware[Any, Any, Any]] = [
            MemoryFilesMiddleware(backend=backend, sources=["/AGENTS.md"]),
            SkillsMiddleware(backend=backend, sources=["/skills"]),
            FilesystemMiddleware(backend=backend),
            ContextMiddleware(policy, archive=archive),
        ]
        self.agent: CompiledStateGraph[Any, Any, Any, Any] = create_agent(
            ScriptedModel(script=script),
            [build],
            middleware=middleware,
            checkpointer=InMemorySaver(),
        )

    def say(self, text: str, **more: object) -> None:
        """Send a message, and wait for the answer."""
        given: Any = {"messages": [HumanMessage(text)], **more}
        self.agent.invoke(given, THREAD)

    def text(self, request: int = -1) -> str:
        """Return the text of one request after its system prompt."""
        return "\n".join(str(m.text) for m in self.sent[request][1:])


def calls(name: str, call_id: str, **arguments: object) -> AIMessage:
    """Call a tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": call_id}])


def builds(number: int, first: int = 0) -> list[AIMessage]:
    """Build part after part."""
    return [calls("build", f"b{n}", step=n) for n in range(first, first + number)]


READS = calls("read_file", "r1", file_path=PATH, limit=1000)


@pytest.mark.slow
def test_a_skill_that_was_read_is_in_the_request_after_several_folds(
    root: Path, archive: Archive
) -> None:
    """Word for word, to its last line."""
    talk = Talk(root, archive, 20_000, [READS, *builds(120)])
    talk.say("Fill in the form, then build everything")

    records = [text for n in range(len(talk.sent)) if "<thread-record>" in (text := talk.text(n))]
    assert len({text.partition("</thread-record>")[0] for text in records}) >= 3
    assert all(
        RULE in talk.text(n) and "149. Check field 149." in talk.text(n)
        for n in range(1, len(talk.sent))
    )
    assert "not shown any more" not in talk.text()


def test_it_is_still_there_in_the_runs_that_follow(root: Path, archive: Archive) -> None:
    """Its messages were removed from the state long ago."""
    talk = Talk(root, archive, 20_000, [READS, *builds(20), AIMessage("built"), *builds(20, 50)])
    talk.say("Fill in the form, then build everything")
    talk.say("Now build the rest")

    assert RULE in talk.text()
    assert len(history(archive, ThreadKey("local", "t"))) > 70


def test_a_skill_too_large_to_stay_is_named_and_can_be_read_again(
    root: Path, archive: Archive
) -> None:
    """The way named in the record works."""
    talk = Talk(
        root,
        archive,
        9_000,
        [READS, *builds(15), calls("read_file", "r2", file_path=PATH, limit=1000)],
    )
    talk.say("Fill in the form, then build everything")

    before, after = talk.text(-2), talk.text(-1)
    assert RULE not in before
    assert (
        "skill pdf: not shown any more; before you rely on it, "
        f'read it again with read_file("{PATH}")' in before
    )
    assert RULE in after


def test_a_pinned_skill_survives_folds_and_is_no_request_of_the_user(
    root: Path, archive: Archive
) -> None:
    """The words of a person remain the words of a person."""
    talk = Talk(root, archive, 20_000, builds(40))
    talk.say("Use the skill and build", pinned_skills=["pdf"])

    record = talk.text().partition("</thread-record>")[0]
    assert RULE in talk.text()
    assert "<thread-record>" in record
    assert "flatten" not in record


def test_the_system_prompt_stays_the_same_in_all_of_a_thread(root: Path, archive: Archive) -> None:
    """The cache keeps it after reads, folds and edits by the agent itself."""
    edit = calls("edit_file", "e1", file_path="/AGENTS.md", old_string="brief", new_string="kind")
    talk = Talk(
        root,
        archive,
        20_000,
        [calls("read_file", "r0", file_path="/AGENTS.md"), edit, READS, *builds(30)],
    )
    talk.say("Learn, then build")
    talk.say("And?")

    assert (root / "AGENTS.md").read_text() == "Be kind.\n"
    assert len({str(messages[0].text) for messages in talk.sent[:-1]}) == 1


def test_a_skill_is_read_whole_or_says_that_lines_follow(root: Path, archive: Archive) -> None:
    """A part of a skill is never taken for all of it."""
    talk = Talk(root, archive, 100_000, [calls("read_file", "r1", file_path=PATH), READS])
    talk.say("Fill in the form")

    short, whole = (str(talk.sent[n][-1].text) for n in (1, 2))
    assert "149. Check field 149." in whole
    assert "149. Check field 149." not in short
    assert "next offset 100" in short


def test_skills_and_memory_in_the_files_of_a_state() -> None:
    """They come with the input and are read there."""
    sent: list[str] = []
    middleware: list[AgentMiddleware[Any, Any, Any]] = [
        MemoryFilesMiddleware(backend=StateBackend(), sources=["/AGENTS.md"]),
        SkillsMiddleware(backend=StateBackend(), sources=["/skills"]),
        FilesystemMiddleware(backend=StateBackend()),
    ]

    def script(messages: Sequence[BaseMessage]) -> str:
        sent.append(str(messages[0].text))
        return "ok"

    agent = create_agent(
        ScriptedModel(script=script), middleware=middleware, checkpointer=InMemorySaver()
    )

    def said(**files: str) -> None:
        data = {
            path: {"content": text, "encoding": "utf-8", "modified_at": f"2026-01-0{len(sent) + 1}"}
            for path, text in files.items()
        }
        given: Any = {"messages": [HumanMessage("Hi")], "files": data}
        agent.invoke(given, THREAD)

    skill = "---\nname: pdf\ndescription: {}\n---\n"
    said(**{"/AGENTS.md": "Be brief.", PATH: skill.format("one")})
    said(**{"/AGENTS.md": "Be kind.", PATH: skill.format("two")})

    assert "Be brief." in sent[0]
    assert "- **pdf**: one" in sent[0]
    assert "Be kind." in sent[1]
    assert "- **pdf**: two" in sent[1]
