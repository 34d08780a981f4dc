"""A stranger's graph by its import path: taken as it is, or made for every trial."""

import sys
from pathlib import Path
from random import Random

import pytest
from langchain_core.tools import tool

from evals_tests.evals.asking import Asked
from strict_llm import Answer, StrictProvider
from thalweg.errors import ConfigError
from thalweg_evals.base import Setting, Subject
from thalweg_evals.material.paging import Pages
from thalweg_evals.probes.needle import make as needle
from thalweg_evals.scripted.mind import COMPETENCES, CaseModel
from thalweg_evals.subjects.imported import CompiledSubject
from thalweg_evals.subjects.named import subject_named
from thalweg_evals.trace import Trace
from thalweg_evals.trial import Talk

EXAMPLE = Path(__file__).parents[5] / "examples" / "strangers_agent.py"
HEAD = """
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

def codes(state):
    said = " ".join(str(one.text) for one in state["messages"] if one.type == "human")
    return {"messages": [AIMessage(said)]}

def graph_of(node, state=MessagesState, **options):
    builder = StateGraph(state)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    return builder.compile(**options)
"""


def _subject(folder: Path, source: str, attribute: str = "subject") -> Subject:
    path = folder / "strange_agent.py"
    path.write_text(HEAD + source, "utf-8")
    return subject_named(f"{path}:{attribute}")


@tool
def weigh(crate: int) -> str:
    """Weigh a crate."""
    return f"{crate} kg"


def test_a_function_is_given_what_its_signature_names_and_offers_no_more(tmp_path: Path) -> None:
    subject = _subject(
        tmp_path,
        """
def subject(model, tools, folder, window, checkpointer, temperature=0.5):
    def node(state):
        names = [one.name for one in tools]
        said = f"{names} {folder.name} {window} {temperature} {len(state['messages'])}"
        return {"messages": [model.invoke(state["messages"]), AIMessage(said)]}
    return graph_of(node, checkpointer=checkpointer)
""",
    )
    asked = Asked(subject, tmp_path, tools=(weigh,))

    assert subject.offers == {"tools"}
    assert asked.say("Hello.") == f"['weigh'] {tmp_path.name} 64000 0.5 1"
    assert asked.say("Hello again.").endswith(" 4")


def test_what_a_function_says_of_itself_is_offered_as_well(tmp_path: Path) -> None:
    source = """
def subject(system_prompt, trigger):
    return graph_of(codes)
subject.offers = ["files", "subagents"]
"""
    subject = _subject(tmp_path, source)

    assert subject.offers == {"system_prompt", "trigger", "files", "subagents"}
    with pytest.raises(ConfigError, match="did you mean 'files'"):
        _subject(tmp_path, source.replace("files", "filez"))


def test_a_graph_that_keeps_nothing_is_handed_the_whole_conversation(tmp_path: Path) -> None:
    asked = Asked(_subject(tmp_path, "subject = graph_of(codes)"), tmp_path)

    asked.say("A-1", "a")
    asked.say("B-2", "b")

    assert asked.say("C-3", "a") == "A-1 C-3"


def test_what_a_graph_that_keeps_nothing_puts_out_of_its_sight_is_handed_to_it_again(
    tmp_path: Path,
) -> None:
    """Who calls it has the conversation; what it does to its state is its own affair."""
    source = """
from langchain_core.messages import HumanMessage, RemoveMessage

def forgets(state):
    added = codes(state)["messages"]
    gone = [RemoveMessage(one.id) for one in state["messages"][:-1]]
    return {"messages": [*gone, *added]}

subject = graph_of(forgets)
"""
    asked = Asked(_subject(tmp_path, source), tmp_path)

    asked.say("A-1")
    asked.say("B-2")

    assert asked.say("C-3") == "A-1 B-2 C-3"


def test_a_graph_that_keeps_threads_knows_nothing_of_another_trial(tmp_path: Path) -> None:
    subject = _subject(tmp_path, "subject = graph_of(codes, checkpointer=InMemorySaver())")

    first = Asked(subject, tmp_path)
    first.say("A-1")

    assert first.say("B-2") == "A-1 B-2"
    assert Asked(subject, tmp_path).say("C-3") == "C-3"


@pytest.mark.parametrize("saver", ["", ", checkpointer=InMemorySaver()"])
def test_a_graph_that_can_only_be_awaited_is(tmp_path: Path, saver: str) -> None:
    """On one loop for all trials: what it holds belongs to the loop that it was used in first."""
    source = f"""
import asyncio

loops = set()

async def waits(state):
    loops.add(asyncio.get_running_loop())
    assert len(loops) == 1
    return codes(state)

subject = graph_of(waits{saver})
"""
    subject = _subject(tmp_path, source)
    for _ in range(2):
        asked = Asked(subject, tmp_path)

        asked.say("A-1")

        assert asked.say("B-2") == "A-1 B-2"
        asked.agent.close()


def test_a_graph_in_which_it_shows_late_that_it_must_be_awaited_goes_on_where_it_stopped(
    tmp_path: Path,
) -> None:
    """A tool may be the first that cannot be called: what was done before it is not done again."""
    source = """
async def awaits(state):
    return codes(state)

def counts(state):
    done.append(1)
    return {}

done = []
builder = StateGraph(MessagesState)
builder.add_node("counts", counts)
builder.add_node("awaits", awaits)
builder.add_edge(START, "counts")
builder.add_edge("counts", "awaits")
subject = builder.compile(checkpointer=InMemorySaver())
subject.done = done
"""
    subject = _subject(tmp_path, source)
    asked = Asked(subject, tmp_path)

    assert asked.say("A-1") == "A-1"
    assert asked.say("B-2") == "A-1 B-2"
    assert isinstance(subject, CompiledSubject)
    assert len(subject.graph.done) == 2


