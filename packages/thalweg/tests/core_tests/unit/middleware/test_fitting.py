"""Another model's messages are made plain for the one that is asked next."""

from dataclasses import replace
from typing import Any

import pytest
from langchain.agents.middleware.types import ModelRequest
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from thalweg.context.request.messages import (
    MessageWriter,
    TargetModel,
    adapt_message,
    is_own,
    read_state,
    target_model_of,
    without_thinking,
)
from thalweg.engine.window.items import WindowItem
from thalweg.testing import ScriptedModel

KEY = SecretStr("x")
CLAUDE = TargetModel("anthropic:claude-a", "anthropic")
CHAT = TargetModel("openai:gpt-a", "openai-chat")
RESPONSES = TargetModel("openai:gpt-a", "openai-responses")
PICTURE = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s1"}


def claude(asked: str = "anthropic:claude-a", *, thinks: bool = True) -> AIMessage:
    use: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "ls", "input": {"p": "."}}
    blocks: list[str | dict[str, Any]] = [THOUGHT] if thinks else []
    return AIMessage(
        [*blocks, {"type": "text", "text": "Let me look."}, use],
        tool_calls=[{"id": "t1", "name": "ls", "args": {"p": "."}}],
        response_metadata={"thalweg_model": asked},
    )


def gpt() -> AIMessage:
    return AIMessage(
        [
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
            {"type": "text", "text": "Done.", "id": "msg_1", "annotations": []},
        ],
        id="resp_1",
        response_metadata={"thalweg_model": "openai:gpt-a"},
    )


def written(to: TargetModel, *messages: BaseMessage) -> tuple[list[BaseMessage], MessageWriter]:
    wording = MessageWriter()
    wording.speak_to(to)
    items = [
        WindowItem(
            message, n, 10, section="system" if n == 0 and message.role == "system" else "history"
        )
        for n, message in enumerate(read_state(messages))
    ]
    return list(wording.write(items)), wording


def test_ones_own_answer_goes_out_as_the_very_object() -> None:
    """Signed reasoning is identical to the byte when nothing touches it."""
    answer, result = claude(), ToolMessage("a.py", tool_call_id="t1")
    sent, wording = written(CLAUDE, HumanMessage("look"), answer, result)

    assert sent[1] is answer
    assert not wording.lacks_thinking


def test_another_models_reasoning_goes_by_the_whole_loop() -> None:
    """Also what the listener itself thought in a loop that another began; older loops are kept."""
    older, own, result = claude(), claude(), ToolMessage("a.py", tool_call_id="t1")
    other = claude("anthropic:claude-b")
    said = [HumanMessage("one"), older, result, HumanMessage("two"), other, result, own, result]
    sent, wording = written(CLAUDE, *said)

    assert sent[1] is older
    assert "hm" not in str(sent[4:])
    assert wording.lacks_thinking


def test_a_loop_whose_beginning_did_not_think_is_sent_without_the_setting() -> None:
    """Anthropic refuses it with the setting; the model of the request is not changed itself."""
    model = ChatAnthropic(
        model_name="claude-a",
        api_key=KEY,
        thinking={"type": "enabled", "budget_tokens": 1_024},
        timeout=None,
        stop=None,
    )
    request = ModelRequest(model=model, messages=[])
    _, wording = written(CLAUDE, HumanMessage("look"), claude(thinks=False))

    assert wording.lacks_thinking
    assert getattr(without_thinking(request).model, "thinking", "") is None
    assert model.thinking is not None


def test_items_whose_reasoning_is_gone_go_without_their_ids() -> None:
    """OpenAI refuses an item without the reasoning it belongs to."""
    (message,) = read_state([gpt()])
    thoughtless = replace(message, parts=message.parts[1:], origin=None)

    assert adapt_message(message, RESPONSES, is_own_answer=True, sends_reasoning=True) is message
    assert "msg_1" not in str(
        adapt_message(thoughtless, RESPONSES, is_own_answer=True, sends_reasoning=True)
    )
    assert "rs_1" not in str(
        adapt_message(message, RESPONSES, is_own_answer=True, sends_reasoning=False).parts
    )


