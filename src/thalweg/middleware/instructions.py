"""What a middleware tells the model in the system prompt."""

from typing import Any, cast

from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import SystemMessage


def instructed(request: ModelRequest[Any], text: str) -> ModelRequest[Any]:
    """Put a text behind the system prompt of a request.

    What stands there already stays as it is, each middleware's part in a block of its own.
    """
    before = request.system_message
    blocks = list(before.content_blocks) if before is not None else []
    more = {"type": "text", "text": f"\n\n{text}" if blocks else text}
    content = cast("list[str | dict[str, Any]]", [*blocks, more])
    return request.override(system_message=SystemMessage(content=content))
