"""The model calls of a run, each charged when it is sent and corrected when its usage is known."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, GenerationChunk, LLMResult
from langgraph.errors import GraphBubbleUp

from thalweg.context.request.last_check import model_in
from thalweg.context.turn.turn import CACHED_TOKENS, INPUT_TOKENS
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.tokens import exact_counter
from thalweg_server.app.performing.problems import problem_of
from thalweg_server.app.performing.spans import end_model_span, model_span
from thalweg_server.app.performing.streaming import thinking_of
from thalweg_server.app.performing.watching import (
    FirstToken,
    ModelCalled,
    ModelFailed,
    Publish,
    ToolFailed,
)
from thalweg_server.app.spending import Prices, spent_in

_CHARS_PER_TOKEN = 4
"""Of a request that the context engine did not count."""
Charge = Callable[[Usage], None]
"""Adds the usage of a call, or a correction of one, to what the owner spent; blocks."""


@dataclass(slots=True)
class _Call:
    """A call without an end."""

    parent: UUID | None
    charged: Usage
    began: float
    span: Any
    text: str = ""
    """The streamed answer, reasoning included."""


class ModelCalls(AsyncCallbackHandler):
    """Charges all model calls of a run: of its agent, of subagents, of summaries, in tools.

    A call that is cut off costs its request, by our count, and the streamed part of the answer; one
    that its provider refused costs nothing.

    Args:
        owner: Whose run it is.
        charge: Receives usages and their corrections.
        prices: Computes costs.
        publish: Receives each call, and each error of a model or tool.
    """

    run_inline = True  # before the request is sent

    def __init__(self, owner: str, charge: Charge, prices: Prices, publish: Publish) -> None:
        self._owner = owner
        self._charge = charge
        self._prices = prices
        self._publish = publish
        self._calls: dict[UUID, _Call] = {}

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002 (LangChain's signature)
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **_: Any,  # noqa: ANN401
    ) -> None:
        """Charge a request; see `BaseCallbackHandler`."""
        for earlier in tuple(self._calls.values()):  # others begin and end meanwhile
            if earlier.parent == parent_run_id and not earlier.text:
                await self._correct(earlier, replace(earlier.charged, input=0, cached=0, calls=0))
        charged = _request(messages[0] if messages else (), metadata or {})
        unspent, span = Usage(calls=0, model=charged.model), model_span(charged.model)
        self._calls[run_id] = _Call(parent_run_id, unspent, time.time(), span)
        await self._correct(self._calls[run_id], charged)

    async def on_llm_new_token(
        self,
        token: str | list[str | dict[str, Any]],
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        **_: Any,  # noqa: ANN401
    ) -> None:
        """Keep what was streamed, which a cut-off call costs."""
        call = self._calls.get(run_id)
        if call is None:
            return
        message = chunk.message if isinstance(chunk, ChatGenerationChunk) else None
        more = token if isinstance(token, str) else ""
        more += thinking_of(message) if isinstance(message, AIMessageChunk) else ""
        if more and not call.text:
            self._publish(FirstToken(call.charged.model, time.time() - call.began))
        call.text += more

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401
        """Correct the charge by the usage that the provider reports."""
        call = self._calls.pop(run_id, None)
        first = response.generations[0][0] if response.generations else None
        if call is None or not isinstance(first, ChatGeneration):
            return
        reported = getattr(first.message, "usage_metadata", None)
        text = call.text or str(first.message.text)
        await self._end(call, spent_in(reported, call.charged.model), text)

    async def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401
        """Charge the streamed part of a call that broke off."""
        if (call := self._calls.pop(run_id, None)) is None:
            return
        if isinstance(error, Exception):
            code = problem_of(error).code
            self._publish(ModelFailed(call.charged.model, code))
            end_model_span(call.span, None, code)
        if call.text or not isinstance(error, Exception):
            await self._end(call, None, call.text)
        else:
            await self._correct(call, Usage(calls=0, model=call.charged.model))

    async def cut_off(self) -> None:
        """End the calls of a cancelled run: LangChain reports no end of them."""
        while self._calls:
            _, call = self._calls.popitem()
            await self._end(call, None, call.text)

    async def on_tool_error(self, error: BaseException, **_: Any) -> None:  # noqa: ANN401
        """Report an error of a tool."""
        if isinstance(error, Exception) and not isinstance(error, GraphBubbleUp):
            self._publish(ToolFailed(type(error).__name__))

    async def _end(self, call: _Call, reported: Usage | None, text: str) -> None:
        counted = replace(call.charged, calls=1, output=exact_counter()(text))
        usage = reported or counted
        end_model_span(call.span, usage)
        await self._correct(call, usage)
        self._publish(ModelCalled(usage.model, self._prices.usage(usage), self._owner))

    async def _correct(self, call: _Call, usage: Usage) -> None:
        """Change what a call is charged."""
        before, call.charged = call.charged, usage
        change = Usage(
            usage.input - before.input,
            usage.cached - before.cached,
            usage.written - before.written,
            usage.output - before.output,
            calls=usage.calls - before.calls,
            model=usage.model,
        )
        await asyncio.to_thread(self._charge, change)


def _request(messages: Sequence[BaseMessage], metadata: Mapping[str, Any]) -> Usage:
    """Return the usage of a request: by the context engine's count, or else by its characters."""
    counted = metadata.get(INPUT_TOKENS)
    if not isinstance(counted, int):
        counted = sum(len(str(message.content)) for message in messages) // _CHARS_PER_TOKEN
    return Usage(counted, int(metadata.get(CACHED_TOKENS) or 0), model=model_in(metadata))
