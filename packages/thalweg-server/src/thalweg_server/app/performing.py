"""Execution of a run: the agent's work, its model calls, its errors, and resumption after a crash.

A person's answer to a question of the agent is validated before LangGraph gets it. LangGraph stores
an answer before it is parsed: an invalid one would be parsed again by every later attempt, and the
question could not be answered any more. Each model call is charged when it is sent, and corrected
when its usage is known. The error of a failed run states the cause, the fix, and no secret.
"""

import asyncio
import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from traceback import walk_tb
from types import FrameType
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from langchain.agents.middleware.types import ModelRequest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, GenerationChunk, LLMResult
from langchain_core.runnables import RunnableConfig
from langgraph.channels import DeltaChannel
from langgraph.errors import GraphBubbleUp

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.threads.journal import ThreadBranch
from thalweg.archive.threads.operations import OperationResult, compact
from thalweg.context.request.last_check import model_in
from thalweg.context.request.models import limits_for, model_name
from thalweg.context.turn.effects import run
from thalweg.context.turn.summaries import Summarizer
from thalweg.context.turn.turn import CACHED_TOKENS, INPUT_TOKENS
from thalweg.engine.edits import Fold
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message
from thalweg.engine.pricing.matching import UNKNOWN_TARIFF
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.tokens import exact_counter, first_calibration
from thalweg.errors import ClaimLostError, StorageError, ThalwegError
from thalweg_server.api.events import (
    RunResumed,
    RunStarted,
)
from thalweg_server.api.graph_runs import GraphRun, as_graph_run, read_request
from thalweg_server.api.problems import Problem
from thalweg_server.api.runs import NewRun
from thalweg_server.app.agent_tools import DocumentStore
from thalweg_server.app.agents import Agent, Agents
from thalweg_server.app.configured import named_model
from thalweg_server.app.graph_execution import (
    EventEmitter,
    graph_config,
    keep_cut_off,
    perform_graph,
)
from thalweg_server.app.metrics import Metrics, RunStatus
from thalweg_server.app.parts import (
    CURRENT_RUN,
    AppParts,
    end_model_span,
    model_span,
    run_span,
    trace_of,
)
from thalweg_server.app.registry import THREAD_METADATA
from thalweg_server.app.spending import Prices, count_tokens, spent_in
from thalweg_server.app.streaming import (
    CANCELLED,
    EmittedEvents,
    Translator,
    thinking_of,
)
from thalweg_server.checkpoints.owners import RunSaver
from thalweg_server.models import model_by_name
from thalweg_server.runs.base import Event as Line
from thalweg_server.runs.base import RunRecord
from thalweg_server.runs.emitting import Emit
from thalweg_server.runs.running import RunOutcome
from thalweg_server.settings.sections import Settings

_CHAT_MODELS: Final = "langchain_core.language_models.chat_models"
_READERS: Final = frozenset(
    {
        "_create_chat_result",  # langchain-openai
        "_format_output",  # langchain-anthropic
        "agenerate_from_stream",  # these four: a stream without any part of an answer
        "generate_from_stream",
        "astream",
        "stream",
    }
)
"""Functions that convert a response to messages and fail if it is none.

They raise `ValueError`, `TypeError` or `AttributeError`. Found by sending HTML, text, truncated
JSON and empty bodies to langchain-openai 1.7 and langchain-anthropic 1.7."""
_ADDRESSES: Final = ("openai_api_base", "anthropic_api_url", "base_url")
MOST_CHARS = 1_000
_MESSAGE_CHARS = 120
_SECRETS = re.compile(
    r"(?i)(?P<name>\b(?:api[-_ ]?key|authorization|token|password|secret)['\"]?\s*[:=]\s*"
    r"(?:bearer\s+)?['\"]?|\bbearer\s+)(?P<value>[\w.\-+/=*]{6,})"
    r"|\b(?:sk|pk|xai|gsk|hf|ghp|AIza)[-_][\w\-*]{6,}"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)
_REFUSED, _BUSY, _BAD = (401, 403), (408, 409, 429), (400, 404, 413, 422)
_SERVER = 500
_UNREACHED = {"APIConnectionError", "APITimeoutError", "ConnectError", "ConnectTimeout"}


