"""`MemoryMiddleware`: the memory of the user, in each request of an agent."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from os import PathLike
from typing import Annotated, Any, NotRequired, Self, TypeVar

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
from langchain_core.messages import AIMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.types import Command

from thalweg.context.arguments import AgentName, Owner, only_model, short_value
from thalweg.context.request.messages import read_state
from thalweg.context.request.models import is_stand_in, model_name, provider_of
from thalweg.context.turn.additions import Inserts, with_inserts, with_part
from thalweg.context.turn.effects import (
    Flow,
    ModelCallFlow,
    Response,
    Send,
    blocking_effect,
    sync_and_async,
)
from thalweg.context.turn.events import CustomStream
from thalweg.context.turn.threads import SessionPool
from thalweg.engine.additions import MEMORY, Addition
from thalweg.engine.entries import Message
from thalweg.engine.pricing.matching import tariff_for
from thalweg.engine.tracing import trace
from thalweg.errors import ConfigError, ThalwegError
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import FactId, RecalledPart, ShownFacts
from thalweg_memory.handle import Memory
from thalweg_memory.jobs.learner import Worker, background
from thalweg_memory.middleware.capture import (
    KEPT,
    BoundMemory,
    Kept,
    MemoryBinding,
    UnreadMessages,
    earlier_messages,
    keep,
    pass_over,
    stretch,
)
from thalweg_memory.middleware.recall import (
    SYSTEM_PROMPT_PLACE,
    MemoryRewrites,
    RecallRenderer,
    ShownMemory,
    from_plain,
    query_turns,
    to_plain,
)
from thalweg_memory.middleware.tools import memory_tools
from thalweg_memory.store.records import utc_now
from thalweg_memory.store.tables import MemoryStore

ANNOUNCED = "thalweg:review"
"""Name of that thread."""
MOST = 100
"""Facts that are looked at: the newest that wait."""
INSERTED, FAILED = "thalweg.memory.told", "thalweg.memory.failed"
REVIEW = "thalweg.memory.review"
"""Types of the events in LangGraph's custom stream, and names of those in a trace."""
_log = logging.getLogger("thalweg.memory")
SHOWN, METER = "_memory_shown", "_memory_meter"
"""Keys in an agent's state of the shown items, and their cost."""
CHARS = 4
"""Of a token, about."""
Result = TypeVar("Result")


def newly_waiting(bound: BoundMemory) -> tuple[list[FactId], int]:
    """List the facts that wait for review and were not announced yet, and note that they are now.

    Returns:
        Their ids, and how many wait in all, counted up to `MOST`.
    """
    store, scope = bound.memory.store, bound.memory.scope
    waiting = [f.id for f in store.facts(scope, statuses=("quarantined",), limit=MOST)]
    if not waiting:
        return [], 0
    announced = {
        one.fact for outcome in store.shown_facts(scope, ANNOUNCED) for one in outcome.weighed
    }
    new = [id_ for id_ in waiting if id_ not in announced]
    if new:
        noted = tuple(RecalledPart("told", fact=id_) for id_ in waiting)
        store.keep_shown(scope, ANNOUNCED, ShownFacts(ANNOUNCED, utc_now(), 0, noted))
    return new, len(waiting)


class BackgroundLearning:
    """Extraction of facts from stored messages, in the background.

    Args:
        model: The model that extracts; `None` for the agent's own, which is available after its
            first call.
        is_on: Off: a worker in another process does it.
    """

    def __init__(self, model: BaseChatModel | None, *, is_on: bool) -> None:
        self._model = model
        self._is_on = is_on
        self._worker: Worker | None = None

    def use_model(self, model: BaseChatModel) -> None:
        """Set the agent's own model."""
        self._model = self._model or model

    def go_on(self, store: MemoryStore, settings: MemorySettings) -> None:
        """Start work on a store that may have messages to extract facts from."""
        if not self._is_on or self._model is None:
            return
        if self._worker is None:
            tariff = None
            if not is_stand_in(self._model):
                found = tariff_for(provider_of(self._model), model_name(self._model))
                tariff = None if found.by == "nobody" else found.tariff
            self._worker = background(store, self._model, settings, tariff=tariff)
        self._worker.wake()

    def stop(self) -> None:
        """Stop after the current step; the remaining messages are processed another time."""
        if self._worker is not None:
            self._worker.stop()
            self._worker = None


def announce(
    event: dict[str, Any], runtime: CustomStream, sentence: str, *args: object, level: int
) -> None:
    """Emit an event of memory in the run's stream, in the log, and in a trace."""
    runtime.stream_writer(event)
    _log.log(level, sentence, *args, extra={"thalweg": event})
    trace(event)


