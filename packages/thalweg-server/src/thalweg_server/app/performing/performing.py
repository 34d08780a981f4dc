"""Execution of a run: the agent's work, its events, and resumption after a crash.

A person's answer to a question of the agent is validated before LangGraph gets it. LangGraph stores
an answer before it is parsed: an invalid one would be parsed again by every later attempt, and the
question could not be answered any more.
"""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Annotated, Any, cast

from langchain.agents.middleware.human_in_the_loop import Decision
from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import START
from langgraph.types import Command, StateSnapshot
from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.threads.journal import page_at
from thalweg.engine.pricing.usage import Usage as AnswerUsage
from thalweg.errors import AnswerError, ArchiveError, ClaimLostError, StorageError, ThalwegError
from thalweg_server.api.events import (
    Event,
    MessageCompleted,
    MessageDelta,
    RunCompleted,
    RunInterrupted,
    RunResumed,
    RunStarted,
    ThinkingDelta,
    ToolCompleted,
    UsageReported,
)
from thalweg_server.api.runs import NewRun
from thalweg_server.api.threads import Question
from thalweg_server.api.usage import Usage
from thalweg_server.app.agents.agents import Agent, Agents
from thalweg_server.app.agents.models import named_model
from thalweg_server.app.files.run_files import AGENT, OWNER, PLACE
from thalweg_server.app.parts import AppParts
from thalweg_server.app.performing.problems import problem_of
from thalweg_server.app.performing.streaming import (
    MODEL_NAME,
    MODES,
    EmittedEvents,
    Translator,
    plain,
)
from thalweg_server.app.performing.watching import ModelCalled, Publish, RunEnded, RunStatus
from thalweg_server.app.spending import Prices
from thalweg_server.checkpoints.owners import RunSaver
from thalweg_server.runs.base import Draft, RunRecord
from thalweg_server.runs.base import Event as Line
from thalweg_server.runs.emitting import Emit
from thalweg_server.runs.running import RunOutcome
from thalweg_server.settings.sections import Settings

_DECISION: TypeAdapter[Decision] = TypeAdapter(Annotated[Decision, Field(discriminator="type")])
RUN = "thalweg_run"
"""Where in a checkpoint's metadata the run is that made it."""
_PAGE = 2_000
INTERRUPT = "__interrupt__"
"""Under which a graph streams that it waits for a person."""
_KEPT = (MessageCompleted, ToolCompleted)
"""Events that are emitted only once a checkpoint contains their messages."""
Part = tuple[tuple[str, ...], str, Any]
"""An item of the stream of a graph and its subgraphs."""
_log = logging.getLogger("thalweg.server.app")
_RESUME = "__resume__"


def check_answer(questions: Sequence[Question], given: JsonValue) -> None:
    """Validate an answer before it is stored.

    Args:
        questions: The pending questions.
        given: `NewRun.resume`: the answer to the one question, or answers by the questions' ids.

    Raises:
        AnswerError: It matches none of them.
    """
    if not questions:
        problem = "no call waits for a decision"
        raise AnswerError(problem, "send a message")
    known = {question.id: question for question in questions}
    if isinstance(given, dict) and given and given.keys() <= known.keys():
        for id_, answer in given.items():
            _check(known[id_], answer)
    elif len(questions) > 1:
        problem, ids = f"{len(questions)} questions wait", ", ".join(known)
        raise AnswerError(problem, f"answer by their ids: {ids}")
    else:
        _check(questions[0], given)


def _check(question: Question, given: JsonValue) -> None:
    """Validate the answer to a question; questions in a tool's own format are not checked."""
    request = question.value
    if not isinstance(request, dict) or not isinstance(request.get("action_requests"), list):
        return
    names = [str(one["name"]) for one in _objects(request["action_requests"])]
    decisions = given.get("decisions") if isinstance(given, dict) else None
    if not isinstance(decisions, list) or len(decisions) != len(names):
        problem = f"{len(names)} calls need a decision each"
        raise AnswerError(problem, 'send {"decisions": [{"type": "approve"}, …]}')
    allowed = {one["action_name"]: one for one in _objects(request.get("review_configs"))}
    for number, (name, decision) in enumerate(zip(names, decisions, strict=True)):
        _check_decision(f"decisions[{number}]", decision, allowed.get(name, {}))


