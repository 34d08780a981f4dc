"""The arguments of the middleware are checked before any run."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

import thalweg
import thalweg.archive.threads
from core_tests.e2e.scripted import RuledModel, agent_with, says
from thalweg.archive import ThreadKey, open_archive
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.settings import ContextPolicy
from thalweg.errors import ArchiveError, ConfigError

T: Any = {"configurable": {"thread_id": "t"}}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"policy": 7}, "policy: it is of type int; pass a ContextPolicy"),
        ({"policy": {"triger": 7}}, "triger"),
        ({"owner": None}, "owner: it is None; pass a name"),
        ({"owner": ""}, "owner: it is ''; pass a name"),
        ({"owner": 7}, "owner: it is of type int; pass a name"),
        ({"state": 0}, "state: it is 0; pass a number"),
        ({"state": "all"}, "state: it is 'all'; pass a number of messages"),
        ({"summarizer": "nosuch:model"}, "summarizer: there is no model 'nosuch:model' "),
        ({"summarizer": 7}, "summarizer: it is of type int; pass a chat model"),
        ({"policy": {"model_name": "nosuch:model"}}, "model_name: there is no model"),
        (
            {"policy": ContextPolicy(model_name="a"), "summarizer": "b"},
            "summarizer: the policy names another one, model_name 'a'; pass one of the two",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_used_is_refused_at_once(given: dict[str, Any], told: str) -> None:
    """With the argument, what is wrong with it, and how to fix it."""
    with pytest.raises(ConfigError) as caught:
        ContextMiddleware(**given)
    assert told in str(caught.value)


@pytest.mark.parametrize("named", [None, "", 7])
def test_a_function_that_names_no_owner_is_told_so(named: Any) -> None:  # noqa: ANN401
    """Before anything is logged without an owner's name."""
    middleware = ContextMiddleware(archive=":memory:", owner=lambda _: named)
    agent = agent_with(RuledModel(rule=says("hi")), middleware)
    with pytest.raises(ConfigError, match="owner: the function's value for this run is"):
        agent.invoke({"messages": [HumanMessage("hi")]})


def test_a_policy_may_be_a_mapping() -> None:
    """As a file has it."""
    middleware = ContextMiddleware({"summarize": False}, archive=":memory:")
    agent_with(RuledModel(rule=says("hi")), middleware).invoke({"messages": [HumanMessage("hi")]})
    assert middleware.archive.threads("local")


def test_an_archive_that_was_opened_here_is_closed_here(tmp_path: Path) -> None:
    """And one that was passed is not."""
    path = tmp_path / "thalweg.db"
    with ContextMiddleware(archive=path) as middleware:
        assert not path.exists()
        agent = agent_with(RuledModel(rule=says("hi")), middleware, checkpointer=InMemorySaver())
        agent.invoke({"messages": [HumanMessage("hello")]}, T)
        said = thalweg.archive.threads.history(middleware.archive, ThreadKey("local", "t"))
        assert [one.message.text for one in said] == ["hello", "hi"]
    with pytest.raises(ArchiveError, match="closed"):
        middleware.archive.threads("local")

    given = open_archive(path)
    ContextMiddleware(archive=given).close()
    assert given.threads("local") == ["t"]
    given.close()


def test_the_package_says_its_version_and_what_it_has() -> None:
    """Without importing more than is asked for."""
    assert thalweg.__version__[0].isdigit()
    assert {"ContextMiddleware", "ContextPolicy", "__version__"} <= set(dir(thalweg))
    assert all(hasattr(thalweg.archive.threads, name) for name in thalweg.archive.threads.__all__)
