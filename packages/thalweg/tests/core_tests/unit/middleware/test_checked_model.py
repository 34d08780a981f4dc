"""Doubles of a chat model share its connections and own none of them."""

import copy
import gc
import pickle
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, ModelResponse, wrap_model_call
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from thalweg import ContextMiddleware
from thalweg.context.request.messages import without_thinking
from thalweg.context.request.models import (
    changed_copy,
    known_model,
    with_last_check,
    with_transform,
)
from thalweg.testing import ScriptedModel


class Connection:
    """A client that cannot be used after it was closed."""

    is_open = True

    def __deepcopy__(self, memo: object) -> "Connection":
        """Open another one."""
        return Connection()


class Client(ScriptedModel):
    """A chat model that needs an open client."""

    client: Any = Field(default_factory=Connection)
    script: Any = None

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:  # noqa: ANN401
        if not self.client.is_open:
            msg = "Cannot send a request, as the client has been closed."
            raise RuntimeError(msg)
        return super()._generate(messages, *args, **kwargs)


class Closing(Client):
    """It closes its client when it is collected, as Google's does up to 4.3.2."""

    def __del__(self) -> None:
        self.client.is_open = False


class Finalized(Client):
    """The same by `weakref.finalize`."""

    def model_post_init(self, context: object, /) -> None:
        """Close the client with the model."""
        super().model_post_init(context)
        weakref.finalize(self, setattr, self.client, "is_open", False)  # noqa: FBT003


def unchanged(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    return list(messages)


def answer(messages: Sequence[BaseMessage]) -> str:
    return f"{len(messages)} messages"


def talk(model: BaseChatModel) -> list[Any]:
    """Return the answers of three runs of an agent."""
    ours = ContextMiddleware(archive=":memory:")
    agent = create_agent(model, [], checkpointer=InMemorySaver(), middleware=[ours])
    config: Any = {"configurable": {"thread_id": "t"}}
    answers = []
    for _ in range(3):
        answers.append(agent.invoke({"messages": [HumanMessage("hi")]}, config)["messages"][-1])
        gc.collect()
    return answers


@pytest.mark.parametrize("kind", [Closing, Finalized])
def test_a_model_with_a_destructor_answers_in_every_run(kind: Callable[..., Any]) -> None:
    """The copies that each request makes of it close nothing when they are collected."""
    model = kind(script=answer)
    assert [one.text for one in talk(model)] == ["1 messages", "3 messages", "5 messages"]
    assert model.client.is_open


@pytest.mark.parametrize("kind", [Closing, Finalized])
def test_a_model_that_is_made_for_one_call_lives_as_long_as_its_double(
    kind: Callable[..., Any],
) -> None:
    """Another middleware chooses a model that has no other reference."""

    @wrap_model_call
    def choose(request: ModelRequest[Any], handler: Callable[..., Any]) -> ModelResponse[Any]:
        found: ModelResponse[Any] = handler(request.override(model=kind(script=answer)))
        return found

    ours: Any = ContextMiddleware(archive=":memory:")
    agent = create_agent(kind(script=answer), [], middleware=[choose, ours])
    assert agent.invoke({"messages": [HumanMessage("hi")]})["messages"][-1].text == "1 messages"

    model = kind(script=answer)
    client, double = model.client, with_last_check(model, unchanged)
    del model
    gc.collect()
    assert double.invoke("hi").text == "1 messages"
    del double
    gc.collect()
    assert not client.is_open  # the model's own destructor, once


@pytest.mark.parametrize("kind", [Closing, Finalized])
@pytest.mark.parametrize(
    "copied",
    [
        lambda double: double.model_copy(update={"name": "other"}),
        copy.copy,
        lambda double: changed_copy(double, name="other"),
        lambda double: changed_copy(changed_copy(double), name="other"),
        lambda double: with_last_check(double, unchanged),
        lambda double: with_transform(double, dict),
        lambda double: double.bind(stop=["x"]),
        lambda double: double.with_config(tags=["x"]),
        lambda double: double.with_retry().bind(stop=["x"]),
        lambda double: with_last_check(double.bind(stop=["x"]), unchanged),
    ],
)
def test_copies_of_a_double_close_nothing(
    kind: Callable[..., Any], copied: Callable[[Any], Any]
) -> None:
    """In any way that other middleware and LangChain make them."""
    model = kind(script=answer)
    double = with_last_check(model, unchanged)
    made = copied(double)
    assert made.invoke("hi").text == "1 messages"
    del made, double
    gc.collect()
    assert model.client.is_open


def test_a_changed_copy_of_a_model_closes_nothing() -> None:
    """`model_copy` of LangChain's own class would run its destructor."""
    model = Closing(script=answer)
    other = changed_copy(model, name="other")
    assert (other.name, model.name) == ("other", None)
    assert isinstance(other, Closing)
    assert type(other).__name__ == "Closing"
    del other
    gc.collect()
    assert model.client.is_open


def test_our_own_copies_of_a_model_own_nothing() -> None:
    """What is changed for one request: late system messages, and no reasoning."""

    class Watched(ChatAnthropic):
        def __del__(self) -> None:
            deleted.append(id(self))

    deleted: list[int] = []
    thinking = {"type": "enabled", "budget_tokens": 2_000}
    given: Any = {
        "model": "claude-opus-4-8",
        "api_key": "k",
        "profile": {},
        "thinking": thinking,
        "max_tokens": 4_000,
    }
    model: Any = Watched(**given)
    request: Any = ModelRequest(model=model, messages=[])
    known = known_model(model, window=None, max_output=None, ignores_profile=False)
    assert known.with_late_system is not None
    quiet: Any = without_thinking(request.override(model=known.with_late_system))
    assert quiet.model is not model
    assert quiet.model.thinking is None
    del known, request, quiet
    gc.collect()
    assert deleted == []


def test_a_deep_copy_owns_its_own_client() -> None:
    """It shares nothing: its destructor closes its client, and no other."""
    seen: list[int] = []

    def check(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        seen.append(len(messages))
        return list(messages)

    model = Closing(script=answer)
    deep: Any = copy.deepcopy(with_last_check(model, check))
    client = deep.client
    assert client is not model.client
    assert deep.invoke("hi").text == "1 messages"
    assert seen == [1]
    del deep
    gc.collect()
    assert (client.is_open, model.client.is_open) == (False, True)


def scripted_copy(messages: Sequence[BaseMessage]) -> AIMessage:
    return AIMessage(f"{len(messages)} pickled")


def test_a_pickled_double_is_a_model_of_its_class() -> None:
    """Hooks belong to one request; the class of a double cannot be imported."""
    model = ScriptedModel(script=scripted_copy)
    double: BaseChatModel = with_last_check(model, unchanged)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        found = pickle.loads(pickle.dumps(double, protocol))
        assert type(found) is ScriptedModel
        assert found.invoke("hi").text == "1 pickled"
    assert with_last_check(found, lambda _: []).invoke("hi").text == "0 pickled"


def test_a_model_whose_list_of_texts_changes_is_read_again() -> None:
    given: Any = {"model": "claude-opus-4-8", "api_key": "k"}
    model: Any = ChatAnthropic(**given)
    first = known_model(model, window=None, max_output=None, ignores_profile=False)
    model.betas = ["context-1m-2025-08-07"]
    assert known_model(model, window=None, max_output=None, ignores_profile=False) is not first
