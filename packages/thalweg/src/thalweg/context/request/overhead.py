"""Overhead tokens of a request: the system prompt and the tools."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from langchain.agents.middleware.types import ModelRequest

from thalweg.context.ready_tools import Tool, ToolsKey, as_openai
from thalweg.context.request.guard import cached_counter, count_text, tools_as_json
from thalweg.context.request.message_writer import read_state
from thalweg.engine.entries import message_to_json
from thalweg.engine.tokens import Counter, measure


@dataclass(frozen=True, slots=True)
class Overhead:
    """System prompt and tools of one request, as texts and counted."""

    system: str
    """The system message as JSON (`message_to_json`); empty if there is none."""
    tools: str
    """The schemas of the tools as a JSON list; empty if there are none."""
    system_tokens: int
    tools_tokens: int

    @classmethod
    def of(
        cls,
        request: ModelRequest[Any],
        count: Counter,
        tools: Sequence[Tool],
        later: Sequence[Tool] = (),
    ) -> "Overhead":
        """Read and count them in a request.

        Args:
            request: The request.
            count: Counts the tokens of a text.
            tools: The tools before its messages.
            later: Tools that are loaded among its messages: they count, and are no part of what
                every request begins with.
        """
        system, system_tokens = "", 0
        if request.system_message is not None:
            (message,) = read_state([request.system_message])
            system, system_tokens = (
                message_to_json(message),
                measure(message, cached_counter(count)).tokens,
            )
        prefix_schemas, later_schemas = _schemas(ToolsKey(tools)), _schemas(ToolsKey(later))
        tokens = sum(count_text(text, count) for text in (prefix_schemas, later_schemas) if text)
        return cls(system, prefix_schemas, system_tokens, tokens)


@lru_cache(maxsize=32)
def _schemas(tool_set: ToolsKey) -> str:
    return tools_as_json([as_openai(tool) for tool in tool_set.tools]) if tool_set.tools else ""
