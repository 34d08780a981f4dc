"""Requests of Pydantic AI with several parts, which are several messages of ours."""

from dataclasses import replace

import pytest

pytest.importorskip("pydantic_ai", reason="the extra `pydantic-ai` is not installed")

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from thalweg.engine.entries import Text
from thalweg_integrations.pydantic_messages import read_messages, write_messages

HISTORY: list[ModelMessage] = [
    ModelRequest(parts=[SystemPromptPart("Be brief."), UserPromptPart("Read both files.")]),
    ModelResponse(
        parts=[ToolCallPart("read", {"path": k}, tool_call_id=f"c{k}") for k in range(2)]
    ),
    ModelRequest(parts=[ToolReturnPart("read", f"text {k}", f"c{k}") for k in range(2)]),
]


def test_a_request_with_several_parts_is_sent_once_as_it_was() -> None:
    written = write_messages(read_messages(HISTORY))

    assert len(written) == len(HISTORY)
    assert all(one is other for one, other in zip(written, HISTORY, strict=True))


def test_a_part_that_was_edited_leaves_the_others_as_they_are() -> None:
    *others, first, second = read_messages(HISTORY)
    edited = replace(first, parts=(Text("[removed]"),), origin=None)

    written = write_messages([*others, edited, second])

    assert written[:2] == HISTORY[:2]
    assert _contents(written[2]) == ["[removed]", "text 1"]


def test_a_part_that_is_missing_is_not_sent() -> None:
    *others, _, second = read_messages(HISTORY)

    written = write_messages([*others, second])

    assert _contents(written[2]) == ["text 1"]


def _contents(message: ModelMessage) -> list[object]:
    return [part.content for part in message.parts if isinstance(part, ToolReturnPart)]
