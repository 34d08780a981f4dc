"""Every public name of deepagents imports; an absent one raises advice when it is used."""

import importlib

import pytest

import thalweg_agent
from thalweg.errors import ConfigError
from thalweg.testing import ScriptedModel
from thalweg_agent import absent, create_deep_agent
from thalweg_agent.backends.state import StateBackend
from thalweg_agent.middleware.summarization import create_summarization_middleware


@pytest.mark.parametrize("module", ["", ".backends", ".middleware", ".profiles"])
def test_every_public_name_of_the_peer_imports(module: str) -> None:
    """Of the installed one, but for backends that belong to a service."""
    theirs = pytest.importorskip(f"deepagents{module}")
    ours = importlib.import_module(f"thalweg_agent{module}")

    names = set(theirs.__all__) - {"ContextHubBackend", "LangSmithSandbox"}
    assert [name for name in names if not hasattr(ours, name)] == []
    assert names - {"__version__"} <= set(ours.__all__)


@pytest.mark.parametrize(
    "name", ["GENERAL_PURPOSE_SUBAGENT", "DeepAgentState", "create_deep_agent"]
)
def test_the_peers_module_of_the_graph_imports(name: str) -> None:
    """Their module has no `__all__`; its `get_default_model` is deprecated, and absent here."""
    theirs = pytest.importorskip("deepagents.graph")
    ours = importlib.import_module("thalweg_agent.graph")

    assert hasattr(theirs, name)
    assert getattr(ours, name) is getattr(importlib.import_module("thalweg_agent.graph"), name)


@pytest.mark.parametrize(
    "module", ["async_subagents", "filesystem", "memory", "skills", "subagents", "summarization"]
)
def test_every_class_and_function_of_its_middleware_imports(module: str) -> None:
    """But for types that describe its private state."""
    theirs = pytest.importorskip(f"deepagents.middleware.{module}")
    ours = importlib.import_module(f"thalweg_agent.middleware.{module}")
    private = {
        "CompactConversationSchema", "MemoryStateUpdate", "SkillsStateUpdate",
        "SummarizationDefaults", "SummarizationEvent", "SummarizationState", "TriggerClause",
        "TruncateArgsSettings", "compute_summarization_defaults",
    }  # fmt: skip
    defined = {
        n for n, v in vars(theirs).items() if getattr(v, "__module__", "") == theirs.__name__
    }

    public = {name for name in defined if not name.startswith("_")} - private
    assert sorted(name for name in public if not hasattr(ours, name)) == []


def test_the_factory_of_the_peer_makes_a_middleware_of_its_name() -> None:
    """In the place of `ContextMiddleware`, with the summarizer where there is one."""
    model, writer = (ScriptedModel(script=lambda _: "Done.") for _ in "ab")
    made = create_summarization_middleware(model, StateBackend(), summary_prompt="Shorten: {text}")

    assert made.name == "ContextMiddleware"
    assert made.policy.summary_prompt == "Shorten: {text}"
    agent = create_deep_agent(
        model, middleware=[create_summarization_middleware(model, summarizer=writer)]
    )
    assert agent.invoke({"messages": "Go."})["messages"][-1].text == "Done."


@pytest.mark.parametrize("name", sorted(vars(absent)["__all__"]))
def test_an_absent_name_says_what_to_use(name: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name}: .*; [a-zC]"):
        getattr(absent, name)("openai", {})


def test_an_attribute_of_an_absent_class_is_advised_too() -> None:
    with pytest.raises(ConfigError, match="init_chat_model"):
        _ = thalweg_agent.ProviderProfile.from_dict