def announce_shown(
    bound: BoundMemory,
    shown: Sequence[ShownMemory],
    before: Sequence[ShownMemory],
    runtime: CustomStream,
) -> None:
    """Emit the items that a run is shown in addition to earlier items."""
    old = {one.uid for one in before}
    new = [one for one in shown if one.uid not in old]
    facts = [fact for one in new for fact in one.facts]
    turns, tokens = sum(len(one.pieces) for one in new), sum(one.tokens for one in new)
    event = {
        "type": INSERTED,
        "thread": bound.thread,
        "messages": [one.uid for one in new],
        "facts": facts,
        "turns": turns,
        "tokens": tokens,
        "tokens_in_all": (in_all := sum(one.tokens for one in shown)),
        "taken_back": len(old - {one.uid for one in shown}),
    }
    sentence = "thread %s: inserted %d facts and %d turns in %d tokens, %d in total"
    args = (bound.thread, len(facts), turns, tokens, in_all)
    announce(event, runtime, sentence, *args, level=logging.INFO)


def as_learner(given: object, settings: MemorySettings) -> BaseChatModel | None:
    """Find the model that learns; `None` for the agent's own.

    Raises:
        ConfigError: There is no such model, or two are named.
    """
    return only_model(given, "model", settings.model_name, "the settings name")


def as_memory_settings(given: object) -> MemorySettings | None:
    """Return settings of memory; a mapping is parsed with `MemorySettings.from_mapping`.

    Raises:
        ConfigError: It is neither, or the mapping is invalid.
    """
    if given is None or isinstance(given, MemorySettings):
        return given
    if isinstance(given, Mapping):
        return MemorySettings.from_mapping(given, where="memory")
    fix = "pass MemorySettings, or a mapping with its settings"
    raise ConfigError("settings", f"it is {short_value(given)}", fix)


@dataclass(frozen=True, slots=True)
class Composed:
    """A request with what memory adds to it."""

    request: ModelRequest[Any]
    inserts: Inserts
    live: Sequence[ShownMemory]
    """The items that the state lists as shown."""
    is_known: bool
    """Whether the texts of these could be written."""


def with_message(request: ModelRequest[Any], addition: Addition) -> ModelRequest[Any]:
    """Add a text as a system message before the conversation, with the name of DeerFlow's."""
    message = SystemMessage(addition.text, name="memory_context", id="memory_context")
    return request.override(messages=[message, *request.messages])


def shown_in(request: ModelRequest[Any]) -> Sequence[ShownMemory]:
    """Return what memory shows in a run, from its state."""
    return from_plain(request.state.get(SHOWN))


def _announced(bound: BoundMemory, runtime: CustomStream) -> None:
    """Announce the facts that wait for review, if the run may note that it did."""
    if bound.writes:
        new, waiting = newly_waiting(bound)
        if new:
            event = {"type": REVIEW, "thread": bound.thread, "facts": new, "waiting": waiting}
            sentence = "%d new facts wait for review, %d in all: see `thalweg memory review`"
            announce(event, runtime, sentence, len(new), waiting, level=logging.INFO)


def _addition(shown: ShownMemory, text: str) -> Addition:
    counts = (
        (len(shown.facts), "fact"),
        (len(shown.pieces), "turn"),
        (len(shown.sections), "section"),
    )
    about = ", ".join(f"{count:,} {what}{'s' * (count > 1)}" for count, what in counts if count)
    return Addition(MEMORY, text, about, "" if shown.uid == SYSTEM_PROMPT_PLACE else shown.uid)


def _size(response: ModelResponse[Any], request: ModelRequest[Any]) -> int:
    """Return the size of a request: the provider's count, or else an estimate."""
    for message in response.result:
        if isinstance(message, AIMessage) and message.usage_metadata:
            return message.usage_metadata["input_tokens"]
    return sum(len(str(message.content)) for message in request.messages) // CHARS


def _without_failing(do: Callable[[], Result], runtime: CustomStream) -> Result | None:
    """Run an operation on the memory; if it fails, the run continues without it.

    Raises:
        ConfigError: A setting is wrong, which the user has to correct.
    """
    try:
        return do()
    except ConfigError:
        raise
    except ThalwegError as error:
        event = {"type": FAILED, "code": error.code, "problem": type(error).__name__}
        sentence = "a run continues without its memory: %s"
        announce(event, runtime, sentence, error, level=logging.WARNING)
        return None


__all__ = ["MemoryMiddleware", "MemoryState"]


