"""A provider takes less than was thought: it is sent one smaller request, and that is learned."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver

from core_tests.e2e.soak_world import PICTURE
from core_tests.strict_requests import messages_of
from strict_llm import Answer, Model, Request, Seen, StrictProvider
from strict_llm_tests.chat_models import WIRES, chat_model
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.settings import ContextPolicy
from thalweg.errors import WindowExceededError

WINDOW = 24_000
NUMBERED = ("openai-chat", "anthropic")
"""The wires whose refusals name tokens."""


@tool
def read(path: str) -> str:
    """Read a file."""
    return "".join(f"{path} line {n}: value {n * 7919 % 10_007}\n" for n in range(120))


@tool
def look(n: int) -> list[dict[str, Any]]:
    """Look at a picture."""
    return [{"type": "text", "text": f"picture {n}"}, PICTURE]


def working(request: Request) -> Answer:
    """Read three files after every request, and then answer."""
    if messages_of(request)[-1].role == "user" and request.tools:
        files = [f"{request.number}-{n}.md" for n in range(3)]
        return Answer(calls=tuple(("read", {"path": path}) for path in files))
    return Answer("I read it.")


@pytest.fixture
def provider() -> Iterator[StrictProvider]:
    with StrictProvider(window=WINDOW, answer=working) as provider:
        yield provider


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def told(model: BaseChatModel, window: int) -> BaseChatModel:
    """Let a client believe in a window."""
    model.profile = {"max_input_tokens": window}
    return model


class Talk:
    """One thread of an agent."""

    def __init__(
        self,
        *middleware: AgentMiddleware[Any, Any, Any],
        policy: ContextPolicy | None = None,
        tools: tuple[BaseTool, ...] = (read, look),
        system: str = "You keep the books.",
    ) -> None:
        self._saver = InMemorySaver()
        policy = policy or ContextPolicy(summarize=False)
        self._middleware = [ContextMiddleware(policy, archive=":memory:"), *middleware]
        self._tools, self._system = tools, system

    def say(self, model: BaseChatModel, said: HumanMessage | str) -> str:
        """Send a message; return the answer."""
        agent: Any = create_agent(
            model,
            list(self._tools),
            system_prompt=self._system,
            middleware=self._middleware,
            checkpointer=self._saver,
        )
        message = HumanMessage(said) if isinstance(said, str) else said
        config = {"configurable": {"thread_id": "t"}}
        return str(agent.invoke({"messages": [message]}, config)["messages"][-1].text)


def refused(provider: StrictProvider) -> list[Seen]:
    """List what was refused for its size."""
    return [seen for seen in provider.requests if seen.status in {400, 413}]


def pictures_in(seen: Seen) -> int:
    """Count the pictures of a request to Anthropic."""
    assert seen.body is not None
    blocks = [
        b for m in seen.body["messages"] if isinstance(m["content"], list) for b in m["content"]
    ]
    return sum(block["type"] == "image" for block in blocks)


def grow(talk: Talk, model: BaseChatModel, provider: StrictProvider, upto: int) -> None:
    """Talk until a request has so many tokens."""
    for n in range(100):
        talk.say(model, f"Read file {n}.")
        if provider.requests[-1].tokens > upto:
            return
    pytest.fail("it never grew so far")


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
def test_a_provider_that_begins_to_count_more_refuses_once(
    provider: StrictProvider, stack: ExitStack, wire: str
) -> None:
    """The next request is smaller and passes; no later one is refused again."""
    model = told(stack.enter_context(chat_model(provider, wire)), WINDOW)
    talk = Talk(policy=ContextPolicy(summarize=False, enabled=False))
    grow(talk, model, provider, WINDOW * 7 // 10)
    assert refused(provider) == []

    provider.inflation = 1.5
    for n in range(6):
        talk.say(model, f"Go on, {n}.")

    sizes = [seen.tokens for seen in refused(provider)]
    assert sizes == sorted(set(sizes), reverse=True)
    assert len(sizes) <= (1 if wire in NUMBERED else 2)


@pytest.mark.slow
@pytest.mark.nightly
def test_a_provider_that_counts_less_is_believed_slowly(
    provider: StrictProvider, stack: ExitStack
) -> None:
    """More and more of the window is filled, and never too much."""
    model = told(stack.enter_context(chat_model(provider, "openai-chat")), WINDOW)
    talk = Talk(policy=ContextPolicy(summarize=False, enabled=False))
    provider.inflation = 1.5
    grow(talk, model, provider, WINDOW * 7 // 10)
    provider.inflation = 1.0
    for n in range(4):
        talk.say(model, f"Soon, {n}.")
    early = max(seen.tokens for seen in provider.requests[-8:])
    for n in range(12):
        talk.say(model, f"Later, {n}.")

    late = max(seen.tokens for seen in provider.requests[-8:])
    assert refused(provider) == []
    assert early < late <= WINDOW


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
def test_a_window_that_nobody_told_of_is_found_and_remembered(
    provider: StrictProvider, stack: ExitStack, wire: str
) -> None:
    """A client that believes in ten times the window sends too much once."""
    model = told(stack.enter_context(chat_model(provider, wire)), 10 * WINDOW)
    talk = Talk(policy=ContextPolicy(summarize=False, enabled=False))
    provider.window = 10 * WINDOW
    grow(talk, model, provider, 3 * WINDOW)
    provider.window = WINDOW
    for n in range(8):
        talk.say(model, f"Go on, {n}.")

    sizes = [seen.tokens for seen in refused(provider)]
    assert sizes == sorted(set(sizes), reverse=True)
    assert 0 < len(sizes) <= (1 if wire in NUMBERED else 4)


def test_a_thread_outgrows_the_smallest_window_where_the_provider_counts_more(
    provider: StrictProvider, stack: ExitStack
) -> None:
    """Each request that is refused is sent smaller, though all are too small to learn from."""
    provider.window, provider.inflation = 1_064, 1.2
    model = told(stack.enter_context(chat_model(provider, "openai-chat")), 1_064)
    talk = Talk(policy=ContextPolicy(summarize=False, max_output=64), tools=())
    for n in range(20):
        talk.say(model, f"Part {n}: " + "the river runs deep and the boats are slow; " * 6)

    assert 0 < len(refused(provider)) < 20


def test_a_body_that_is_too_large_is_sent_smaller(
    provider: StrictProvider, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes are a ceiling of their own, and remembered like the window."""
    provider.window = 4 * WINDOW
    model = told(stack.enter_context(chat_model(provider, "openai-chat")), 4 * WINDOW)
    talk = Talk(policy=ContextPolicy(summarize=False, enabled=False))
    for dialect in provider._dialects.values():  # noqa: SLF001 (a smaller one than the provider's)
        monkeypatch.setattr(dialect, "body_bytes", 90_000)
    for n in range(20):
        talk.say(model, f"Read file {n}. " + "These are the words of the order. " * 150)

    assert 0 < len(refused(provider)) <= 3
    assert all(seen.status == 413 for seen in refused(provider))