def unreadable_answer(error: BaseException) -> str | None:
    """Return the host that sent an answer which is none of a chat model.

    Args:
        error: The error of a run.

    Returns:
        The host, with its port; empty if the client does not name it. `None` for another error.
    """
    if not isinstance(error, ValueError | TypeError | AttributeError):
        return None
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    calls = [frame for frame in frames if frame.f_globals.get("__name__") == _CHAT_MODELS]
    if not calls:
        return None
    is_json = isinstance(error, json.JSONDecodeError)
    if not is_json and frames[-1].f_code.co_name not in _READERS:
        return None
    return next(_hosts(calls), "")


def _hosts(calls: list[FrameType]) -> Iterator[str]:
    for frame in calls:
        model = frame.f_locals.get("self")
        for field in _ADDRESSES:
            address = getattr(model, field, None)
            if isinstance(address, str) and (host := urlsplit(address).netloc):
                yield host.rpartition("@")[2]


def problem_of(error: BaseException, model: str = "") -> Problem:
    """Return why a run failed.

    Args:
        error: The error that ended it.
        model: The model that was called.
    """
    if isinstance(error, ThalwegError):
        return _problem(error.code, str(error))
    kind, message = type(error).__name__, _first(error)
    if kind == "GraphRecursionError":
        fix = "raise agent.recursion_limit, or request less at once"
        return _problem("run.limit", f"the run exceeded its limit of steps: {fix}")
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and _is_of_provider(error):
        return _of_provider(status, model, message)
    if not _UNREACHED.isdisjoint(each.__name__ for each in type(error).__mro__):
        detail = f"the provider of model {model!r} cannot be reached{_address(error)} ({message})"
        return _problem("model.unavailable", f"{detail}: try again, or check base_url", status=502)
    if (host := unreadable_answer(error)) is not None:
        place = f"the server of model {model!r}{f' at {host}' if host else ''}"
        detail = f"{place} sent no valid chat completion ({message[:_MESSAGE_CHARS]})"
        fix = "check base_url, and that no proxy or sign-in page answers in its place"
        return _problem("model.malformed", f"{detail}: {fix}", status=502)
    return _problem("run.failed", f"{kind}: {message}")


def _address(error: BaseException) -> str:
    """Return the address of the failed connection, if available, without user and password."""
    url = getattr(getattr(error, "request", None), "url", None)
    host, port = getattr(url, "host", ""), getattr(url, "port", None)
    return f" at {host}{f':{port}' if port else ''}" if host else ""


def _is_of_provider(error: BaseException) -> bool:
    return any(
        name.__name__ in {"APIStatusError", "APIError", "HTTPStatusError", "ResponseError"}
        for name in type(error).__mro__
    )


def _of_provider(status: int, model: str, message: str) -> Problem:
    if status in _REFUSED:
        detail = f"the provider of model {model!r} refused the key ({message}): check its api_key"
        return _problem("model.refused", detail, status=502)
    if status in _BUSY or status >= _SERVER:
        detail = f"the provider of model {model!r} is unavailable ({message}): try again later"
        return _problem("model.unavailable", detail, status=503)
    if status in _BAD:
        return _problem("model.refused", f"the provider of model {model!r} refused: {message}", 502)
    return _problem("model.failed", f"the provider of model {model!r} failed: {message}", 502)


def _problem(code: str, detail: str, status: int = 500) -> Problem:
    text = without_secrets(detail)[:MOST_CHARS]
    return Problem(title="the run failed", status=status, detail=text, code=code)


def _first(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:MOST_CHARS] if lines else "no reason was returned"


def without_secrets(text: str) -> str:
    """Mask what looks like a key, a token or a password.

    Example:
        >>> without_secrets(
        ...     "Incorrect API key provided: sk-abc123def456. Authorization: Bearer x1y2z3"
        ... )
        'Incorrect API key provided: ***. Authorization: Bearer ***'
    """

    def masked(found: re.Match[str]) -> str:
        return f"{found['name']}***" if found["value"] else "***"

    return _SECRETS.sub(masked, text)


_CHARS_PER_TOKEN = 4
"""Of a request that the context engine did not count."""
Charge = Callable[[Usage], None]
"""Adds the usage of a call, or a correction of one, to what the owner spent; blocks."""


@dataclass(slots=True)
class _Call:
    """A call without an end."""

    parent: UUID | None
    charged: Usage
    began: float
    span: Any
    text: str = ""
    """The streamed answer, reasoning included."""