def _check_decision(where: str, given: JsonValue, review: Mapping[str, JsonValue]) -> None:
    try:
        decision = _DECISION.validate_python(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        problem = f"{'.'.join((where, *map(str, first['loc'])))}: {first['msg']}"
        raise AnswerError(problem, "fix it, and send it again") from None
    allowed = review.get("allowed_decisions")
    if isinstance(allowed, list) and decision["type"] not in allowed:
        problem = f"{where}: {decision['type']!r} is not allowed"
        raise AnswerError(problem, f"decide one of: {', '.join(map(str, allowed))}")


def _objects(given: JsonValue) -> list[dict[str, JsonValue]]:
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []


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
        started_at = time.monotonic()
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
        settings = self.parts.settings()
        new = NewRun.model_validate_json(run.request)
        prices = Prices(settings.summarization)
        lines = await self._lines(run)

        def priced(spent: AnswerUsage) -> Usage:
            usage = prices.usage(spent)
            self.publish(ModelCalled(spent.model, usage, run.key.owner))
            return usage

        translator = Translator(priced, EmittedEvents.of(lines, prices.usage))
        emitter = _EventEmitter(emit, run, translator, self.parts.archive)
        try:
            name = named_model(settings, new.model, any_model=self.parts.any_model)
            if lines:
                await emitter.publish(RunResumed(attempt=run.attempt))
            else:
                await emitter.publish(
                    RunStarted(run=run.key.run, thread=run.key.thread, model=name)
                )
            agent = (await self.agents.of(settings, name)).graph
            saver = self.parts.checkpoints.of_run(run.key.owner)
            config = config_of(run, new, settings)
            try:
                return await _performed(agent, saver, config, new, emitter, is_again=bool(lines))
            finally:
                await saver.close()
        except asyncio.CancelledError:
            if await self._is_cancelled(run):
                await emitter.publish(*translator.end())
            raise
        except (ClaimLostError, StorageError):
            raise
        except Exception as error:  # noqa: BLE001 (the run's edge: a model or a tool may raise anything)
            _log_failure(run, error)
            await emitter.publish(*translator.end())
            model = new.model or settings.default_model or ""
            return RunOutcome.failed(problem_of(error, model))

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


class _EventEmitter:
    """Emits events to the run's journal."""

    def __init__(
        self, emit: Emit, run: RunRecord, translator: Translator, archive: Archive
    ) -> None:
        self._emit = emit
        self._archive = archive
        self._key = ThreadKey(run.key.owner, run.key.thread)
        self.run = run
        self.translator = translator

    async def publish(self, *events: Event) -> None:
        """Emit events, and the usage after each answer of the agent."""
        for event in events:
            await self._emit(draft(event))
            if isinstance(event, MessageCompleted) and not event.caller:
                await self._publish_usage()

    async def _publish_usage(self) -> None:
        try:
            _, page = await asyncio.to_thread(page_at, self._archive, self._key)
        except ArchiveError:
            return  # nothing was sent yet
        reported = UsageReported(
            total=self.translator.usage, tokens=sum(page.tokens.values()), limit=page.limit
        )
        await self._emit(draft(reported))


def draft(event: Event) -> Draft:
    """Make the line of an event; deltas of one message that wait together become one."""
    joins = event.message if isinstance(event, (MessageDelta, ThinkingDelta)) else ""
    return Draft(event.type, event.model_dump_json(), joins)


async def _performed(
    agent: Agent,
    saver: RunSaver,
    config: RunnableConfig,
    new: NewRun,
    emitter: _EventEmitter,
    *,
    is_again: bool,
) -> RunOutcome:
    graph = agent.copy({"checkpointer": saver})
    translator, run = emitter.translator, emitter.run
    inputs = messages_of(run.key.run, new)
    before = await graph.aget_state(config) if is_again else None
    if before is not None:
        there: list[BaseMessage] = before.values.get("messages", [])
        model = str(before.values.get(MODEL_NAME, ""))
        await emitter.publish(*translator.take_up(there, [str(m.id) for m in inputs], model))
    is_given = before is not None and await _is_given(graph, config, before, new)
    state = before or await graph.aget_state(config)
    if not is_given:
        _check_given(state, new)
    waits = before is not None and bool(before.interrupts)
    if not (is_given and before is not None and _rests(before)):
        waits = False
        if new.unanswered == "drop" and not is_given:
            await _drop_unanswered(graph, config, state)
        given = None if is_given or new.retry else _given(new, inputs)
        parts = graph.astream(given, config, stream_mode=MODES, subgraphs=True, durability="sync")
        async for part in parts:
            namespace, mode, payload = cast("Part", part)
            waits |= not namespace and mode == "updates" and INTERRUPT in payload
            events = translator.translate(namespace, mode, payload)
            # What was emitted and is not durable would be done again, and come out otherwise.
            if any(isinstance(one, _KEPT) for one in events):
                await saver.flush()
            await emitter.publish(*events)
    if waits:
        await emitter.publish(*translator.end(waits=True))
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
    elif new.retry and _rests(state):
        problem = "a question waits" if state.interrupts else "no failed or cancelled run is left"
        raise AnswerError(problem, "answer it" if state.interrupts else "send a message")


def _given(new: NewRun, inputs: Sequence[HumanMessage]) -> Any:  # noqa: ANN401 (LangGraph's)
    return {"messages": list(inputs)} if inputs else Command(resume=new.resume)


async def _drop_unanswered(graph: Agent, config: RunnableConfig, state: StateSnapshot) -> None:
    """Remove the messages of the newest run from the state, if nothing follows them.

    An update by hand, as LangGraph has it: the context then leaves them out of the thread, too.
    The run is not named as its source: it does not have the run's own input.
    """
    messages: Sequence[BaseMessage] = state.values.get("messages", [])
    newest = _run_of(messages[-1]) if messages else ""
    last = takewhile(
        lambda message: isinstance(message, HumanMessage) and _run_of(message) == newest,
        reversed(messages),
    )
    if removals := [RemoveMessage(id=str(message.id)) for message in last]:
        place: RunnableConfig = {"configurable": config["configurable"]}
        await graph.aupdate_state(place, {"messages": removals}, as_node=START)


def _run_of(message: BaseMessage) -> str:
    """Return the run that brought a message, from the id that `messages_of` made."""
    return str(message.id).rpartition("-")[0]


async def _is_given(
    graph: Agent, config: RunnableConfig, before: StateSnapshot, new: NewRun
) -> bool:
    """Return whether the state already has the run's input, which must not be added twice."""
    run = (config.get("metadata") or {}).get(RUN)
    if (before.metadata or {}).get(RUN) == run:
        return True
    if new.resume is None or not isinstance(graph.checkpointer, BaseCheckpointSaver):
        return False
    found = await graph.checkpointer.aget_tuple(config)
    writes = (found.pending_writes if found else None) or []
    return any(channel == _RESUME and value == new.resume for _, channel, value in writes)


def _rests(state: StateSnapshot) -> bool:
    """Return whether nothing remains to be done: the run ended, or waits for a person.

    `state.next` lacks a completed step whose checkpoint was lost.
    """
    return not state.tasks or bool(state.interrupts)


def questions_of(state: StateSnapshot) -> tuple[Question, ...]:
    """Return the decisions that an agent waits for."""
    return tuple(Question(id=one.id, value=plain(one.value)) for one in state.interrupts)


def _log_failure(run: RunRecord, error: Exception) -> None:
    """Log why a run failed: the words of others may hold those of a user, or a key."""
    if isinstance(error, ThalwegError):
        _log.warning("run %s failed: %s", run.key.run, error)
    else:
        _log.warning("run %s failed: %s", run.key.run, type(error).__name__)
        _log.debug("run %s failed", run.key.run, exc_info=error)