def test_too_many_pictures_are_sent_as_fewer(provider: StrictProvider, stack: ExitStack) -> None:
    """The oldest are named by a handle; what the user just sent is still seen."""
    provider.window = 500_000  # below a million, Anthropic accepts 100
    model = told(stack.enter_context(chat_model(provider, "anthropic")), 500_000)
    talk = Talk(policy=ContextPolicy(summarize=False, enabled=False))
    pictures = [PICTURE] * 30
    for n in range(5):
        talk.say(model, HumanMessage([{"type": "text", "text": f"Look, {n}."}, *pictures]))

    assert refused(provider) == []
    assert pictures_in(provider.requests[-1]) <= 100


def test_one_picture_that_is_too_large_does_not_end_a_thread(
    provider: StrictProvider, stack: ExitStack
) -> None:
    """It is shown as a handle instead, and later pictures are shown again."""
    provider.window = 1_000_000
    model = told(stack.enter_context(chat_model(provider, "anthropic")), 1_000_000)
    talk = Talk(policy=ContextPolicy(summarize=False, enabled=False))
    huge = {**PICTURE, "base64": "AAAA" * 1_400_000}
    talk.say(model, HumanMessage([{"type": "text", "text": "Look at this."}, huge]))
    talk.say(model, HumanMessage([{"type": "text", "text": "And at this."}, PICTURE]))

    assert len(refused(provider)) == 1
    assert pictures_in(provider.requests[-1]) == 1