class MemoryState(AgentState[Any]):
    """The values that the middleware keeps in an agent's state."""

    _memory_shown: NotRequired[Annotated[list[dict[str, Any]], PrivateStateAttr]]
    """What of the user's memory precedes which messages: ids alone; see `ShownMemory`."""

    _memory_meter: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]
    """The tokens that the thread sent, and those rewritten for memory; see `MemoryRewrites`."""

    _memory_kept: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]
    """How far the thread was looked at; see `Kept`."""


class MemoryMiddleware(ModelCallFlow, AgentMiddleware[MemoryState, Any, Any]):
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
        self._binding = MemoryBinding(
            memory, owner=owner, agent=agent, settings=as_memory_settings(settings)
        )
        self._settings = self._binding.settings
        self._learning = BackgroundLearning(as_learner(model, self._settings), is_on=learns)
        self._renderer = RecallRenderer()
        self._sessions: SessionPool | None = None
        self.tools = []
        if self._settings.mode == "tool" and self._settings.enabled:
            self.tools = memory_tools(self._binding, self._unread)

    def close(self) -> None:
        """Stop learning, and close a memory that was opened here."""
        if self._binding.owns_store:
            self._learning.stop()
        self._binding.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _recall(
        self, state: MemoryState, runtime: Runtime[Any], config: RunnableConfig | None = None
    ) -> Flow[dict[str, Any] | None]:
        """Recall memory for the user's message.

        Raises:
            ConfigError: The owner of the memory is unknown, or the run's memory mode is.
        """
        del config
        update = yield blocking_effect(partial(self._begin, state, runtime, get_config()))
        return update or None

    before_agent, abefore_agent = sync_and_async(_recall)

    def call(self, request: ModelRequest[Any]) -> Flow[Response]:
        """Send the request with the recalled memory."""
        rendered: Mapping[str, str] | None = {}
        if shown_in(request):
            rendered = yield blocking_effect(partial(self._write, request, get_config()))
        composed = self._compose(request, rendered)
        return self._settle(composed, (yield Send(composed.request)))

    def _capture(self, state: MemoryState, runtime: Runtime[Any]) -> Flow[dict[str, Any] | None]:
        """Store the run's messages, to extract facts from them later."""
        update = yield blocking_effect(partial(self._end, state, runtime, get_config()))
        return update or None

    after_agent, aafter_agent = sync_and_async(_capture)

    def _unread(
        self, bound: BoundMemory, state: Mapping[str, Any], config: RunnableConfig
    ) -> UnreadMessages:
        """Return the messages up to the end of the last run; from a log also newer ones."""
        kept = Kept(**state.get(KEPT) or {})
        unread = stretch(bound, self._sessions, state, config, kept, is_over=True)
        if unread.upto is None:
            return unread
        messages = read_state(state["messages"])
        read = {kept.uid, *(message.uid for _, message in unread.messages)}
        last = max((k for k, m in enumerate(messages, 1) if m.uid in read), default=0)
        behind = enumerate(messages[last:], unread.upto)
        return replace(unread, messages=[*unread.messages, *behind])

    def _begin(
        self, state: Mapping[str, Any], runtime: CustomStream, config: RunnableConfig
    ) -> dict[str, Any]:
        """Choose the memory that the run is shown, and store messages an earlier run did not."""
        before = Kept(**state.get(KEPT) or {})
        if self._binding.requested_mode(config) in {"incognito", "off"}:
            update: dict[str, Any] = {SHOWN: []} if state.get(SHOWN) else {}
            hidden = asdict(replace(before, hidden=True))
            return update if before.hidden else {**update, KEPT: hidden}
        bound = _without_failing(partial(self._binding.of, config, state), runtime)
        if bound is None:
            return {}
        kept = _without_failing(partial(self._caught_up, bound, state, config, before), runtime)
        _without_failing(partial(_announced, bound, runtime), runtime)
        update = (
            _without_failing(partial(self._choose_memory, bound, state, runtime, config), runtime)
            or {}
        )
        return update if kept is None else {**update, KEPT: asdict(kept)}

    def _caught_up(
        self, bound: BoundMemory, state: Mapping[str, Any], config: RunnableConfig, before: Kept
    ) -> Kept | None:
        """Store an earlier run's messages if that run was allowed to and failed."""
        if bound.is_subagent:
            return None
        hidden = before.hidden or not bound.writes
        before = replace(before, hidden=hidden)
        unread = stretch(bound, self._sessions, state, config, before, is_over=False)
        kept = pass_over(bound, unread) if hidden else self._keep(bound, unread, before.begun)
        begun = bound.memory.store.version(bound.memory.scope)
        return replace(kept, hidden=not bound.writes, begun=begun)

    def _choose_memory(
        self,
        bound: BoundMemory,
        state: Mapping[str, Any],
        runtime: CustomStream,
        config: RunnableConfig,
    ) -> dict[str, Any]:
        """Choose the memory to show, and return the changes of the state."""
        settings = bound.settings
        live = from_plain(state.get(SHOWN))
        if not (bound.tells and settings.injection_enabled and settings.mode == "inject"):
            return {SHOWN: []} if live else {}
        meter = MemoryRewrites(**state.get(METER) or {})
        messages = read_state(state["messages"])
        earlier = partial(
            earlier_messages, self._sessions, state, config, messages, query_turns(bound)
        )
        begun = self._renderer.begin(bound, messages, live, meter, earlier)
        if begun is None:
            return {}
        if bound.writes and begun.outcome.weighed:
            bound.memory.store.keep_shown(bound.memory.scope, bound.thread, begun.outcome)
        update: dict[str, Any] = {} if begun.meter == meter else {METER: asdict(begun.meter)}
        if begun.shown != live:
            announce_shown(bound, begun.shown, live, runtime)
            update[SHOWN] = to_plain(begun.shown)
        return update

    def _compose(self, request: ModelRequest[Any], rendered: Mapping[str, str] | None) -> Composed:
        """Add the recalled memory to a request.

        Args:
            request: The request.
            rendered: The result of `write`.
        """
        self._learning.use_model(request.model)
        live, texts = shown_in(request), rendered or {}
        additions = [_addition(one, texts[one.uid]) for one in live if one.uid in texts]
        for one in additions:
            if not one.before:
                add = with_message if self._settings.placement == "system_message" else with_part
                request = add(request, one)
        request, inserts = with_inserts(request, [one for one in additions if one.before])
        return Composed(request, inserts, live, is_known=rendered is not None)

    def _settle(
        self, composed: Composed, response: ModelResponse[Any]
    ) -> ExtendedModelResponse[Any]:
        """Note what of the additions was sent, and the size of the request."""
        request, inserts, live = composed.request, composed.inserts, composed.live
        self._sessions = inserts.sessions or self._sessions
        before: dict[str, Any] = request.state.get(METER) or {}  # type: ignore[assignment]
        meter = MemoryRewrites(**before).with_request(_size(response, request), time.time())
        update: dict[str, Any] = {METER: asdict(meter)}
        left = [one for one in live if one.uid in {*inserts.shown, SYSTEM_PROMPT_PLACE}]
        if composed.is_known and len(left) < len(live):
            update[SHOWN] = to_plain(left)
        return ExtendedModelResponse(response, Command(update=update))

    def _write(
        self, request: ModelRequest[Any], config: RunnableConfig
    ) -> Mapping[str, str] | None:
        """Return the texts of memory by their place; `None` if that fails or is not allowed."""
        runtime = request.runtime
        bound = _without_failing(partial(self._binding.of, config, request.state), runtime)
        if bound is None or not bound.tells:
            return None

        def messages() -> list[Message]:
            found, turns = read_state(request.state["messages"]), query_turns(bound)
            earlier = earlier_messages(self._sessions, request.state, config, found, turns)
            return [*earlier, *found]

        written = partial(self._renderer.write, bound, shown_in(request), messages)
        return _without_failing(written, runtime)

    def _end(
        self, state: Mapping[str, Any], runtime: CustomStream, config: RunnableConfig
    ) -> dict[str, Any]:
        """Store the messages of the run."""
        if self._binding.requested_mode(config) in {"incognito", "off"}:
            return {}
        bound = _without_failing(partial(self._binding.of, config, state), runtime)
        if bound is None or bound.is_subagent:
            return {}
        kept = _without_failing(partial(self._kept, bound, state, config), runtime)
        return {} if kept is None else {KEPT: asdict(kept)}

    def _kept(self, bound: BoundMemory, state: Mapping[str, Any], config: RunnableConfig) -> Kept:
        before = Kept(**state.get(KEPT) or {})
        unread = stretch(bound, self._sessions, state, config, before, is_over=True)
        if bound.writes:
            return self._keep(bound, unread, before.begun)
        return replace(pass_over(bound, unread), hidden=True)

    def _keep(self, bound: BoundMemory, unread: UnreadMessages, begun: int) -> Kept:
        """Store messages, and start the extraction of facts when it is due."""
        kept, is_new = keep(bound, unread, begun)
        if is_new:
            self._learning.go_on(bound.memory.store, bound.settings)
        return kept
