"""A chat model that returns the time, at a steady rate: an event contains how late it is."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult


class TickingModel(BaseChatModel):
    """Answers with nanoseconds of the clock, each at the time it is sent."""

    model: str = "ticking"
    rate: float = 2.0
    """Words a second."""
    ticks: int = 20
    """Words of an answer."""

    @property
    def _llm_type(self) -> str:
        return "ticking"

    def bind_tools(self, tools: object, **kwargs: Any) -> "TickingModel":  # noqa: ANN401, ARG002
        """Take any tools, and call none."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],  # noqa: ARG002
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,  # noqa: ANN401, ARG002
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(str(time.time_ns())))])

    async def _astream(
        self,
        messages: list[BaseMessage],  # noqa: ARG002
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401, ARG002
    ) -> AsyncIterator[ChatGenerationChunk]:
        for _ in range(self.ticks):
            await asyncio.sleep(1 / self.rate)
            said = f"{time.time_ns()} "
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=said))
            if run_manager is not None:
                await run_manager.on_llm_new_token(said, chunk=chunk)
            yield chunk
        total = 10 + self.ticks
        usage = UsageMetadata(input_tokens=10, output_tokens=self.ticks, total_tokens=total)
        yield ChatGenerationChunk(message=AIMessageChunk(content="", usage_metadata=usage))
