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
from itertools import takewhile
from typing import Any, cast

from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import START
from langgraph.types import Command, StateSnapshot

from thalweg.errors import AnswerError, ClaimLostError, StorageError, ThalwegError
from thalweg_server.api.events import (
    RunCompleted,
    RunInterrupted,
    RunResumed,
    RunStarted,
)
from thalweg_server.api.graph_runs import GraphRun, read_request
from thalweg_server.api.runs import NewRun
from thalweg_server.app.agents.agents import Agent, Agents
from thalweg_server.app.agents.graph_definitions import BUILT_IN
from thalweg_server.app.agents.models import named_model
from thalweg_server.app.document_store import DocumentStore
from thalweg_server.app.files.run_files import AGENT, OWNER, PLACE
from thalweg_server.app.parts import AppParts
from thalweg_server.app.performing.cut_off import is_cut_off, keep_cut_off
from thalweg_server.app.performing.graph_runs import graph_config, perform_graph
from thalweg_server.app.performing.model_calls import ModelCalls
from thalweg_server.app.performing.problems import problem_of
from thalweg_server.app.performing.spans import run_span, trace_of
from thalweg_server.app.performing.steps import (
    INTERRUPT,
    KEPT,
    RUN,
    EventEmitter,
    Part,
    check_answer,
    is_given,
    questions_of,
    rests,
)
from thalweg_server.app.performing.streaming import (
    CANCELLED,
    MODEL_NAME,
    MODES,
    WAITS,
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
from thalweg_server.app.spending import Prices
from thalweg_server.checkpoints.owners import RunSaver
from thalweg_server.runs.base import Event as Line
from thalweg_server.runs.base import RunRecord
from thalweg_server.runs.emitting import Emit
from thalweg_server.runs.running import RunOutcome
from thalweg_server.settings.sections import Settings

_PAGE = 2_000
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
        lines = await self._lines(run)
        agent = new.graph if isinstance(new, GraphRun) else BUILT_IN
        with run_span(run, agent, trace_of(lines)) as trace:
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
        own = isinstance(new, GraphRun) and self.agents.is_own(settings, new.graph)
        name = ""
        translator = Translator(prices.usage, EmittedEvents.of(lines, prices.usage), any_node=own)
        emitter = EventEmitter(emit, run, translator, self.parts.archive, self.publish)
        try:
            model = new.model if isinstance(new, NewRun) else new.model_name
            name = "" if own else named_model(settings, model, any_model=self.parts.any_model)
            if lines:
                await emitter.publish(RunResumed(attempt=run.attempt))
            else:
                key = run.key
                await emitter.publish(
                    RunStarted(run=key.run, thread=key.thread, model=name, trace=trace)
                )
            saver = self.parts.checkpoints.of_run(run.key.owner)
            is_again = bool(lines)
            try:
                graph, config = await self._graph(run, new, name)
                owner, charge = run.key.owner, partial(self.parts.registry.charge, run.key.owner)
                calls = ModelCalls(owner, charge, prices, self.publish)
                config = {**config, "callbacks": [calls]}
                graph = graph.copy({"checkpointer": saver, **self._store(run, new)})
                perform: Any = _performed if isinstance(new, NewRun) else perform_graph
                try:
                    outcome: RunOutcome = await perform(
                        graph, saver, config, new, emitter, is_again=is_again
                    )
                except asyncio.CancelledError:
                    await calls.cut_off()
                    if await self._is_cancelled(run):
                        await keep_cut_off(graph, config, emitter, is_agent=not own)
                        await saver.flush()
                    raise
                return outcome
            finally:
                await saver.close()
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

    async def _graph(
        self, run: RunRecord, new: NewRun | GraphRun, model: str
    ) -> tuple[Agent, RunnableConfig]:
        settings = self.parts.settings()
        if isinstance(new, NewRun):
            return (await self.agents.of(settings, model)).graph, config_of(run, new, settings)
        config = graph_config(run, new, settings.agent.recursion_limit)
        return await self.agents.graph(settings, new.graph, config, model=model or None), config

    def _store(self, run: RunRecord, new: NewRun | GraphRun) -> dict[str, Any]:
        if isinstance(new, NewRun):
            return {}
        return {"store": DocumentStore(self.parts.registry.documents, run.key.owner)}

    async def _lines(self, run: RunRecord) -> Sequence[Line]:
        lines: list[Line] = []
        if run.attempt > 1:
            while page := await self.parts.journal.read(run.key, len(lines), _PAGE):
                lines += page
        return lines

    async def _is_cancelled(self, run: RunRecord) -> bool:
        """Return whether a person cancelled the run; if not, another process resumes it."""
        found = await self.parts.journal.get(run.key)
        return found is not None and found.cancel_requested


def config_of(run: RunRecord, new: NewRun, settings: Settings) -> RunnableConfig:
    """Make the config that a run's graph is run with."""
    return {
        "configurable": {
            "thread_id": run.key.thread,
            OWNER: run.key.owner,
            "memory": new.memory,
            AGENT: new.agent or "",
            PLACE: new.place or "",
        },
        "metadata": {RUN: run.key.run},
        "recursion_limit": settings.agent.recursion_limit,
    }


async def _performed(
    graph: Agent,
    saver: RunSaver,
    config: RunnableConfig,
    new: NewRun,
    emitter: EventEmitter,
    *,
    is_again: bool,
) -> RunOutcome:
    translator, run = emitter.translator, emitter.run
    inputs = messages_of(run.key.run, new)
    before = await graph.aget_state(config) if is_again else None
    if before is not None:
        there: list[BaseMessage] = before.values.get("messages", [])
        model = str(before.values.get(MODEL_NAME, ""))
        await emitter.publish(*translator.take_up(there, [str(m.id) for m in inputs], model))
    has_input = before is not None and await is_given(graph, config, before, new.resume)
    state = before or await graph.aget_state(config)
    if not has_input:
        _check_given(state, new)
    waits = before is not None and bool(before.interrupts)
    if not (has_input and before is not None and rests(before)):
        waits = False
        if new.unanswered == "drop" and not has_input:
            await _drop_unanswered(graph, config, state)
        if new.retry and not has_input and is_cut_off(state):
            await _remove(graph, config, [_messages(state)[-1]])
        given = None if has_input or new.retry else _given(new, inputs)
        parts = graph.astream(given, config, stream_mode=MODES, subgraphs=True, durability="sync")
        async for part in parts:
            namespace, mode, payload = cast("Part", part)
            waits |= not namespace and mode == "updates" and INTERRUPT in payload
            events = translator.translate(namespace, mode, payload)
            # What was emitted and is not durable would be done again, and come out otherwise.
            if any(isinstance(one, KEPT) for one in events):
                await saver.flush()
            await emitter.publish(*events)
    if waits:
        await emitter.publish(*translator.end(why=WAITS))
        interrupted = RunInterrupted(questions=questions_of(await graph.aget_state(config)))
        return RunOutcome("interrupted", interrupted.model_dump_json())
    await saver.flush()
    await emitter.publish(*translator.end())
    done = RunCompleted(text=translator.text, usage=translator.usage)
    return RunOutcome("completed", done.model_dump_json())


def messages_of(run: str, new: NewRun) -> list[HumanMessage]:
    """Return the run's input as messages, whose ids identify it in a state."""
    given = [one.content for one in new.messages] if new.message is None else [new.message]
    return [
        HumanMessage(
            content=content if isinstance(content, str) else [dict(block) for block in content],
            id=f"{run}-{number}",
        )
        for number, content in enumerate(given)
    ]


def _check_given(state: StateSnapshot, new: NewRun) -> None:
    """Validate an input that continues an earlier run.

    Raises:
        AnswerError: The thread waits for nothing of that kind.
    """
    if new.resume is not None:
        check_answer(questions_of(state), new.resume)
    elif new.retry and rests(state) and not is_cut_off(state):
        problem = "a question waits" if state.interrupts else "no failed or cancelled run is left"
        raise AnswerError(problem, "answer it" if state.interrupts else "send a message")


def _given(new: NewRun, inputs: Sequence[HumanMessage]) -> Any:  # noqa: ANN401 (LangGraph's)
    return {"messages": list(inputs)} if inputs else Command(resume=new.resume)


async def _drop_unanswered(graph: Agent, config: RunnableConfig, state: StateSnapshot) -> None:
    """Remove the messages of the newest run from the state, if nothing follows them.

    An update by hand, as LangGraph has it: the context then leaves them out of the thread, too.
    The run is not named as its source: it does not have the run's own input.
    """
    messages = _messages(state)
    newest = _run_of(messages[-1]) if messages else ""
    last = takewhile(
        lambda message: isinstance(message, HumanMessage) and _run_of(message) == newest,
        reversed(messages),
    )
    await _remove(graph, config, [*last])


async def _remove(graph: Agent, config: RunnableConfig, messages: Sequence[BaseMessage]) -> None:
    if removals := [RemoveMessage(id=str(message.id)) for message in messages]:
        place: RunnableConfig = {"configurable": config["configurable"]}
        await graph.aupdate_state(place, {"messages": removals}, as_node=START)


def _messages(state: StateSnapshot) -> Sequence[BaseMessage]:
    messages: Sequence[BaseMessage] = state.values.get("messages", [])
    return messages


def _run_of(message: BaseMessage) -> str:
    """Return the run that brought a message, from the id that `messages_of` made."""
    return str(message.id).rpartition("-")[0]


def _log_failure(run: RunRecord, error: Exception) -> None:
    """Log why a run failed: the words of others may hold those of a user, or a key."""
    if isinstance(error, ThalwegError):
        _log.warning("run %s failed: %s", run.key.run, error)
    else:
        _log.warning("run %s failed: %s", run.key.run, type(error).__name__)
        _log.debug("run %s failed", run.key.run, exc_info=error)
