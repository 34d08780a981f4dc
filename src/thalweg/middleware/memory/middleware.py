"""`MemoryMiddleware`: files of notes and the memory of the user, in each request of an agent."""

from collections.abc import Awaitable, Callable, Mapping
from os import PathLike
from typing import Annotated, Any, NotRequired, Self, cast

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

from thalweg.backends.protocol import BackendProtocol
from thalweg.errors import ConfigError
from thalweg.memory import Memory, MemoryStore
from thalweg.memory.facts.settings import MemorySettings
from thalweg.middleware.arguments import AgentName, Owner
from thalweg.middleware.memory.files import DEFAULT_BUDGET, MEMORY_SYSTEM_PROMPT, MemoryFiles
from thalweg.middleware.memory.of_user import UserMemory, shown_in
from thalweg.middleware.turn.effects import in_thread

__all__ = ["MEMORY_SYSTEM_PROMPT", "MemoryMiddleware", "MemoryState"]


class MemoryState(AgentState[Any]):
    """What the middleware keeps in an agent's state."""

    memory_contents: NotRequired[Annotated[dict[str, str], PrivateStateAttr]]
    """The files as the model sees them, by path; one that does not exist is missing."""

    _memory_followed: NotRequired[Annotated[bool, PrivateStateAttr]]
    """Whether they were read here; other code may have set them."""

    _memory_shown: NotRequired[Annotated[list[dict[str, Any]], PrivateStateAttr]]
    """What of the user's memory precedes which messages: ids alone; see `ShownMemory`."""

    _memory_meter: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]
    """What the thread sent, and what of it memory had rewritten; see `MemoryRewrites`."""

    _memory_kept: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]
    """How far the thread was looked at; see `Kept`."""


class MemoryMiddleware(AgentMiddleware[MemoryState, Any, Any]):
    """Show an agent its long-term memory: files of notes, the memory of its user, or both.

    **Files** are part of the system prompt, within a budget. They are checked when a run begins,
    never during one: the prompt does not change between the steps of a run. The new text of a
    changed file replaces the old one. The agent's own edit is not repeated as long as the
    conversation shows it, which preserves the provider's cache.

    **The memory of the user** is searched once a run, with the newest turns. The results precede
    the user's message, as data, and do not change: later runs add only what is new, so that
    consecutive requests share a prefix. The state stores ids, and the next request omits what was
    forgotten. When a run ends, the user's messages and the final answers are stored and, after a
    pause, facts are extracted from them. If the store fails, the run continues without memory.
    Subagents read the memory and write nothing.

    A run can set `{"configurable": {"memory": "read_only"}}` (nothing of it is stored),
    `"incognito"` or `"off"` (and nothing is recalled).

    Args:
        memory: The user's memory: a `Memory`, which is bound to one user; a store of `open_memory`
            or an address for it, which are bound for each run to `owner` and `agent`.
        backend: The backend of the files.
        sources: Their paths. They are shown in this order; missing ones are skipped.
        add_cache_control: Mark the end of the system prompt for the cache of `ChatAnthropic`.
        system_prompt: Template of the files with `{agent_memory}`; `None` adds nothing.
        budget: Most tokens of all files together. A truncated file ends with how to read the rest.
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
        TypeError: The template is no text.
        ValueError: It lacks its slot.
        ConfigError: There are neither files nor a memory, an argument is invalid, or the budget is
            too small for that many files.
    """

    trace_policy = TracePolicy(process_inputs=omit_payload)
    state_schema = MemoryState

    def __init__(
        self,
        memory: MemoryStore | Memory | str | PathLike[str] | None = None,
        *,
        backend: BackendProtocol | None = None,
        sources: list[str] | None = None,
        add_cache_control: bool = False,
        system_prompt: str | None = MEMORY_SYSTEM_PROMPT,
        budget: int = DEFAULT_BUDGET,
        owner: Owner = "local",
        agent: AgentName = "",
        settings: MemorySettings | Mapping[str, object] | None = None,
        learns: bool = True,
        model: BaseChatModel | str | None = None,
    ) -> None:
        super().__init__()
        if memory is None and sources is None:
            mend = "pass a memory, or backend= and sources="
            raise ConfigError("memory", "neither a memory nor files were passed", mend)
        self.sources = sources
        self.system_prompt = system_prompt
        self._files: MemoryFiles | None = None
        if sources is not None:
            self._files = MemoryFiles(
                cast("BackendProtocol", backend),  # asked for when there is something to read
                sources,
                template=system_prompt,
                budget=budget,
                marks_cache=add_cache_control,
            )
        self._user: UserMemory | None = None
        if memory is not None:
            self._user = UserMemory(
                memory, owner=owner, agent=agent, settings=settings, learns=learns, model=model
            )
            self.tools = self._user.tools

    def close(self) -> None:
        """Stop learning, and close a memory that was opened here."""
        if self._user is not None:
            self._user.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def before_agent(
        self, state: MemoryState, runtime: Runtime[Any], config: RunnableConfig | None = None
    ) -> dict[str, Any] | None:
        """Check the files, and recall memory for the user's message.

        Raises:
            MemoryFileError: An existing file cannot be read when a thread begins. Later, its last
                text is used.
            ConfigError: The owner of the memory is unknown, or the run's memory mode is.
        """
        del config
        update = self._files.look(state) if self._files else None
        if self._user is not None:
            begun = self._user.begin(state, runtime, get_config())
            update = {**(update or {}), **begun} or None
        return update

    async def abefore_agent(
        self, state: MemoryState, runtime: Runtime[Any], config: RunnableConfig | None = None
    ) -> dict[str, Any] | None:
        """Check the files, and recall memory for the user's message; see `before_agent`."""
        del config
        update = await self._files.alook(state) if self._files else None
        if self._user is not None:
            begun = await in_thread(self._user.begin, state, runtime, get_config())
            update = {**(update or {}), **begun} or None
        return update

    def modify_request(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Add the files to the system prompt, and the mark for the cache if it is wanted."""
        return self._files.put_into(request) if self._files else request

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Send the request with the files in its system prompt and the recalled memory."""
        if self._user is None:
            return handler(self.modify_request(request))
        told = self._user.write(request, get_config()) if shown_in(request) else {}
        composed = self._user.compose(request, told, self.modify_request)
        return self._user.settle(composed, handler(composed.request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Send the request with the files in its system prompt and the recalled memory.

        See `wrap_model_call`.
        """
        if self._user is None:
            return await handler(self.modify_request(request))
        user, config = self._user, get_config()
        told = await in_thread(user.write, request, config) if shown_in(request) else {}
        composed = user.compose(request, told, self.modify_request)
        return user.settle(composed, await handler(composed.request))

    def after_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Store the run's messages, to extract facts from them later."""
        if self._user is None:
            return None
        return self._user.end(state, runtime, get_config()) or None

    async def aafter_agent(
        self, state: MemoryState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Store the run's messages, to extract facts from them later; see `after_agent`."""
        if self._user is None:
            return None
        return await in_thread(self._user.end, state, runtime, get_config()) or None
