"""`MemoryMiddleware`: what an agent always knows: files of notes, and the memory of its user."""

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
from thalweg.facts.settings import MemorySettings
from thalweg.memory import Memory, MemoryStore
from thalweg.middleware.arguments import AgentName, Owner
from thalweg.middleware.effects import in_thread
from thalweg.middleware.memory_files import DEFAULT_BUDGET, MEMORY_SYSTEM_PROMPT, MemoryFiles
from thalweg.middleware.memory_of_user import UserMemory, shown_in

__all__ = ["MEMORY_SYSTEM_PROMPT", "MemoryMiddleware", "MemoryState"]


class MemoryState(AgentState[Any]):
    """What the middleware keeps in an agent's state."""

    memory_contents: NotRequired[Annotated[dict[str, str], PrivateStateAttr]]
    """The files as the model sees them, by path; one that does not exist is missing."""

    _memory_followed: NotRequired[Annotated[bool, PrivateStateAttr]]
    """Whether they were read here; somebody else may have put them there."""

    _memory_shown: NotRequired[Annotated[list[dict[str, Any]], PrivateStateAttr]]
    """What of the user's memory stands before which messages: ids alone; see `Shown`."""

    _memory_meter: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]
    """What the thread sent, and what of it memory had rewritten; see `Meter`."""

    _memory_kept: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]
    """How far the thread was looked at; see `Kept`."""


class MemoryMiddleware(AgentMiddleware[MemoryState, Any, Any]):
    """Tell an agent what it always knows: files of notes, the memory of its user, or both.

    **Files** stand in the system prompt, within a budget. They are looked at when a run begins,
    never inside one: the prompt stays as it is while tools are at work. Where they changed, the
    new text takes the place of the old one. An edit of the agent's own is not shown a second time
    as long as the conversation shows it, so that it does not cost the provider's cache either.

    **The memory of the user** is asked once a run, about the newest turns. What it knows stands
    before the user's message, as data, and stays there byte for byte: later runs tell only what
    is new, so that a request begins as the one before it did. The state keeps ids, and what is
    forgotten is gone from the next request on. When a run ends, what the user said and the final
    answers are kept and, after a pause, learned from. A store that fails costs a run its memory,
    never the run. Subagents are told what is known and keep nothing.

    A run can say `{"configurable": {"memory": "read_only"}}` (nothing of it is kept),
    `"incognito"` or `"off"` (nor is anything told).

    Args:
        memory: The user's memory: a `Memory`, which is bound to one; a store of `open_memory` or
            an address for it, which are bound for each run to `owner` and `agent`.
        backend: Where the files are.
        sources: Their paths. They are shown in this order; missing ones are left out.
        add_cache_control: Mark the end of the system prompt for the cache of `ChatAnthropic`.
        system_prompt: Template of the files with `{agent_memory}`; `None` adds nothing.
        budget: Most tokens of all files together. A file that is cut says how to read the rest.
        owner: Whose memory, or how to tell it from a run's config. Never a model's to say.
        agent: The agent whose memory of its own it is, or how to read it from a run's config;
            empty for the one that all share.
        settings: When memory learns, and how much is told; a mapping is read with
            `MemorySettings.from_mapping`. Those of a `Memory` are its own.
        learns: Whether what was said is learned from in this process. Where not, a worker
            elsewhere does it.
        model: Who learns: a chat model or its name; the agent's own where neither this nor the
            setting `model_name` names one.

    Raises:
        TypeError: The template is no text.
        ValueError: It lacks its slot.
        ConfigError: Neither files nor a memory are given, an argument cannot be used, or the
            budget is too small for that many files.
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
            mend = "give a memory, or backend= and sources="
            raise ConfigError("memory", "neither a memory nor files are given", mend)
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
        """Look at the files, and ask the memory what the user's message is about.

        Raises:
            MemoryFileError: A file is there and cannot be read when a thread begins. Later, it
                stays as it was.
            ConfigError: Nobody can tell whose memory it is, or the run asks for a mode that
                there is not.
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
        """See `before_agent`."""
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
        """Send the request with the files in its system prompt, and what memory tells."""
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
        """See `wrap_model_call`."""
        if self._user is None:
            return await handler(self.modify_request(request))
        user, config = self._user, get_config()
        told = await in_thread(user.write, request, config) if shown_in(request) else {}
        composed = user.compose(request, told, self.modify_request)
        return user.settle(composed, await handler(composed.request))

    def after_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Keep what the run said, to be learned from."""
        if self._user is None:
            return None
        return self._user.end(state, runtime, get_config()) or None

    async def aafter_agent(
        self, state: MemoryState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """See `after_agent`."""
        if self._user is None:
            return None
        return await in_thread(self._user.end, state, runtime, get_config()) or None
