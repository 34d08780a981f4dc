"""`UnsupportedContentMiddleware`: content that the model's profile excludes is not sent."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
)
from langchain_core.messages import AnyMessage, ToolMessage

from thalweg.context.turn.effects import RequestChange
from thalweg_agent.prompts import prompt

_FIELDS: Final[Mapping[str, str]] = {
    "image": "image_inputs",
    "audio": "audio_inputs",
    "video": "video_inputs",
    "file": "pdf_inputs",
}
"""The field of a model's profile (`BaseChatModel.profile`) for each type of block."""
_TOOL_FIELDS: Final[Mapping[str, str]] = {
    "image": "image_tool_message",
    "file": "pdf_tool_message",
}
"""The further field that counts in the result of a tool."""


class UnsupportedContentMiddleware(RequestChange, AgentMiddleware[AgentState[Any], Any, Any]):
    """Replace blocks that the model's profile excludes by a line of text, in the request only.

    The state keeps the blocks, so that another model gets them. A field that the profile does not
    have excludes nothing. An agent with `ContextMiddleware` needs no such middleware.
    """

    def change_request(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Replace content that the model does not accept."""
        messages = without_unsupported(request.messages, request.model.profile or {})
        return request.override(messages=messages)


def without_unsupported(
    messages: Sequence[AnyMessage], profile: Mapping[str, Any]
) -> list[AnyMessage]:
    """Return messages whose blocks the profile allows; an unchanged message is the same object."""
    return [_without(message, profile) for message in messages]


def _without(message: AnyMessage, profile: Mapping[str, Any]) -> AnyMessage:
    if isinstance(message.content, str):
        return message
    is_result = isinstance(message, ToolMessage)
    blocks: list[Any] = [
        block if _accepts(profile, block, is_result=is_result) else _placeholder(block)
        for block in message.content_blocks
    ]
    if blocks == message.content_blocks:
        return message
    return message.model_copy(update={"content": blocks})


def _accepts(profile: Mapping[str, Any], block: Mapping[str, Any], *, is_result: bool) -> bool:
    kind = block["type"]
    if kind == "file" and block.get("mime_type", "application/pdf") != "application/pdf":
        return True
    fields = [_FIELDS.get(kind), _TOOL_FIELDS.get(kind) if is_result else None]
    return all(profile.get(field) is not False for field in fields if field)


def _placeholder(block: Mapping[str, Any]) -> dict[str, str]:
    return {"type": "text", "text": prompt("content_unsupported").render(kind=block["type"])}
