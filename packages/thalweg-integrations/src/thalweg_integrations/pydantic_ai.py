"""`ThalwegContext`: an endless thread for an agent of Pydantic AI."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any

from thalweg.archive import RECALL_TOOL, Archive
from thalweg.engine.extras import needs_extra
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.tokens import Counter
from thalweg_integrations.slot import EngineSlot, HostCall

with needs_extra("ThalwegContext"):
    from pydantic_ai import RetryModelRequest, RunContext, Tool
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.toolsets import FunctionToolset

    from thalweg_integrations.pydantic_messages import read_messages, write_messages

_WIRES = {"openai": "openai-chat", "anthropic": "anthropic", "google": "gemini"}
"""The wire by the name of a model's system; any other gets the rules of every provider."""


class ThalwegContext(AbstractCapability[Any]):
    """A capability whose agent's requests fit the model's window.

    Each request has the engine's view of the messages, and the agent has the tool `recall`. The
    run's own message history is not changed: `result.all_messages()` has all messages. A thread is
    a conversation of Pydantic AI (`conversation_id`).

    Args:
        policy: As for `ContextMiddleware`.
        archive: As for `EngineSlot`.
        owner: The owner of the threads.
        window: Tokens the model accepts; by default those of the model's profile or our table.
        token_counter: Returns the tokens of a text, in place of the exact count of o200k.

    Example:
        >>> from pydantic_ai import Agent
        >>> from pydantic_ai.models.test import TestModel
        >>> context = ThalwegContext(archive=":memory:")
        >>> agent = Agent(TestModel(call_tools=[]), capabilities=[context])
        >>> agent.run_sync("hello").output
        'success (no tool calls)'
    """

    def __init__(
        self,
        policy: ContextPolicy | Mapping[str, object] | None = None,
        *,
        archive: Archive | str | PathLike[str] | None = None,
        owner: str = "local",
        window: int | None = None,
        token_counter: Counter | None = None,
    ) -> None:
        self.slot = EngineSlot(policy, archive=archive, owner=owner, token_counter=token_counter)
        self.window = window

    def get_toolset(self) -> FunctionToolset[Any]:
        """Return the tool `recall`, which reads content that a compaction removed."""
        tool: Tool[Any] = Tool.from_schema(
            self._recall,
            name=RECALL_TOOL["name"],
            description=RECALL_TOOL["description"],
            json_schema=RECALL_TOOL["parameters"],
            takes_ctx=True,
        )
        return FunctionToolset([tool])

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Log the messages of a request, and replace them by the view, for each attempt.

        Raises:
            WindowExceededError: What cannot be compacted is larger than the model's window.
        """
        messages = read_messages(request_context.messages)
        call, thread = self._call(request_context), ctx.conversation_id or ""
        view = await asyncio.to_thread(self.slot.view, thread, messages, call)
        return replace(request_context, messages=write_messages(view))

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """Ask for another attempt, with a smaller view, if the request was too large.

        Raises:
            RetryModelRequest: It was.
            Exception: The error is about anything else, or that was the last attempt.
        """
        del request_context
        if self.slot.refused(ctx.conversation_id or "", error):
            raise RetryModelRequest from error
        raise error

    async def after_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,
        response: ModelResponse,
    ) -> ModelResponse:
        """Observe the input tokens that the provider reports."""
        model, thread = _name(request_context), ctx.conversation_id or ""
        self.slot.observe(thread, model, response.usage.input_tokens)
        return response

    async def after_run(
        self, ctx: RunContext[Any], *, result: AgentRunResult[Any]
    ) -> AgentRunResult[Any]:
        """Log the last messages of the run."""
        messages = read_messages(result.all_messages())
        await asyncio.to_thread(self.slot.log, ctx.conversation_id or "", messages)
        return result

    def close(self) -> None:
        """Close the archive if it was opened here."""
        self.slot.close()

    def _call(self, request: ModelRequestContext) -> HostCall:
        parameters = request.model_request_parameters
        known = request.model.profile.get("context_window")
        return HostCall(
            _name(request),
            _WIRES.get(request.model.system, ""),
            self.window or known,
            "\n\n".join(part.content for part in parameters.instruction_parts or ()),
            [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters_json_schema,
                }
                for tool in (*parameters.function_tools, *parameters.output_tools)
            ],
        )

    async def _recall(self, ctx: RunContext[Any], /, **arguments: Any) -> str:  # noqa: ANN401 (a model's)
        thread = ctx.conversation_id or ""
        return await asyncio.to_thread(partial(self.slot.recall, thread, **arguments))


def _name(request: ModelRequestContext) -> str:
    return f"{request.model.system}:{request.model.model_name}"
