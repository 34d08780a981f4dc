"""Overhead tokens of a request: the system prompt and the tools."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from langchain.agents.middleware.types import ModelRequest

from thalweg.context.ready_tools import SameTools, Tool, as_openai
from thalweg.context.request.guard import count_text, counted_once, written
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
        """Read them off a request.

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
                measure(message, counted_once(count)).tokens,
            )
        first, loaded = _schemas(SameTools(tools)), _schemas(SameTools(later))
        tokens = sum(count_text(text, count) for text in (first, loaded) if text)
        return cls(system, first, system_tokens, tokens)


@lru_cache(maxsize=32)
def _schemas(tool_set: SameTools) -> str:
    return written([as_openai(tool) for tool in tool_set.tools]) if tool_set.tools else ""
