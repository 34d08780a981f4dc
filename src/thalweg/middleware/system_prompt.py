"""What middleware adds to the system prompt of a request."""

from typing import Any

from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import SystemMessage
from langchain_core.messages.content import ContentBlock


def with_text(request: ModelRequest[Any], text: str) -> ModelRequest[Any]:
    """Add a text behind the system prompt, as a block of its own."""
    before = request.system_message
    blocks: list[ContentBlock] = list(before.content_blocks) if before else []
    blocks.append({"type": "text", "text": f"\n\n{text}" if blocks else text})
    return request.override(system_message=SystemMessage(content_blocks=blocks))
