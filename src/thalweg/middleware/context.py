"""`ContextMiddleware`: an endless thread for any LangChain agent."""

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
)
from langchain_core.language_models import BaseChatModel
from langgraph.config import get_config
from langgraph.runtime import Runtime

from thalweg.archive import Archive
from thalweg.context.settings import ContextPolicy
from thalweg.middleware.arguments import NEWEST, KeptState, Owner
from thalweg.middleware.desk import Desk
from thalweg.middleware.effects import arun_in_thread, in_thread, run
from thalweg.middleware.ending import end_run
from thalweg.middleware.tools import compact_tool, last_written, recall_tool
from thalweg.middleware.turn import take_turn
from thalweg.tokens import Counter


class ContextState(AgentState[Any]):
    """What the middleware keeps in an agent's state, beside the newest messages."""

    thalweg_turn: NotRequired[Annotated[str, PrivateStateAttr]]
    """The turn that the state was left in, and of whose journal; see `read_mark`."""
    thalweg_compact: NotRequired[Annotated[bool, PrivateStateAttr, last_written]]
    """Whether the agent asked to have its context compacted."""


class ContextMiddleware(AgentMiddleware[ContextState, Any, Any]):
    """Keep every request of an agent valid and inside its model's window, and lose nothing.

    Every message is in the archive, durably, before it may leave the agent's state. What a
    model is sent is a view of the archive's log: what no longer pays its way is folded into a
    record with a handle, and the agent gets the tool `recall` to read it back.

    What is in the graph's state counts: a message that is removed, edited or replaced there is
    not sent any more as it was. What left the state (see `state`) is in the archive: read it with
    `thalweg.threads.history(middleware.archive, ThreadKey(owner, thread_id))` or
    `thalweg thread history`. Without a checkpointer all messages stay in the state.

    A `thread_id` must be one owner's alone: the checkpointer knows no owners and would hand the
    state of one to another. The archive keeps them apart.

    Args:
        policy: When to compact and how; see `ContextPolicy`. The default acts when it pays. A
            mapping is read with `ContextPolicy.from_mapping`.
        archive: Where threads are kept: an archive, or an address for `open_archive`. The
            default lasts as long as the state does: the database of a `SqliteSaver` or a
            `PostgresSaver` that keeps it, sync or async, over connections of its own; with
            another checkpointer `.thalweg/thalweg.db`, or `thalweg.db` in the folder
            THALWEG_HOME; and memory where the state is in memory, too.
        owner: Whose threads they are, or how to tell from a run's config. Nobody reads the
            threads of another owner.
        summarizer: Writes the summaries: a chat model or its name for `init_chat_model`. The
            default is the agent's own model.
        state: What the graph's state, and so `result["messages"]` and every front end, keeps of
            a thread: at least so many of its newest messages, from the beginning of a run; all
            (`"whole"`); or the newest run alone (`"run"`). Messages leave it at the end of a
            run, and only for an archive that was named or shares the checkpointer's database.
        token_counter: Returns the tokens of a text, in place of the exact count of o200k: for a
            model with a vocabulary of its own. It is called often and must be fast, give the same
            for the same text, and at least as much for a longer text. What the provider reports
            corrects it, as it corrects ours.

    Raises:
        ConfigError: An argument cannot be used, or names a model that there is not. That the
            archive cannot be opened comes with the first call.

    Example:
        >>> from langchain.agents import create_agent
        >>> from thalweg.testing.model import ScriptedModel
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
        state: KeptState = NEWEST,
        token_counter: Counter | None = None,
    ) -> None:
        super().__init__()
        self._desk = Desk(
            policy,
            archive=archive,
            owner=owner,
            summarizer=summarizer,
            state=state,
            token_counter=token_counter,
        )
        self.tools = [recall_tool(self._desk), compact_tool()]

    @property
    def archive(self) -> Archive:
        """The archive; opened when it is first asked for.

        Raises:
            ConfigError: It cannot be opened.
        """
        return self._desk.archive

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait for the summaries that are being written in the background.

        Args:
            timeout_s: Seconds to wait at most; as long as the models take when not given.

        Returns:
            Whether all of them are done.
        """
        return self._desk.jobs.wait(timeout_s)

    def close(self) -> None:
        """Close the archive. One that was given as an archive stays open: it is the caller's.

        Summaries that are still being written are not kept; see `flush`.
        """
        self._desk.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ExtendedModelResponse[Any]:
        """Make the request fit, and send it.

        Raises:
            WindowExceededError: What must stay is larger than the model's window.
            LostThreadError: A part of the thread left the state for an archive that this is not.
            StorageError: The archive cannot be written; nothing was sent.
        """
        return run(take_turn(self._desk, request, get_config()), handler)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ExtendedModelResponse[Any]:
        """See `wrap_model_call`."""
        return await arun_in_thread(take_turn(self._desk, request, get_config()), handler)

    def after_agent(self, state: ContextState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Log what the run said last, and release what the state need not keep."""
        del runtime
        return end_run(self._desk, state, get_config())

    async def aafter_agent(
        self, state: ContextState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """See `after_agent`."""
        del runtime
        return await in_thread(end_run, self._desk, state, get_config())
