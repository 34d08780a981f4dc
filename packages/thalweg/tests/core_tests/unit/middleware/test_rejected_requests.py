"""A provider refuses what a request contains: it is repaired and sent once more."""

import json
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from core_tests.strict_requests import messages_of
from strict_llm import Answer, Request, Seen, StrictProvider
from strict_llm_tests.chat_models import WIRES, chat_model
from thalweg.archive import ThreadKey
from thalweg.archive.threads.thread_history import turns
from thalweg.context.middleware import ContextMiddleware
from thalweg.context.turn.events import REJECTED_EVENT
from thalweg.errors import RejectedRequestError
from thalweg.testing import ScriptedModel


@tool
def look(path: str) -> str:
    """Look at a file."""
    return f"{path}: nothing of interest"


def looking(request: Request) -> Answer:
    """Look at a file where the user asks for one, then answer."""
    newest = messages_of(request)[-1]
    if newest.role == "user" and "look" in newest.text.splitlines()[-1]:
        return Answer(calls=(("look", {"path": f"{request.number}.md"}),))
    return Answer(f"That was request {request.number}.")


@pytest.fixture
def provider() -> Iterator[StrictProvider]:
    with StrictProvider(answer=looking) as provider:
        yield provider


@pytest.fixture(params=WIRES)
def model(request: pytest.FixtureRequest, provider: StrictProvider) -> Iterator[BaseChatModel]:
    with ExitStack() as stack:
        yield stack.enter_context(chat_model(provider, request.param))


class Talk:
    """One thread of an agent, and the events of its runs."""

    def __init__(self, model: BaseChatModel) -> None:
        self.middleware = ContextMiddleware(archive=":memory:")
        self._agent: Any = create_agent(
            model, [look], middleware=[self.middleware], checkpointer=InMemorySaver()
        )
        self.events: list[dict[str, Any]] = []

    def say(self, text: str) -> str:
        """Send a message; return the answer."""
        config = {"configurable": {"thread_id": "t"}}
        stream = self._agent.stream(
            {"messages": [("user", text)]}, config, stream_mode=["custom", "values"]
        )
        last: Any = None
        for mode, part in stream:
            if mode == "custom":
                self.events.append(part)
            else:
                last = part["messages"][-1]
        return str(last.text)


def bodies(provider: StrictProvider, *, refused: bool) -> list[str]:
    """Return the conversations that were refused, or those that were accepted, as text."""
    seen = [one for one in provider.requests if (one.status == 400) == refused]
    return [conversation(one) for one in seen]


def conversation(seen: Seen) -> str:
    assert seen.body is not None
    return json.dumps(seen.body.get("messages", seen.body.get("input")))


def test_a_refusal_without_explanation_is_repaired_in_the_same_run(
    provider: StrictProvider, model: BaseChatModel, caplog: pytest.LogCaptureFixture
) -> None:
    talk = Talk(model)
    talk.say("first, look")
    talk.say("second")
    provider.fail_next("invalid")
    with caplog.at_level(logging.WARNING, "thalweg.requests"):
        assert talk.say("third, look").startswith("That was")
    assert [talk.say(f"message {n}")[:8] for n in range(3)] == ["That was"] * 3

    (refused,) = bodies(provider, refused=True)
    assert refused not in bodies(provider, refused=False)
    (event,) = [one for one in talk.events if one["type"] == REJECTED_EVENT]
    assert event["cause"] == "not explained"
    assert {edit["kind"] for edit in event["edits"]} >= {"fold"}
    assert "retrying with 1 fold" in caplog.text


def test_a_refusal_of_the_repair_too_is_a_typed_error_and_the_thread_goes_on(
    provider: StrictProvider, model: BaseChatModel
) -> None:
    talk = Talk(model)
    talk.say("first, look")
    talk.say("second")
    provider.fail_next("invalid", times=2)
    with pytest.raises(RejectedRequestError, match="1 fold") as raised:
        talk.say("third")
    assert raised.value.__cause__ is not None
    assert "thalweg thread show t --context" in str(raised.value)
    assert [talk.say(f"message {n}")[:8] for n in range(3)] == ["That was"] * 3

    refused = bodies(provider, refused=True)
    assert len(set(refused)) == 2
    assert not set(refused) & set(bodies(provider, refused=False))
    pages = [turn.page for turn in turns(talk.middleware.archive, ThreadKey("local", "t"))]
    assert sum(bool(page.rejected) for page in pages) == 1


def test_nothing_refused_is_in_the_next_request_where_nothing_could_be_repaired(
    provider: StrictProvider, model: BaseChatModel
) -> None:
    """A call and its result in the run that is refused: they are the newest exchange."""
    talk = Talk(model)
    calls = iter(range(9))

    def refusing(request: Request) -> Answer:
        del request
        if next(calls) == 0:
            provider.fail_next("invalid")
            return Answer(calls=(("look", {"path": "secret.md"}),))
        return Answer("Fine.")

    provider.answer = refusing
    with pytest.raises(RejectedRequestError, match="no change could make it acceptable"):
        talk.say("look")
    assert [talk.say(f"message {n}") for n in range(3)] == ["Fine."] * 3
    call_ids = re.compile(r"(?:call|toolu)_\w{20,}")
    assert call_ids.search(bodies(provider, refused=True)[0])
    assert not call_ids.search(bodies(provider, refused=False)[-1])


class RolesRefusedError(Exception):
    """The answer of a server whose chat template demands that roles alternate."""

    status_code = 400

    def __str__(self) -> str:
        return "Conversation roles must alternate user/assistant/user/assistant/..."


def test_a_model_that_refuses_two_answers_in_a_row_gets_a_line_between_them() -> None:
    """It is refused once; nothing is compacted, and later requests of any thread have the line."""
    sent: list[list[str]] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        sent.append([message.type for message in messages])
        if ("ai", "ai") in pairwise(sent[-1]):
            raise RolesRefusedError
        return "done"

    middleware = ContextMiddleware(archive=":memory:")
    agent = create_agent(
        ScriptedModel(script=script), [], middleware=[middleware], checkpointer=InMemorySaver()
    )
    for thread in ("t1", "t2"):
        messages: Any = [("user", "a"), ("ai", "b"), ("ai", "c"), ("user", "d")]
        agent.invoke({"messages": messages}, {"configurable": {"thread_id": thread}})

    separated = ["human", "ai", "human", "ai", "human"]
    assert sent == [["human", "ai", "ai", "human"], separated, separated]


class DeletedFileError(Exception):
    """Gemini's answer for a file that it has deleted."""

    status_code = 403

    def __str__(self) -> str:
        return "You do not have permission to access the File 6w9x or it may not exist."


def test_a_thread_continues_without_a_file_that_the_provider_has_deleted() -> None:
    """Gemini keeps a file for two days."""
    file = {"type": "file", "url": "https://files.example/6w9x", "mime_type": "application/pdf"}

    def script(messages: Sequence[BaseMessage]) -> str:
        if "files.example" in str([message.content for message in messages]):
            raise DeletedFileError
        return "done"

    middleware = ContextMiddleware(archive=":memory:")
    agent = create_agent(ScriptedModel(script=script), [], middleware=[middleware])
    answer = agent.invoke({"messages": [HumanMessage([{"type": "text", "text": "Read"}, file])]})
    assert answer["messages"][-1].text == "done"