class ModelCalls(AsyncCallbackHandler):
    """Charges all model calls of a run: of its agent, of subagents, of summaries, in tools.

    A call that is cut off costs its request, by our count, and the streamed part of the answer; one
    that its provider refused costs nothing.

    Args:
        charge: Receives usages and their corrections.
        prices: Computes costs.
        metrics: Counts calls, and errors of models and tools.
    """

    run_inline = True  # before the request is sent

    def __init__(self, charge: Charge, prices: Prices, metrics: Metrics) -> None:
        self._charge = charge
        self._prices = prices
        self._metrics = metrics
        self._calls: dict[UUID, _Call] = {}

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002 (LangChain's signature)
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **_: Any,  # noqa: ANN401
    ) -> None:
        """Charge a request; see `BaseCallbackHandler`."""
        for earlier in tuple(self._calls.values()):  # others begin and end meanwhile
            if earlier.parent == parent_run_id and not earlier.text:
                await self._correct(earlier, replace(earlier.charged, input=0, cached=0, calls=0))
        charged = _request(messages[0] if messages else (), metadata or {})
        unspent, span = Usage(calls=0, model=charged.model), model_span(charged.model)
        self._calls[run_id] = _Call(parent_run_id, unspent, time.time(), span)
        await self._correct(self._calls[run_id], charged)

    async def on_llm_new_token(
        self,
        token: str | list[str | dict[str, Any]],
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        **_: Any,  # noqa: ANN401
    ) -> None:
        """Keep what was streamed, which a cut-off call costs."""
        call = self._calls.get(run_id)
        if call is None:
            return
        message = chunk.message if isinstance(chunk, ChatGenerationChunk) else None
        more = token if isinstance(token, str) else ""
        more += thinking_of(message) if isinstance(message, AIMessageChunk) else ""
        if more and not call.text:
            self._metrics.model_began(call.charged.model, time.time() - call.began)
        call.text += more

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401
        """Correct the charge by the usage that the provider reports."""
        call = self._calls.pop(run_id, None)
        first = response.generations[0][0] if response.generations else None
        if call is None or not isinstance(first, ChatGeneration):
            return
        reported = getattr(first.message, "usage_metadata", None)
        text = call.text or str(first.message.text)
        await self._end(call, spent_in(reported, call.charged.model), text)

    async def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401
        """Charge the streamed part of a call that broke off."""
        if (call := self._calls.pop(run_id, None)) is None:
            return
        if isinstance(error, Exception):
            code = problem_of(error).code
            self._metrics.model_failed(call.charged.model, code)
            end_model_span(call.span, None, code)
        if call.text or not isinstance(error, Exception):
            await self._end(call, None, call.text)
        else:
            await self._correct(call, Usage(calls=0, model=call.charged.model))

    async def cut_off(self) -> None:
        """End the calls of a cancelled run: LangChain reports no end of them."""
        while self._calls:
            _, call = self._calls.popitem()
            await self._end(call, None, call.text)

    async def on_tool_error(self, error: BaseException, **_: Any) -> None:  # noqa: ANN401
        """Report an error of a tool."""
        if isinstance(error, Exception) and not isinstance(error, GraphBubbleUp):
            self._metrics.tool_errors.labels(type(error).__name__).inc()

    async def _end(self, call: _Call, reported: Usage | None, text: str) -> None:
        usage = reported
        if usage is None:
            usage = replace(call.charged, calls=1, output=await count_tokens(text))
        end_model_span(call.span, usage)
        await self._correct(call, usage)
        self._metrics.model_called(usage.model, self._prices.usage(usage))

    async def _correct(self, call: _Call, usage: Usage) -> None:
        """Change what a call is charged."""
        before, call.charged = call.charged, usage
        change = Usage(
            usage.input - before.input,
            usage.cached - before.cached,
            usage.written - before.written,
            usage.output - before.output,
            calls=usage.calls - before.calls,
            model=usage.model,
        )
        await asyncio.to_thread(self._charge, change)


def _request(messages: Sequence[BaseMessage], metadata: Mapping[str, Any]) -> Usage:
    """Return the usage of a request: by the context engine's count, or else by its characters."""
    counted = metadata.get(INPUT_TOKENS)
    if not isinstance(counted, int):
        counted = sum(len(str(message.content)) for message in messages) // _CHARS_PER_TOKEN
    return Usage(counted, int(metadata.get(CACHED_TOKENS) or 0), model=model_in(metadata))