@pytest.mark.parametrize("to", [CLAUDE, CHAT, replace(RESPONSES, model="openai:gpt-b")])
def test_of_a_foreign_answer_words_and_calls_are_left(to: TargetModel) -> None:
    """Any model that is asked next takes plain text and calls."""
    sent, _ = written(to, HumanMessage("look"), gpt(), HumanMessage("more"), claude("x:y"))

    assert sent[1].content == "Done."
    assert isinstance(sent[3], AIMessage)
    assert sent[3].content == "Let me look."
    assert [call["id"] for call in sent[3].tool_calls] == ["t1"]


def test_pictures_in_results_go_behind_all_results_of_a_chat_completion() -> None:
    """OpenAI's older interface takes text only in a result; the others take it as it is."""
    results = [ToolMessage([PICTURE], tool_call_id="t1"), ToolMessage("b", tool_call_id="t2")]
    calls: list[Any] = [{"id": f"t{n}", "name": "look", "args": {}} for n in (1, 2)]
    said = [HumanMessage("look"), AIMessage("", tool_calls=calls), *results]
    sent, wording = written(CHAT, *said)

    assert [message.type for message in sent] == ["human", "ai", "tool", "tool", "human"]
    assert "AAAA" in str(sent[-1].content)
    assert "AAAA" not in str(sent[2].content)
    assert sum(one.tokens for one in wording.written) == 40
    assert len(written(CLAUDE, *said)[0]) == 4


def test_a_system_message_in_between_is_a_note_to_anthropic() -> None:
    """It takes one system prompt, at the head."""
    said = [SystemMessage("be brief"), HumanMessage("hi"), AIMessage("yes"), SystemMessage("now")]
    sent, _ = written(CLAUDE, *said, HumanMessage("go"))

    assert [message.type for message in sent] == ["system", "human", "ai", "human", "human"]
    assert "now" in sent[3].text


@pytest.mark.parametrize(
    ("meta", "own"),
    [
        ({"thalweg_model": "openai:gpt-a", "model_name": "anything"}, True),
        ({"thalweg_model": "openai:gpt-b", "model_name": "gpt-a"}, False),
        ({"model_provider": "openai", "model_name": "gpt-a-2026-01-31"}, True),
        ({"model_provider": "openai", "model_name": "gpt-a-mini"}, False),
        ({"model_provider": "azure", "model_name": "gpt-a"}, False),
        ({}, False),
    ],
)
def test_an_answer_is_known_by_who_was_asked(meta: dict[str, Any], *, own: bool) -> None:
    """Else by the name that the provider returns, without the date."""
    (message,) = read_state([AIMessage("hi", response_metadata=meta)])

    assert is_own(message, CHAT) is own


@pytest.mark.parametrize(
    ("asked", "own"), [("openai:gpt-a", True), ("openai:gpt-b", False), ("", False)]
)
def test_an_answer_without_a_name_is_known_by_the_journal(asked: str, *, own: bool) -> None:
    (message,) = read_state([AIMessage("hi", response_metadata={"model_name": "alias"})])

    assert is_own(message, CHAT, lambda: asked) is own


def test_the_client_is_told_by_the_model() -> None:
    """Who is asked, and by which of OpenAI's two interfaces."""

    def client(model: BaseChatModel) -> str:
        return target_model_of(ModelRequest(model=model, messages=[]), "").client

    assert client(ChatOpenAI(model="gpt-4o", api_key=KEY)) == "openai-chat"
    assert client(ChatOpenAI(model="gpt-4o", api_key=KEY, use_responses_api=True)) == (
        "openai-responses"
    )
    assert client(ChatAnthropic(model_name="claude-a", api_key=KEY, timeout=None, stop=None)) == (
        "anthropic"
    )
    assert client(ScriptedModel(script=lambda _: "hi")) == "other"
