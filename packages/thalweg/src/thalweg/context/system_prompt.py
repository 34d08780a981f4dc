"""What middleware adds to the system prompt of a request."""

from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import SystemMessage
from langchain_core.messages.content import ContentBlock

from thalweg.engine.additions import Addition

_PARTS_KEY = "thalweg_parts"
"""Key in the state of a request, which is not stored, to pass on the named parts."""


def with_text(request: ModelRequest[Any], text: str) -> ModelRequest[Any]:
    """Add a text to the end of the system prompt, as a block of its own."""
    old_prompt = request.system_message
    blocks: list[ContentBlock] = list(old_prompt.content_blocks) if old_prompt else []
    blocks.append({"type": "text", "text": f"\n\n{text}" if blocks else text})
    return request.override(system_message=SystemMessage(content_blocks=blocks))


def with_part(request: ModelRequest[Any], addition: Addition) -> ModelRequest[Any]:
    """Add a text as `with_text` does, and list it as a part of its own."""
    state: Any = {**request.state, _PARTS_KEY: (*parts_of(request), addition)}
    return with_text(request, addition.text).override(state=state)


def parts_of(request: ModelRequest[Any]) -> Sequence[Addition]:
    """Return the parts of the system prompt that middleware has added by name."""
    state: Any = request.state
    parts = state.get(_PARTS_KEY)
    return parts if isinstance(parts, tuple) else ()