_log = logging.getLogger("thalweg.server.app")


@dataclass(frozen=True, slots=True)
class Performer:
    """Performs runs; what `ProcessRuns` calls."""

    parts: AppParts
    agents: Agents

    async def __call__(self, run: RunRecord, emit: Emit) -> RunOutcome:
        """Perform a run to its end, or resume one of another process.

        Raises:
            ClaimLostError: Another process performs it now.
            StorageError: The medium failed; the run is retried.
        """
        CURRENT_RUN.set(run.key.run)
        started_at, is_first = time.monotonic(), run.attempt == 1
        waited = run.started - run.created if run.started and is_first else timedelta()
        self.parts.metrics.run_began(waited.total_seconds(), is_takeover=not is_first)
        status: RunStatus = "left"
        try:
            outcome = await self._perform(run, emit)
            status = outcome.status
        except asyncio.CancelledError:
            status = "cancelled" if await self._is_cancelled(run) else "left"
            raise
        finally:
            self.parts.metrics.run_ended(status, time.monotonic() - started_at)
        return outcome

    async def _perform(self, run: RunRecord, emit: Emit) -> RunOutcome:
        new = read_request(run.request)
        lines = await self.parts.journal.read_all(run.key) if run.attempt > 1 else ()
        with run_span(run, as_graph_run(new).graph, trace_of(lines)) as trace:
            return await self._attempt(run, emit, new, lines, trace)

    async def _attempt(
        self,
        run: RunRecord,
        emit: Emit,
        new: NewRun | GraphRun,
        lines: Sequence[Line],
        trace: str,
    ) -> RunOutcome:
        settings = self.parts.settings()
        prices = Prices(settings.summarization)
        request = as_graph_run(new)
        own = not isinstance(new, NewRun) and self.agents.is_own(settings, request.graph)
        name = ""
        translator = Translator(prices.usage, EmittedEvents.of(lines, prices.usage), any_node=own)
        emitter = EventEmitter(emit, run, translator, self.parts.archive, self.parts.metrics)
        try:
            any_model = self.parts.any_model
            name = "" if own else named_model(settings, request.model_name, any_model=any_model)
            if lines:
                await emitter.publish(RunResumed(attempt=run.attempt))
            else:
                key = run.key
                await emitter.publish(
                    RunStarted(run=key.run, thread=key.thread, model=name, trace=trace)
                )
            return await self._graph_run(emitter, new, name, is_again=run.attempt > 1)
        except asyncio.CancelledError:
            if await self._is_cancelled(run):
                await emitter.publish(*translator.end(why=CANCELLED))
            raise
        except (ClaimLostError, StorageError):
            raise
        except Exception as error:  # noqa: BLE001 (the run's edge: a model or a tool may raise anything)
            _log_failure(run, error)
            await emitter.publish(*translator.end())
            return RunOutcome.failed(problem_of(error, name or settings.default_model or ""))

    async def _graph_run(
        self, emitter: EventEmitter, new: NewRun | GraphRun, model: str, *, is_again: bool
    ) -> RunOutcome:
        settings, key, request = self.parts.settings(), emitter.run.key, as_graph_run(new)
        prices = Prices(settings.summarization)
        charge = partial(self.parts.registry.charge, key.owner)
        calls = ModelCalls(charge, prices, self.parts.metrics)
        config = graph_config(emitter.run, request, settings.agent.recursion_limit)
        turn = new if isinstance(new, NewRun) else None
        if turn is not None:  # also if the settings define another graph of its name
            graph = await self.agents.of(settings, model)
        else:
            graph = await self.agents.graph(settings, request.graph, config, model=model or None)
        store = DocumentStore(self.parts.registry.documents, key.owner)
        saver = self.parts.checkpoints.of_run(key.owner)
        graph = graph.copy({"checkpointer": saver, "store": store})
        config = {**config, "callbacks": [calls]}
        try:
            outcome = await perform_graph(
                graph, saver, config, request, emitter, is_again=is_again, turn=turn
            )
        except asyncio.CancelledError:
            await calls.cut_off()
            if await self._is_cancelled(emitter.run):
                is_own = self.agents.is_own(settings, request.graph) and turn is None
                await keep_cut_off(graph, config, emitter, is_agent=not is_own)
                await saver.flush()
            raise
        finally:
            await saver.close()
        if turn is not None and outcome.status == "completed":
            await self._drop_steps(graph, saver, config, emitter.run)
        return outcome

    async def _drop_steps(
        self, graph: Agent, saver: RunSaver, config: RunnableConfig, run: RunRecord
    ) -> None:
        """Reduce the state of a thread to one checkpoint: its messages are in the archive.

        If that fails, the run is completed, too. A thread of LangGraph's API keeps all checkpoints,
        for its clients read and fork them.

        Raises:
            ClaimLostError: Another process performs the run.
        """
        key = run.key
        try:
            documents = self.parts.registry.documents
            if await asyncio.to_thread(documents.get, key.owner, THREAD_METADATA, key.thread):
                return
            state = await graph.aget_state(config)
            whole = {
                name: state.values[name]
                for name, channel in graph.channels.items()
                if isinstance(channel, DeltaChannel) and state.values.get(name)
            }
            await saver.keep_newest(config, whole)
        except ClaimLostError:
            raise
        except asyncio.CancelledError:
            if not await self._is_cancelled(run):
                raise
        except Exception as error:  # noqa: BLE001 (the answer is durable)
            cause = error if isinstance(error, ThalwegError) else type(error).__name__
            _log.warning("steps of thread %s are kept until its next run: %s", key.thread, cause)

    async def _is_cancelled(self, run: RunRecord) -> bool:
        """Return whether a person cancelled the run; if not, another process resumes it."""
        found = await self.parts.journal.get(run.key)
        return found is not None and found.cancel_requested