@pytest.mark.parametrize("wire", WIRES)
def test_a_system_prompt_that_does_not_fit_is_named(
    provider: StrictProvider, stack: ExitStack, wire: str
) -> None:
    """Nothing is sent, and the thread continues with a model that has enough space."""
    model = told(stack.enter_context(chat_model(provider, wire)), WINDOW)
    talk = Talk(system="Mind this rule of the house. " * 5_000)

    with pytest.raises(WindowExceededError) as caught:
        talk.say(model, "Hello?")

    assert caught.value.irreducible[0].startswith("system ")
    assert provider.requests == []
    provider.models["large"] = Model(window=200_000)
    large = told(stack.enter_context(chat_model(provider, wire, model="large")), 200_000)
    assert talk.say(large, "Hello again?") == "I read it."
    assert "Hello?" in str(provider.requests[0].body)


def test_tools_that_do_not_fit_are_named(provider: StrictProvider, stack: ExitStack) -> None:
    """Schemas count, and cannot shrink."""

    def many(n: int) -> BaseTool:
        def run(path: str) -> str:
            return path

        words = f"Tool {n}: " + "does this and that to a file of the project. " * 20
        return StructuredTool.from_function(run, name=f"tool_{n}", description=words)

    model = told(stack.enter_context(chat_model(provider, "openai-chat")), WINDOW)
    talk = Talk(tools=tuple(many(n) for n in range(150)))

    with pytest.raises(WindowExceededError) as caught:
        talk.say(model, "Hello?")

    assert caught.value.irreducible[0].startswith("tools ")
    assert provider.requests == []


def test_what_the_provider_refuses_to_the_end_is_an_error_with_numbers(
    provider: StrictProvider, stack: ExitStack
) -> None:
    """A provider that takes next to nothing is asked a bounded number of times."""
    provider.window = 1_500
    model = told(stack.enter_context(chat_model(provider, "openai-chat")), WINDOW)
    talk = Talk(system="Mind this rule of the house. " * 500)

    with pytest.raises(WindowExceededError) as caught:
        talk.say(model, "Hello?")

    assert caught.value.irreducible[0].startswith("system ")
    assert 0 < len(refused(provider)) <= 6
    provider.models["large"] = Model(window=WINDOW)
    large = told(stack.enter_context(chat_model(provider, "openai-chat", model="large")), WINDOW)
    assert talk.say(large, "Hello again?")


class Reminder(AgentMiddleware[Any, Any, Any]):
    """Adds a memory to every request, after the context middleware."""

    def __init__(self, words: str, *, where: str) -> None:
        super().__init__()
        self._words, self._where = words, where

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """See `AgentMiddleware`."""
        if self._where == "system":
            said = f"{request.system_prompt}\n{self._words}"
            return handler(request.override(system_message=SystemMessage(said)))
        memory = HumanMessage(f"<memory>{self._words}</memory>")
        return handler(request.override(messages=[memory, *request.messages]))


@pytest.mark.slow
@pytest.mark.parametrize("where", ["system", "messages"])
@pytest.mark.parametrize("wire", WIRES)
def test_what_other_middleware_adds_later_is_counted(
    provider: StrictProvider, stack: ExitStack, wire: str, where: str
) -> None:
    """A memory of half the window is injected after us, and no request is sent too large."""
    model = told(stack.enter_context(chat_model(provider, wire)), WINDOW)
    memory = Reminder("The user likes short answers and long walks. " * 1_000, where=where)
    talk = Talk(memory, policy=ContextPolicy(summarize=False, enabled=False))
    for n in range(9):
        talk.say(model, f"Read file {n}.")

    assert refused(provider) == []
    assert min(seen.tokens for seen in provider.requests) > 8_000
