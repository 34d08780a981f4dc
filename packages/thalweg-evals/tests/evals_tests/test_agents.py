"""Agents by policy, by import path, and with a provider that compacts."""

import sys
from pathlib import Path

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from strict_llm import Answer, Request, StrictProvider
from thalweg.errors import ConfigError
from thalweg.testing import ScriptedModel
from thalweg_evals import POLICIES, Score, Setting, Trace, World, play, policy_named
from thalweg_evals.agents import Agent
from thalweg_evals.trace import Recorder
from thalweg_evals.world import Probe, failed, passed

EXAMPLE = Path(__file__).parents[4] / "examples" / "strangers_agent.py"
HEAD = """
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

def words(state):
    said = " ".join(str(one.text) for one in state["messages"] if one.type == "human")
    return {"messages": [AIMessage(said)]}

def graph_of(node, state=MessagesState, **options):
    builder = StateGraph(state)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    return builder.compile(**options)
"""
OURS = [name for name in POLICIES if name not in {"deepagents", "provider"}]


def weigh(crate: int) -> str:
    """Weigh a crate."""
    return f"{crate} kg"


def build(case: str, *_: object) -> World:
    """Ask to repeat a word, in one message and again in a second one."""

    def score(trace: Trace) -> Score:
        return passed("it was repeated") if "A-1" in trace.answer else failed(trace.answer)

    return World(user=f"Repeat A-1 {case}.", score=score, tools=[weigh], system_prompt="Be brief.")


REPEAT = Probe(name="repeat", asks="", shows="", cases=("once",), build=build)


def echo(window: int = 64_000) -> BaseChatModel:
    """Make a model that repeats the user's messages."""

    def script(messages: list[object]) -> str:
        return " ".join(one.text for one in messages if one.type == "human")  # type: ignore[attr-defined]

    return ScriptedModel(script=script, profile={"max_input_tokens": window})  # type: ignore[arg-type]


def setting(folder: Path, model: BaseChatModel | None = None, **fields: object) -> Setting:
    """Make the setting of an agent."""
    window = int(str(fields.pop("window", 64_000)))
    return Setting(model=model or echo(window), window=window, folder=folder, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", OURS)
def test_each_policy_has_the_tools_and_the_instructions_of_a_world(name: str) -> None:
    score, trace = play(REPEAT, "once", policy_named(name), echo(), window=64_000, trigger=0.25)

    assert score.verdict == "passed", score.why
    assert {"weigh", "read_page"} <= set(trace.requests[0].tools)
    assert "Be brief." in trace.requests[0].messages[0].text


def test_our_agent_is_the_small_one_in_a_small_window(tmp_path: Path) -> None:
    tools = {}
    for window in (64_000, 4_096):
        folder = tmp_path / str(window)
        folder.mkdir()
        of = setting(folder, window=window)
        trace = Trace()
        with of.resources:
            agent = Agent(policy_named("thalweg")(of))
            agent.send("Hello.", [Recorder(trace, has_tools=True)])
        tools[window] = trace.requests[0].tools

    assert "task" in tools[64_000]
    assert "task" not in tools[4_096]
    assert "recall" in tools[4_096]


def test_an_error_of_an_agent_is_its_failure() -> None:
    def fail(messages: object) -> str:
        raise ConnectionError(str(type(messages)))

    model = ScriptedModel(script=fail)
    score, _ = play(REPEAT, "once", policy_named("none"), model, window=64_000)

    assert score.verdict == "failed"
    assert "the agent raised ConnectionError" in score.why


def test_a_model_that_calls_no_tools_is_given_none() -> None:
    model = echo()
    model.profile = {"max_input_tokens": 64_000, "tool_calling": False}

    score, trace = play(REPEAT, "once", policy_named("none"), model, window=64_000)

    assert (score.verdict, score.why) == ("untested", "the model calls no tools")
    assert not trace.requests


# --- by import path


def strange(folder: Path, source: str, attribute: str = "agent") -> Agent:
    """Create the agent of a file."""
    path = folder / "strange_agent.py"
    path.write_text(HEAD + source, "utf-8")
    return Agent(policy_named(f"{path}:{attribute}")(setting(folder)))


def test_a_function_gets_what_its_signature_names(tmp_path: Path) -> None:
    agent = strange(
        tmp_path,
        """
def agent(model, tools, folder, window, checkpointer, temperature=0.5):
    def node(state):
        said = f"{tools} {folder.name} {window} {temperature} {len(state['messages'])}"
        return {"messages": [model.invoke(state["messages"]), AIMessage(said)]}
    return graph_of(node, checkpointer=checkpointer)
""",
    )

    assert agent.send("Hello.", []) == f"[] {tmp_path.name} 64000 0.5 1"
    assert agent.send("Hello again.", []).endswith(" 4")


UNCOMPILED = """
agent = StateGraph(MessagesState)
agent.add_node("node", words)
agent.add_edge(START, "node")
agent.add_edge("node", END)
"""


@pytest.mark.parametrize(
    "source",
    [
        "agent = graph_of(words)",
        "agent = graph_of(words, checkpointer=InMemorySaver())",
        UNCOMPILED,
    ],
)
def test_a_graph_keeps_the_conversation_and_nothing_of_another(tmp_path: Path, source: str) -> None:
    path = tmp_path / "strange_agent.py"
    path.write_text(f"{HEAD}\n{source}\n", "utf-8")
    policy = policy_named(f"{path}:agent")
    one, other = Agent(policy(setting(tmp_path))), Agent(policy(setting(tmp_path)))

    one.send("A-1", [])
    other.send("B-2", [])

    assert one.send("C-3", []) == "A-1 C-3"


def test_modules_of_the_current_folder_and_beside_a_file_can_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "eval_helper.py").write_text(f"{HEAD}\nagent = graph_of(words)\n")
    (tmp_path / "here" / "own.py").write_text("from eval_helper import agent\n")
    (tmp_path / "eval_module.py").write_text(f"{HEAD}\nagent = graph_of(words)\n")
    monkeypatch.chdir(tmp_path)

    for name in ("here/own.py:agent", "eval_module:agent"):
        assert Agent(policy_named(name)(setting(tmp_path))).send("A-1", []) == "A-1"


