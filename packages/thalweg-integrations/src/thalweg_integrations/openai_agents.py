"""`ThalwegSession`: an endless thread for an agent of OpenAI's Agents SDK."""

import asyncio
from collections.abc import Mapping
from functools import partial
from os import PathLike
from typing import Any

from thalweg.archive import RECALL_TOOL, Archive
from thalweg.engine.extras import needs_extra
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.tokens import Counter
from thalweg.engine.wires.fields import from_json
from thalweg.engine.wires.openai_responses import OpenAIResponsesWire
from thalweg.errors import StorageError
from thalweg_integrations.size_limits import ATTEMPTS
from thalweg_integrations.slot import EngineSlot, HostCall

with needs_extra("ThalwegSession"):
    from agents import (
        Agent,
        FunctionTool,
        ModelResponse,
        ModelRetrySettings,
        ModelSettings,
        RetryDecision,
        RetryPolicyContext,
        RunConfig,
        RunContextWrapper,
        RunHooks,
        SessionSettings,
        TResponseInputItem,
    )
    from agents.memory.session import SessionABC
    from agents.run import CallModelData, ModelInputData
    from agents.tool_context import ToolContext

_WIRE = OpenAIResponsesWire()


class ThalwegSession(SessionABC):
    """A session of the Agents SDK whose requests fit the model's window.

    As the runner's `session`, it stores the conversation in the archive; as `run_config`, it
    replaces the input of each model call by the view of the engine. Add
    `session.recall_tool` to the agent, so that it can read content that a compaction removed.

    Args:
        session_id: The thread's id.
        policy: As for `ContextMiddleware`.
        archive: As for `EngineSlot`.
        owner: The owner of the thread.
        model: `provider:name` of the model, whose window and prices decide; by default the model
            of the agent, of the provider `openai`.
        window: Tokens the model accepts; by default those of our table.
        token_counter: Returns the tokens of a text, in place of the exact count of o200k.

    Example:
        >>> session = ThalwegSession("t1", archive=":memory:", model="openai:gpt-5.1")
        >>> asyncio.run(session.add_items([{"role": "user", "content": "hello"}]))
        >>> asyncio.run(session.get_items())
        [{'role': 'user', 'content': 'hello'}]
    """

    def __init__(
        self,
        session_id: str,
        policy: ContextPolicy | Mapping[str, object] | None = None,
        *,
        archive: Archive | str | PathLike[str] | None = None,
        owner: str = "local",
        model: str = "",
        window: int | None = None,
        token_counter: Counter | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = None
        self.slot = EngineSlot(policy, archive=archive, owner=owner, token_counter=token_counter)
        self.model = model
        self.window = window
        self.recall_tool = FunctionTool(
            name=RECALL_TOOL["name"],
            description=RECALL_TOOL["description"],
            params_json_schema=RECALL_TOOL["parameters"],
            on_invoke_tool=self._recall,
            strict_json_schema=False,
        )
        self.hooks = _Hooks(self)
        """Hooks of a run: they pass the provider's token counts to the engine."""
        self.retry = ModelRetrySettings(max_retries=ATTEMPTS - 1, policy=self._retry)
        """Settings with which a request that the provider refuses as too large is sent smaller."""
        self._items: list[TResponseInputItem] | None = None
        """The items of the conversation that were read or added last."""
        self._is_logged = True
        """Whether they are in the archive."""
        self._sent: tuple[CallModelData[Any], ModelInputData] | None = None
        """The input of the last model call, and the view that the runner sends for it."""

    @property
    def run_config(self) -> RunConfig:
        """A config of a run whose model calls get the view of this session's thread."""
        settings = ModelSettings(retry=self.retry)
        return RunConfig(call_model_input_filter=self.filter_input, model_settings=settings)

    async def filter_input(self, data: CallModelData[Any]) -> ModelInputData:
        """Log the input of a model call, and return its view; a `call_model_input_filter`.

        Raises:
            WindowExceededError: What cannot be compacted is larger than the model's window.
        """
        view = ModelInputData(await self._view(data), data.model_data.instructions)
        self._sent = (data, view)
        return view

    async def _view(self, data: CallModelData[Any]) -> list[TResponseInputItem]:
        messages, _ = _WIRE.read(data.model_data.input)
        system = data.model_data.instructions or ""
        tools = [
            {"name": t.name, "description": t.description, "parameters": t.params_json_schema}
            for t in data.agent.tools
            if isinstance(t, FunctionTool)
        ]
        call = HostCall(self._model(data.agent), _WIRE.name, self.window, system, tools)
        return _WIRE.write(await asyncio.to_thread(self.slot.view, self.session_id, messages, call))

    async def _retry(self, failed: RetryPolicyContext) -> RetryDecision:
        """Put a smaller view in the place of one that was too large; the runner sends it then."""
        if self._sent is None or not self.slot.refused(self.session_id, failed.error):
            return RetryDecision(retry=False)
        data, view = self._sent
        view.input = await self._view(data)
        return RetryDecision(retry=True, delay=0.0, approve_unsafe_replay=True)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items of the conversation, or the newest `limit` of them.

        Raises:
            StorageError: The archive cannot be read, and the session has no items yet.
        """
        try:
            if self._is_logged or await self._log(self._items or []):
                messages = await asyncio.to_thread(self.slot.messages, self.session_id)
                self._items = _WIRE.write(messages)
        except StorageError:
            if self._items is None:
                raise
        items = self._items or []
        return items if limit is None else items[max(0, len(items) - limit) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items to the log. Those that a model call has logged already are skipped.

        While the archive cannot be written, the session keeps them, and logs them with the next.
        """
        known = await self.get_items() if self._items is None else self._items
        self._items = [*known, *items]
        await self._log(self._items)

    async def _log(self, items: list[TResponseInputItem]) -> bool:
        messages, _ = _WIRE.read(items)
        self._is_logged = await asyncio.to_thread(self.slot.log, self.session_id, messages)
        return self._is_logged

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the newest item from the conversation and return it; the log keeps it."""
        items = [*await self.get_items()]
        if not items:
            return None
        newest = items.pop()
        self._items, (messages, _) = items, _WIRE.read(items)
        await asyncio.to_thread(self.slot.remove, self.session_id, messages)
        return newest

    async def clear_session(self) -> None:
        """Delete the thread, its log included."""
        self._items, self._is_logged = None, True
        await asyncio.to_thread(self.slot.delete, self.session_id)

    def close(self) -> None:
        """Close the archive if it was opened here."""
        self.slot.close()

    def _model(self, agent: Agent[Any]) -> str:
        if self.model:
            return self.model
        named = agent.model if isinstance(agent.model, str) else getattr(agent.model, "model", "")
        return f"openai:{named}"

    async def _recall(self, context: ToolContext[Any], arguments: str) -> str:
        del context
        parsed = from_json(arguments)
        known = parsed if isinstance(parsed, dict) else {"query": arguments}
        return await asyncio.to_thread(partial(self.slot.recall, self.session_id, **known))


class _Hooks(RunHooks[Any]):
    """Reports the usage of each model call to the engine, which calibrates its counts."""

    def __init__(self, session: ThalwegSession) -> None:
        self._session = session

    async def on_llm_end(
        self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse
    ) -> None:
        """Observe the input tokens that the provider reports."""
        del context
        session, model = self._session, self._session._model(agent)  # noqa: SLF001 (its other half)
        session.slot.observe(session.session_id, model, response.usage.input_tokens)
