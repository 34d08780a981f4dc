"""Execution of a run: the agent's work, its events, and resumption after a crash.

A person's answer to a question of the agent is validated before LangGraph gets it. LangGraph stores
an answer before it is parsed: an invalid one would be parsed again by every later attempt, and the
question could not be answered any more.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from langchain_core.runnables import RunnableConfig
from langgraph.channels import DeltaChannel

from thalweg.errors import ClaimLostError, StorageError, ThalwegError
from thalweg_server.api.events import (
    RunResumed,
    RunStarted,
)
from thalweg_server.api.graph_runs import GraphRun, as_graph_run, read_request
from thalweg_server.api.runs import NewRun
from thalweg_server.app.agents.agents import Agent, Agents
from thalweg_server.app.agents.models import named_model
from thalweg_server.app.document_store import DocumentStore
from thalweg_server.app.parts import AppParts
from thalweg_server.app.performing.graph_runs import graph_config, keep_cut_off, perform_graph
from thalweg_server.app.performing.model_calls import ModelCalls
from thalweg_server.app.performing.problems import problem_of
from thalweg_server.app.performing.spans import run_span, trace_of
from thalweg_server.app.performing.steps import (
    EventEmitter,
)
from thalweg_server.app.performing.streaming import (
    CANCELLED,
    EmittedEvents,
    Translator,
)
from thalweg_server.app.performing.watching import (
    CURRENT_RUN,
    Publish,
    RunBegan,
    RunEnded,
    RunStatus,
)
from thalweg_server.app.registry import THREAD_METADATA
from thalweg_server.app.spending import Prices
from thalweg_server.checkpoints.owners import RunSaver
from thalweg_server.runs.base import Event as Line
from thalweg_server.runs.base import RunRecord
from thalweg_server.runs.emitting import Emit
from thalweg_server.runs.running import RunOutcome

_log = logging.getLogger("thalweg.server.app")


@dataclass(frozen=True, slots=True)
class Performer:
    """Performs runs; what `ProcessRuns` calls."""

    parts: AppParts
    agents: Agents
    publish: Publish

    async def __call__(self, run: RunRecord, emit: Emit) -> RunOutcome:
        """Perform a run to its end, or resume one of another process.

        Raises:
            ClaimLostError: Another process performs it now.
            StorageError: The medium failed; the run is retried.
        """
        CURRENT_RUN.set(run.key.run)
        started_at, is_first = time.monotonic(), run.attempt == 1
        waited = run.started - run.created if run.started and is_first else timedelta()
        self.publish(RunBegan(waited.total_seconds(), is_takeover=not is_first))
        status: RunStatus = "left"
        try:
            outcome = await self._perform(run, emit)
            status = outcome.status
        except asyncio.CancelledError:
            status = "cancelled" if await self._is_cancelled(run) else "left"
            raise
        finally:
            self.publish(RunEnded(status, time.monotonic() - started_at))
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
        emitter = EventEmitter(emit, run, translator, self.parts.archive, self.publish)
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
            return await self._graph_run(emitter, new, name, is_again=bool(lines))
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
        calls = ModelCalls(key.owner, charge, prices, self.publish)
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