def test_a_function_may_be_awaited_and_its_graph_then_is_on_the_same_loop(tmp_path: Path) -> None:
    source = """
import asyncio

async def subject(checkpointer):
    loop = asyncio.get_running_loop()
    async def node(state):
        assert asyncio.get_running_loop() is loop
        return codes(state)
    return graph_of(node, checkpointer=checkpointer)
"""
    asked = Asked(_subject(tmp_path, source), tmp_path)

    assert asked.say("A-1") == "A-1"
    asked.agent.close()


def test_messages_may_be_plain_objects_and_the_new_ones_alone(tmp_path: Path) -> None:
    source = """
from typing import TypedDict

class Plain(TypedDict):
    messages: list

def node(state):
    said = " ".join(one.content for one in state["messages"] if one.type == "human")
    return {"messages": [{"role": "assistant", "content": said}]}

subject = graph_of(node, Plain)
"""
    asked = Asked(_subject(tmp_path, source), tmp_path)

    asked.say("A-1")

    assert asked.say("B-2") == "A-1 B-2"


def test_a_module_of_the_current_folder_can_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "clerks_of_ours.py").write_text(
        HEAD + "class Clerks:\n    clerk = graph_of(codes)\n", "utf-8"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    asked = Asked(subject_named("clerks_of_ours:Clerks.clerk"), tmp_path)

    assert asked.say("A-1") == "A-1"


@pytest.mark.parametrize(
    ("name", "problem", "fix"),
    [
        ("no_such.module:make", "no module 'no_such'", "path/to/file.py:make"),
        ("json.no_such:make", "no module 'json.no_such'", "path/to/file.py:make"),
        ("json:lods", "json has no 'lods'", "did you mean 'loads'?"),
        ("json:decoder", "a module is no graph", "a function that makes one"),
        ("strange_agnet.py:subject", "there is no file", "did you mean strange_agent.py?"),
    ],
)
def test_a_path_that_leads_to_no_graph_says_how_to_mend_it(
    name: str, problem: str, fix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "strange_agent.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    with pytest.raises(ConfigError) as told:
        subject_named(name)

    assert problem in told.value.problem
    assert fix in told.value.fix


@pytest.mark.parametrize(
    ("source", "problem", "fix"),
    [
        ("subject = 3", "a int is no graph", "name a graph"),
        ("import no_such_package", "imports no_such_package", "pip install no-such-package"),
        ("def subject(modle): pass", "requires 'modle'", "did you mean 'model'?"),
        ("def subject(database): pass", "requires 'database'", "give 'database' a default"),
        (
            "class Rows(dict):\n    rows: list\nsubject = graph_of(lambda state: {}, Rows)",
            "no `messages`, but rows",
            "MessagesState",
        ),
    ],
)
def test_what_is_no_agent_is_told_before_a_trial(
    source: str, problem: str, fix: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as told:
        _subject(tmp_path, source)

    assert problem in told.value.problem
    assert fix in told.value.fix


def test_a_function_that_makes_something_else_is_told_when_it_does(tmp_path: Path) -> None:
    subject = _subject(tmp_path, "def subject(): return 'nothing'")

    with pytest.raises(ConfigError, match="a str is no graph"):
        Asked(subject, tmp_path)


def test_an_error_in_a_graph_goes_through(tmp_path: Path) -> None:
    """A `TypeError` of the graph's own is no reason to await it instead."""
    source = """
def breaks(state):
    tries.append(1)
    raise TypeError("of its own")

tries = []
subject = graph_of(breaks)
subject.tries = tries
"""
    subject = _subject(tmp_path, source)

    with pytest.raises(TypeError, match="of its own"):
        Asked(subject, tmp_path).say("Hello.")

    assert isinstance(subject, CompiledSubject)
    assert len(subject.graph.tries) == 1


def test_the_example_outside_the_package_is_evaluated_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The example summarizes away its messages and cannot find them: that is the finding."""
    monkeypatch.chdir(EXAMPLE.parent.parent)
    monkeypatch.setattr(sys, "path", list(sys.path))
    subject = subject_named("examples/strangers_agent.py:make")
    dice = Random(3)  # noqa: S311 (not a secret)
    case, pages, trace = needle("user_aside", dice), Pages(dice), Trace()
    setting = Setting(
        model=CaseModel(case=case, competence=COMPETENCES["searcher"], window=64_000),
        window=64_000,
        folder=tmp_path,
        trigger=0.1,
        tools=(pages.tool(), *case.tools),
        system_prompt=case.system_prompt,
    )
    agent = subject.begin(setting)

    case.run(Talk(agent, setting, pages, trace))

    score = case.grade(trace)
    assert subject.offers == {"tools", "system_prompt"}
    assert trace.compactions()
    assert score.verdict == "failed", score.why
    assert {one.kind for one in trace.requests} == {"agent", "harness"}


def test_the_example_as_servers_load_it_asks_its_own_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("langchain_openai")
    with StrictProvider(window=64_000, answer=lambda _: Answer("On shelf 3.")) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "a key")
        monkeypatch.setenv("STRANGERS_MODEL", "openai:strict-1")

        asked = Asked(subject_named(f"{EXAMPLE}:graph"), tmp_path)

        assert asked.say("Where is parcel 3?") == "On shelf 3."
        assert [one.kind for one in asked.trace.requests] == ["agent"]
