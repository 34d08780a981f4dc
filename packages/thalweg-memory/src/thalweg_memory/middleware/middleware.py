"""`MemoryMiddleware`: the memory of the user, in each request of an agent."""

from collections.abc import Awaitable, Callable, Mapping
from os import PathLike
from typing import Annotated, Any, NotRequired, Self

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
    TracePolicy,
    omit_payload,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import Runtime

from thalweg.context.arguments import AgentName, Owner
from thalweg.context.turn.effects import run_in_worker
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.handle import Memory
from thalweg_memory.middleware.of_user import UserMemory, shown_in
from thalweg_memory.store.tables import MemoryStore

__all__ = ["MemoryMiddleware", "MemoryState"]


class MemoryState(AgentState[Any]):
    """The values that the middleware keeps in an agent's state."""

    _memory_shown: NotRequired[Annotated[list[dict[str, Any]], PrivateStateAttr]]
    """What of the user's memory precedes which messages: ids alone; see `ShownMemory`."""

    _memory_meter: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]
    """The tokens that the thread sent, and those rewritten for memory; see `MemoryRewrites`."""

    _memory_kept: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]
    """How far the thread was looked at; see `Kept`."""


class MemoryMiddleware(AgentMiddleware[MemoryState, Any, Any]):
    """Show an agent the memory of its user.

    It is searched once a run, with the newest turns. The results precede
    the user's message, as data, and do not change: later runs add only new items, so that
    consecutive requests share a prefix. The state stores ids, and the next request omits forgotten
    ones. When a run ends, the user's messages and the final answers are stored and, after a
    pause, facts are extracted from them. If the store fails, the run continues without memory.
    Subagents read the memory and write nothing.

    A run can set `{"configurable": {"memory": "read_only"}}` (nothing of it is stored),
    `"incognito"` or `"off"` (and nothing is recalled).

    Args:
        memory: The user's memory: a `Memory`, which is bound to one user; a store of `open_memory`
            or an address for it, which are bound for each run to `owner` and `agent`.
        owner: The owner of the memory, or a function that returns it from a run's config. A model
            cannot set it.
        agent: The agent whose own memory it is, or a function that returns it from a run's config;
            empty for the memory that all agents share.
        settings: When facts are extracted, and how many tokens are shown; a mapping is parsed with
            `MemorySettings.from_mapping`. Those of a `Memory` are its own.
        learns: Whether this process extracts facts. If not, a worker in another process does.
        model: The model that extracts facts, or its name; the agent's own if neither this nor the
            setting `model_name` is set.

    Raises:
        ConfigError: An argument is invalid.
    """

    trace_policy = TracePolicy(process_inputs=omit_payload)
    state_schema = MemoryState

    def __init__(
        self,
        memory: MemoryStore | Memory | str | PathLike[str],
        *,
        owner: Owner = "local",
        agent: AgentName = "",
        settings: MemorySettings | Mapping[str, object] | None = None,
        learns: bool = True,
        model: BaseChatModel | str | None = None,
    ) -> None:
        super().__init__()
        self._user = UserMemory(
            memory, owner=owner, agent=agent, settings=settings, learns=learns, model=model
        )
        self.tools = self._user.tools

    def close(self) -> None:
        """Stop learning, and close a memory that was opened here."""
        self._user.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def before_agent(
        self, state: MemoryState, runtime: Runtime[Any], config: RunnableConfig | None = None
    ) -> dict[str, Any] | None:
        """Recall memory for the user's message.

        Raises:
            ConfigError: The owner of the memory is unknown, or the run's memory mode is.
        """
        del config
        return self._user.begin(state, runtime, get_config()) or None

    async def abefore_agent(
        self, state: MemoryState, runtime: Runtime[Any], config: RunnableConfig | None = None
    ) -> dict[str, Any] | None:
        """Recall memory for the user's message; see `before_agent`."""
        del config
        return await run_in_worker(self._user.begin, state, runtime, get_config()) or None

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Send the request with the recalled memory."""
        rendered = self._user.write(request, get_config()) if shown_in(request) else {}
        composed = self._user.compose(request, rendered)
        return self._user.settle(composed, handler(composed.request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Send the request with the recalled memory; see `wrap_model_call`."""
        user, config = self._user, get_config()
        rendered = await run_in_worker(user.write, request, config) if shown_in(request) else {}
        composed = user.compose(request, rendered)
        return user.settle(composed, await handler(composed.request))

    def after_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Store the run's messages, to extract facts from them later."""
        return self._user.end(state, runtime, get_config()) or None

    async def aafter_agent(
        self, state: MemoryState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Store the run's messages, to extract facts from them later; see `after_agent`."""
        return await run_in_worker(self._user.end, state, runtime, get_config()) or None
