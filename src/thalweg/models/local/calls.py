"""Calls of tools in the words of an answer.

llama.cpp reads calls as the model's template writes them. A small model strays from that: it
wraps a call into a block of code, or calls a tool that is not there. What it meant is plain; the
agent can tell it which tools there are.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import ToolCallChunk, tool_call, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult


def with_calls(result: ChatResult) -> ChatResult:
    """Read an answer's calls of tools out of its words, wherever such tools exist or not."""
    message = result.generations[0].message
    if not isinstance(message, AIMessage) or message.tool_calls:
        return result
    words, calls = read_calls(message.text)
    if not calls:
        return result
    made = [tool_call(name=name, args=args, id=f"call_{uuid4().hex}") for name, args in calls]
    read = message.model_copy(update={"content": words, "tool_calls": made})
    return result.model_copy(update={"generations": [ChatGeneration(message=read)]})


def read_calls(said: str) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    r"""Part the calls of tools at the end of an answer from its words.

    Example:
        >>> read_calls('Let me look.\n{"name": "ls", "arguments": {"path": "/"}}')
        ('Let me look.', [('ls', {'path': '/'})])
        >>> read_calls("An object is written {}.")
        ('An object is written {}.', [])
    """
    start = said.find('{"')
    rest, calls = said[start:] if start >= 0 else "", list[tuple[str, dict[str, Any]]]()
    while rest.startswith("{"):
        try:
            call, end = json.JSONDecoder().raw_decode(rest)
        except ValueError:
            return said, []
        name, arguments = call.get("name"), call.get("arguments", call.get("parameters", {}))
        if not (isinstance(name, str) and name and isinstance(arguments, dict)):
            return said, []
        calls.append((name, arguments))
        rest = rest[end:].lstrip(" \n,`")
    if rest.strip() or not calls:
        return said, []
    return said[:start].removesuffix("```json\n").strip(), calls


def as_chunk(result: ChatResult) -> ChatGenerationChunk:
    """Give a whole answer as one chunk of a stream."""
    message = result.generations[0].message
    made = message.tool_calls if isinstance(message, AIMessage) else []
    chunk = AIMessageChunk(
        content=message.content,
        usage_metadata=message.usage_metadata if isinstance(message, AIMessage) else None,
        response_metadata=message.response_metadata,
        tool_call_chunks=_chunks([(call["name"], call["args"]) for call in made]),
    )
    return ChatGenerationChunk(message=chunk)


_OPENINGS: Final = ("```json", "```\n{", '{"')
"""How an answer begins that may be a call."""


@dataclass(slots=True)
class Listener:
    """Hears a stream, and holds back what may be a call until it is known whether it is one."""

    is_offered: bool
    """Whether there are tools: else nothing is held back."""
    has_told: bool = False
    """Whether part of the answer went on to whoever reads: it cannot be asked for again."""
    _held: list[ChatGenerationChunk] = field(default_factory=list)
    _begun: str = ""

    def take(self, chunk: ChatGenerationChunk) -> Iterator[ChatGenerationChunk]:
        """Hear a chunk, and give what can go on."""
        calls = isinstance(chunk.message, AIMessageChunk) and chunk.message.tool_call_chunks
        self._begun += chunk.text
        if self.is_offered and not self.has_told and not calls and self._may_call():
            self._held.append(chunk)
            return
        self.has_told = self.has_told or bool(calls or self._begun)
        yield from self._held
        self._held = []
        yield chunk

    def _may_call(self) -> bool:
        begun = self._begun.lstrip()
        return bool(self._begun) and any(
            begun.startswith(opening) or opening.startswith(begun) for opening in _OPENINGS
        )

    def end(self) -> Iterator[ChatGenerationChunk]:
        """Give what was held back: as calls where it is some, else as it came."""
        words, calls = read_calls("".join(chunk.text for chunk in self._held))
        for index, chunk in enumerate(self._held):
            if calls:
                chunk.message.content = words if index == 0 else ""
        if calls:
            yield ChatGenerationChunk(
                message=AIMessageChunk(content="", tool_call_chunks=_chunks(calls))
            )
        yield from self._held
        self._held = []


def _chunks(calls: list[tuple[str, dict[str, Any]]]) -> list[ToolCallChunk]:
    return [
        tool_call_chunk(name=name, args=json.dumps(args), id=f"call_{uuid4().hex}", index=index)
        for index, (name, args) in enumerate(calls)
    ]
