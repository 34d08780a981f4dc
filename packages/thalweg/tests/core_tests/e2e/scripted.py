"""A chat model that answers by rule from what it is sent, and agents around it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    CallbackManagerForLLMRun,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.graph.state import CompiledStateGraph
from pydantic import ConfigDict, Field

from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.window.items import check
from thalweg.engine.wires.langchain import LangChainWire

Agent = CompiledStateGraph[Any, Any, Any, Any]
Rule = Callable[[Sequence[BaseMessage]], AIMessage]


class RuledModel(BaseChatModel):
    """Answers by its rule; keeps every request and what is wrong with it."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    rule: Rule
    requests: list[list[BaseMessage]] = Field(default_factory=list)
    problems: list[str] = Field(default_factory=list)
    delay_s: float = 0.0

    @property
    def _llm_type(self) -> str:
        return "ruled"

    def bind_tools(self, tools: object, **kwargs: Any) -> "RuledModel":  # noqa: ANN401, ARG002
        """Accept any tools: the rule has them already."""
        return self

    def _answer(self, messages: Sequence[BaseMessage]) -> AIMessage:
        self.requests.append(list(messages))
        read, _ = LangChainWire().read(messages)
        self.problems += check(read)
        return self.rule(messages)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,  # noqa: ANN401, ARG002
    ) -> ChatResult:
        time.sleep(self.delay_s)
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,  # noqa: ANN401, ARG002
    ) -> ChatResult:
        await asyncio.sleep(self.delay_s)
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages))])


class StreamingModel(RuledModel):
    """The same, a word at a time."""

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401, ARG002
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in self._chunks(messages):
            if run_manager:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401, ARG002
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._chunks(messages):
            if run_manager:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    def _chunks(self, messages: Sequence[BaseMessage]) -> Iterator[ChatGenerationChunk]:
        answer = self._answer(messages)
        for word in answer.text.split(" "):
            yield ChatGenerationChunk(message=AIMessageChunk(content=word))


def says(*answers: str | AIMessage | BaseException) -> Rule:
    """Make a rule that answers with these texts in order, then with the last again and again."""
    left = list(answers)

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        del messages
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, BaseException):
            raise answer
        return AIMessage(answer) if isinstance(answer, str) else answer.model_copy()

    return rule


def calls(name: str, call_id: str, **arguments: object) -> AIMessage:
    """Make an answer that calls a tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": call_id}])


def agent_with(
    model: BaseChatModel,
    context: ContextMiddleware | None,
    *middleware: Any,  # noqa: ANN401
    **given: Any,  # noqa: ANN401
) -> Agent:
    """Make an agent."""
    stack = [*middleware, *([context] if context else [])]
    return create_agent(model, middleware=stack, **given)