def _log_failure(run: RunRecord, error: Exception) -> None:
    """Log why a run failed: the words of others may hold those of a user, or a key."""
    if isinstance(error, ThalwegError):
        _log.warning("run %s failed: %s", run.key.run, error)
    else:
        _log.warning("run %s failed: %s", run.key.run, type(error).__name__)
        _log.debug("run %s failed", run.key.run, exc_info=error)


def compacted(archive: Archive, key: ThreadKey, parts: AppParts) -> OperationResult:
    """Fold what can be folded, and charge the summary of the model that the settings name.

    Raises:
        ArchiveError: The thread has no turns.
        ConfigError: The model cannot be made.
    """
    settings = parts.settings()
    policy = settings.summarization
    name = policy.model_name or settings.default_model
    if not policy.summarize or name is None:
        return compact(archive, key)
    writer = _ModelNarrativeWriter(archive, key, settings, model_by_name(name, settings))
    try:
        return compact(archive, key, writer)
    finally:
        if writer.spent.calls:
            parts.registry.charge(key.owner, writer.spent)


class _ModelNarrativeWriter:
    """See `thalweg.archive.threads.operations.NarrativeWriter`."""

    def __init__(
        self, archive: Archive, key: ThreadKey, settings: Settings, model: BaseChatModel
    ) -> None:
        self._archive = archive
        self._key = key
        self._model = model
        policy, name = settings.summarization, model_name(model)
        tariff = Prices(policy).tariff(name)
        limits = limits_for(model, None if policy.model_name else policy)
        self._summarizer = Summarizer(
            policy=policy,
            named=model,
            request=ModelRequest(model=model, messages=[]),
            limit=first_calibration(name).lower(limits.input),
            tariff=tariff or UNKNOWN_TARIFF,
            is_cold=True,
            count=exact_counter(),
            unread=lambda _first, _last: (),
            cacheable=lambda request: request,
        )

    @property
    def spent(self) -> Usage:
        """Its usage so far."""
        return self._summarizer.spent

    def __call__(self, engine: Engine, fold: Fold, line: ThreadBranch) -> Fold:
        """Return a compaction with a summary, or unchanged if the model writes no valid one."""
        self._summarizer.unread = partial(self._folded, engine, line)
        return run(self._summarizer.summarize(engine, fold, ()))

    def _folded(
        self, engine: Engine, line: ThreadBranch, first: int, last: int
    ) -> Sequence[tuple[int, Message]]:
        live = engine.window.entries
        logged = enumerate(self._archive.messages(self._key, first, last), first)
        return [(p, m) for p, m in logged if p in line and p not in live]