def test_the_agent_of_the_examples_is_evaluated_by_its_path() -> None:
    score, trace = play(
        REPEAT, "once", policy_named(f"{EXAMPLE}:make"), echo(), window=64_000, trigger=0.25
    )

    assert score.verdict == "passed", score.why
    assert "weigh" in trace.requests[0].tools


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("langchian", "did you mean 'langchain'"),
        ("no_such_module:make", "No module named 'no_such_module'"),
        ("nowhere.py:make", "nowhere.py:make cannot be imported"),
        ("thalweg_evals:nothing", "thalweg_evals:nothing cannot be imported"),
        ("thalweg_evals.agents:KEPT", "is a float; name a graph"),
    ],
)
def test_a_policy_that_does_not_exist_is_refused(name: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        policy_named(name)

    assert why in str(caught.value)


def test_a_function_that_makes_no_graph_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="made a dict; return a compiled graph"):
        strange(tmp_path, "def agent():\n    return {}")


def test_a_graph_without_messages_is_refused(tmp_path: Path) -> None:
    source = """
from typing import TypedDict
class State(TypedDict):
    found: str
agent = graph_of(lambda state: {"found": "x"}, State)
"""
    with pytest.raises(ConfigError, match="returned no messages"):
        strange(tmp_path, source).send("Hello.", [])


# --- the provider's own compaction


def answer(request: Request) -> Answer:
    """Answer with a word."""
    del request
    return Answer("A-1.")


def openai(provider: StrictProvider) -> BaseChatModel:
    """Make a client of OpenAI."""
    return ChatOpenAI(model="gpt-6-sol", base_url=provider.openai_url, api_key=SecretStr("x"))


def anthropic(provider: StrictProvider) -> BaseChatModel:
    """Make a client of Anthropic."""
    return ChatAnthropic(
        model_name="claude-sonnet-5",
        base_url=provider.anthropic_url,
        api_key=SecretStr("x"),
        timeout=60,
        stop=None,
    )


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        (openai, [{"type": "compaction", "compact_threshold": 150_000}]),
        (
            anthropic,
            {
                "edits": [
                    {
                        "type": "compact_20260112",
                        "trigger": {"type": "input_tokens", "value": 150_000},
                    }
                ]
            },
        ),
    ],
)
def test_the_policy_provider_has_the_provider_compact(client: object, expected: object) -> None:
    with StrictProvider(window=200_000, answer=answer) as provider:
        model = client(provider)  # type: ignore[operator]
        score, _ = play(
            REPEAT, "once", policy_named("provider"), model, window=200_000, trigger=0.75
        )
        [request] = provider.requests

    assert score.verdict == "passed", score.why
    assert request.body is not None
    assert request.body["context_management"] == expected


def test_a_provider_that_does_not_compact_is_refused() -> None:
    with pytest.raises(ConfigError, match="the provider of a ScriptedModel does not compact"):
        play(REPEAT, "once", policy_named("provider"), echo(), window=64_000)
