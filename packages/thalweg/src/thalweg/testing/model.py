"""A chat model that answers by a script: an agent under test needs no provider."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool

from thalweg.engine.tokens import count_json, exact_counter, measure
from thalweg.engine.wires.registry import WIRES

Script = Callable[[Sequence[BaseMessage]], AIMessage | str]
"""Returns the model's answer to the messages it is sent."""


class OfflineModel(BaseChatModel):
    """What chat models without a provider have in common: they take tools as any does."""

    model: str = "scripted"

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self,
        tools: Sequence[Any],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,  # noqa: ANN401 (LangChain's signature)
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Take tools as a provider's model does; the model decides whether one is called."""
        schemas = [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=schemas, tool_choice=tool_choice, **kwargs)


class ScriptedModel(OfflineModel):
    """Returns its script's answers, and reports the tokens of its input as usage.

    Input tokens are those of every message (calls, reasoning and images included) and of the
    schemas of the tools.

    Example:
        >>> model = ScriptedModel(script=lambda messages: f"{len(messages)} messages")
        >>> model.invoke("hi").content
        '1 messages'
    """

    script: Script

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 (LangChain's signature)
    ) -> ChatResult:
        del stop, run_manager
        reply = self.script(messages)
        answer = AIMessage(reply) if isinstance(reply, str) else reply
        count = exact_counter()
        tool_tokens = count_json(kwargs["tools"], count) if kwargs.get("tools") else 0
        input_tokens, output_tokens = tool_tokens + _tokens(messages), _tokens([answer])
        usage = {
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
            "total_tokens": input_tokens + output_tokens,
        }
        answer = answer.model_copy(update={"usage_metadata": usage})
        return ChatResult(generations=[ChatGeneration(message=answer)])


def _tokens(messages: Sequence[BaseMessage]) -> int:
    parsed, _ = WIRES["langchain"].read(messages)
    return sum(measure(message, exact_counter()).tokens for message in parsed)
