"""`ContextMiddleware`: an endless thread for any LangChain agent.

At the end of a run, the newest messages are logged and the oldest are removed from the state.
"""

from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from functools import partial
from os import PathLike
from typing import Annotated, Any, NotRequired, Self

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
    ToolCallRequest,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import RemoveMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.runtime import Runtime

from thalweg.archive import Archive
from thalweg.archive.threads.session import Retry
from thalweg.context.arguments import DEFAULT_KEPT_MESSAGES, KeptState, Owner
from thalweg.context.message_counter import TokenCounter
from thalweg.context.turn.context_tools import compact_tool, last_written, recall_tool, with_loaded
from thalweg.context.turn.effects import (
    Flow,
    Send,
    ToolResult,
    arun,
    arun_in_thread,
    blocking_effect,
    run,
    sync_and_async,
)
from thalweg.context.turn.threads import SessionPool
from thalweg.context.turn.turn import take_turn
from thalweg.engine.settings import ContextPolicy
from thalweg.errors import ConflictError


def end_run(sessions: SessionPool, state: Any, config: RunnableConfig) -> dict[str, Any] | None:  # noqa: ANN401 (any agent's)
    """Log the newest messages of a state, end the run in the journal, and release old messages.

    Returns:
        The update of the state; `None` if the run made no request.
    """
    if state.get("thalweg_turn") is None:
        return None
    run, retry = sessions.run(config, state), Retry()
    while True:
        opened = sessions.open(run)
        session = opened.session
        try:
            sessions.sync(opened, run)
            removed_ids = sessions.release(session, run)
            session.enter_end(repairs=opened.last_check.take(0))
        except ConflictError as conflict:
            retry.spend(conflict)
        else:
            session.is_running = False
            sessions.put_back(opened)
            # Loops over `updates` read `update["messages"][-1]` of every node (LangChain's page
            # "Streaming"), so the newest message is written as it is: by its id, in its own place.
            removals = [RemoveMessage(id=uid) for uid in removed_ids]
            messages = [*removals, *state["messages"][-1:]]
            return {"thalweg_turn": opened.mark, "messages": messages}


class ContextState(AgentState[Any]):
    """Keys that the middleware keeps in an agent's state, in addition to the newest messages."""

    thalweg_turn: NotRequired[Annotated[str, PrivateStateAttr]]
    """The turn of the last checkpoint of the state, and its journal; see `read_pointer_turn`."""
    thalweg_model: NotRequired[Annotated[str, PrivateStateAttr]]
    """The model that was asked last, as `provider:name`."""
    thalweg_compact: NotRequired[Annotated[bool, PrivateStateAttr, last_written]]
    """Whether the agent asked to have its context compacted."""
    thalweg_deferred: NotRequired[Annotated[list[str], PrivateStateAttr]]
    """The names of the tools that the last request withheld: what `find_tools` searches."""
    thalweg_tools: NotRequired[Annotated[dict[str, str], PrivateStateAttr, with_loaded]]
    """The deferred tools that the thread uses, and the id of the search that found each.

    The id is empty if the tool was called or forced without a search."""


