"""Tool calls in the text of an answer.

llama.cpp reads calls in the form of the model's own template. A small model strays from that: it
writes the call into a block of code, or calls a tool that does not exist, which the agent answers
with the tools there are.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

_OBJECT: Final = re.compile(r'\{\s*"')
_OPENINGS: Final = ("```json", "```\n{", "{")
"""How an answer begins that may be a call."""


def with_calls(result: ChatResult) -> ChatResult:
    """Read tool calls out of an answer's text, whether such tools exist or not."""
    message = result.generations[0].message
    if not isinstance(message, AIMessage) or message.tool_calls:
        return result
    words, calls = read_calls(message.text)
    if not calls:
        return result
    made = [tool_call(name=name, args=args, id=f"call_{uuid4().hex}") for name, args in calls]
    read = message.model_copy(update={"content": words, "tool_calls": made})
    return result.model_copy(update={"generations": [ChatGeneration(message=read)]})


def read_calls(text: str) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    r"""Separate the tool calls at the end of an answer from the text before them.

    Example:
        >>> read_calls('Let me look.\n{"name": "ls", "arguments": {"path": "/"}}')
        ('Let me look.', [('ls', {'path': '/'})])
        >>> read_calls("An object is written {}.")
        ('An object is written {}.', [])
    """
    start = _OBJECT.search(text)
    rest, calls = text[start.start() :] if start else "", list[tuple[str, dict[str, Any]]]()
    while rest.startswith("{"):
        try:
            call, end = json.JSONDecoder().raw_decode(rest)
        except ValueError:
            return text, []
        name, arguments = call.get("name"), call.get("arguments", call.get("parameters", {}))
        if not (isinstance(name, str) and name and isinstance(arguments, dict)):
            return text, []
        calls.append((name, arguments))
        rest = rest[end:].lstrip(" \n,`")
    if start is None or rest.strip() or not calls:
        return text, []
    return text[: start.start()].rstrip().removesuffix("```json").strip(), calls


@dataclass(slots=True)
class ChunkBuffer:
    """Buffers the chunks of a stream that may be a call until that is certain."""

    is_offered: bool
    """Whether the request has tools: else nothing is held back."""
    _is_text: bool = False
    _held: list[ChatGenerationChunk] = field(default_factory=list)

    def take(self, chunk: ChatGenerationChunk) -> Iterator[ChatGenerationChunk]:
        """Take a chunk; yield those that are ready."""
        self._held.append(chunk)
        calls = isinstance(chunk.message, AIMessageChunk) and chunk.message.tool_call_chunks
        self._is_text |= bool(calls) or not (self.is_offered and self._may_call())
        if self._is_text:
            yield from self._held
            self._held = []

    def end(self) -> Iterator[ChatGenerationChunk]:
        """Yield what was held back: as calls where it is some, else as it came."""
        words, calls = read_calls("".join(chunk.text for chunk in self._held))
        for index, chunk in enumerate(self._held):
            if calls:
                chunk.message.content = words if index == 0 else ""
        if calls:
            made = [
                tool_call_chunk(
                    name=name, args=json.dumps(args), id=f"call_{uuid4().hex}", index=index
                )
                for index, (name, args) in enumerate(calls)
            ]
            yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=made))
        yield from self._held
        self._held = []

    def _may_call(self) -> bool:
        text = "".join(chunk.text for chunk in self._held).lstrip()
        return any(text.startswith(opening) or opening.startswith(text) for opening in _OPENINGS)