class ContextMiddleware(AgentMiddleware[ContextState, Any, Any]):
    """Keep every request of an agent valid and inside its model's window, and lose nothing.

    Every message is in the archive, durably, before the agent's state may drop it. A model gets a
    view of the archive's log: messages whose tokens cost more than they are worth are compacted
    into a structured summary with a reference, and the agent gets the tool `recall` to read them
    back.

    The graph's state has precedence: a message that is removed, edited or replaced there is no
    longer sent in its former form. Messages removed from the state at the end of a run (see
    `state`) are in the archive: read them with `thalweg.archive.threads.history(middleware.archive,
    ThreadKey(owner, thread_id))` or `thalweg thread show ID --messages`. Without a checkpointer all
    messages remain in the state.

    A `thread_id` must belong to one owner: the checkpointer has no owners and would return the
    state of one to another. The archive separates them.

    Args:
        policy: When to compact and how; see `ContextPolicy`. The default compacts when it pays. A
            mapping is parsed with `ContextPolicy.from_mapping`.
        archive: The store of threads: an archive, or an address for `open_archive`. By default it
            is in memory if the state is (no checkpointer, or an `InMemorySaver`), else
            `.thalweg/thalweg.db`, or `thalweg.db` in the folder THALWEG_HOME. If that file is lost,
            or cannot be written, the thread continues from its state, with a warning.
        owner: The owner of the threads, or a function that returns it from a run's config. No owner
            can read the threads of another one.
        summarizer: Writes the summaries: a chat model or its name for `init_chat_model`. The
            default is the agent's own model.
        state: How much of a thread the graph's state, and so `result["messages"]` and every front
            end, keeps: at least so many of its newest messages, from the beginning of a run; all
            (`"whole"`); or the newest run alone (`"run"`). Messages are removed from it at the end
            of a run, and only if the archive was passed and is not in memory.
        token_counter: Returns the tokens of messages, as LangChain's do (for example
            `model.get_num_tokens_from_messages`), in place of the exact count of o200k and the
            table of prices for media. It gets one whole message at a time, images included, or a
            text as a user's message. It is called often and must be fast, deterministic and
            monotonic in the length of the text. Counts that the provider reports correct it, as
            they correct the default.

    Raises:
        ConfigError: An argument is invalid, or names an unknown model. An archive that cannot be
            opened raises at the first call.

    Example:
        >>> from langchain.agents import create_agent
        >>> from thalweg.testing import ScriptedModel
        >>> model = ScriptedModel(script=lambda messages: "Hello!")
        >>> agent = create_agent(model, middleware=[ContextMiddleware(archive=":memory:")])
        >>> agent.invoke({"messages": [("user", "hi")]})["messages"][-1].content
        'Hello!'
    """

    state_schema = ContextState

    def __init__(
        self,
        policy: ContextPolicy | Mapping[str, object] | None = None,
        *,
        archive: Archive | str | PathLike[str] | None = None,
        owner: Owner = "local",
        summarizer: BaseChatModel | str | None = None,
        state: KeptState = DEFAULT_KEPT_MESSAGES,
        token_counter: TokenCounter | None = None,
    ) -> None:
        super().__init__()
        self._make_sessions = partial(
            SessionPool,
            policy,
            archive=archive,
            owner=owner,
            summarizer=summarizer,
            state=state,
            token_counter=token_counter,
        )
        self._sessions = self._make_sessions()
        self.tools = _tools(self._sessions) if self._sessions.policy.has_tools else []

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a middleware of the same settings, with no thread open.

        An archive that was passed is shared.
        """
        copied = memo[id(self)] = copy(self)
        sessions = self._make_sessions()
        vars(copied).update(_sessions=sessions, tools=_tools(sessions) if self.tools else [])
        return copied

    @property
    def archive(self) -> Archive:
        """The archive; opened when it is first asked for.

        Raises:
            ConfigError: It cannot be opened.
        """
        return self._sessions.archive

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait for the summaries that are written in the background.

        Args:
            timeout_s: Seconds to wait at most; no limit by default.

        Returns:
            Whether all of them are done.
        """
        return self._sessions.jobs.wait(timeout_s)

    def close(self) -> None:
        """Close the archive if it was opened here; one that was passed belongs to the caller.

        Summaries in progress are discarded; see `flush`.
        """
        self._sessions.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ExtendedModelResponse[Any]:
        """Fit the request into the window, and send it.

        Raises:
            ConfigError: Another tool of the agent has the name of one of ours.
            WindowExceededError: What cannot be compacted is larger than the model's window.
            LostThreadError: Part of the thread is in another archive and no longer in the state.
            StorageError: The archive cannot be written; nothing was sent.
            DeletedThreadError: The thread was deleted since the last call of this run.
        """
        return run(take_turn(self._sessions, request, get_config(), self.tools), handler)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ExtendedModelResponse[Any]:
        """Fit the request into the window, and send it; see `wrap_model_call`."""
        turn = take_turn(self._sessions, request, get_config(), self.tools)
        return await arun_in_thread(turn, handler)

    def _tool_call_flow(self, request: ToolCallRequest) -> Flow[ToolResult]:
        """Call the tool; its result is stored only if the thread still exists then."""
        result: ToolResult = yield Send(request)
        config = request.runtime.config
        yield blocking_effect(partial(self._sessions.check_exists, request.state, config))
        return result

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]
    ) -> ToolResult:
        """Call the tool.

        Raises:
            DeletedThreadError: The thread was deleted in the meantime.
        """
        return run(self._tool_call_flow(request), handler)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Call the tool; see `wrap_tool_call`."""
        return await arun(self._tool_call_flow(request), handler)

    def _end(self, state: ContextState, runtime: Runtime[Any]) -> Flow[dict[str, Any] | None]:
        """Log the run's last messages, and remove from the state those that it need not keep."""
        del runtime
        end = partial(end_run, self._sessions, state, get_config())
        update: dict[str, Any] | None = yield blocking_effect(end)
        return update

    after_agent, aafter_agent = sync_and_async(_end)


def _tools(sessions: SessionPool) -> list[BaseTool]:
    policy, names = sessions.policy, sessions.policy.tool_names
    tools = [recall_tool(sessions), compact_tool(names)]
    if policy.defer_tools != "off":
        from thalweg.context.deferral.tool_layout import find_tool  # noqa: PLC0415 (if used)

        tools.append(find_tool(names.find_tools))
    return tools
