"""Execution of any graph: its stream is kept in the journal as the graph emits it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from types import NoneType
from typing import Annotated, Any, cast

from langchain.agents.middleware.human_in_the_loop import Decision
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    convert_to_messages,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.runnables import RunnableConfig
from langgraph.channels import LastValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import START
from langgraph.types import Command, Send, StateSnapshot, StreamMode
from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.threads.journal import TurnRecord, page_at
from thalweg.context.turn.threads import write_pointer
from thalweg.errors import AnswerError, ArchiveError
from thalweg_server.api.events import (
    ContextChanged,
    Event,
    MessageCompleted,
    MessageDelta,
    RunCompleted,
    RunInterrupted,
    ThinkingDelta,
    ToolCompleted,
    UsageReported,
)
from thalweg_server.api.graph_runs import GraphRun
from thalweg_server.api.runs import NewRun
from thalweg_server.api.threads import Question
from thalweg_server.app.agent_tools import AGENT, OWNER, PLACE
from thalweg_server.app.agents import Agent
from thalweg_server.app.graph_threads import MESSAGE_ERRORS
from thalweg_server.app.metrics import Metrics
from thalweg_server.app.spending import count_tokens
from thalweg_server.app.streaming import (
    MODEL_NAME,
    MODES,
    WAITS,
    PartEncoder,
    Translator,
    plain,
)
from thalweg_server.app.subgraphs import SubgraphTracker
from thalweg_server.checkpoints.owners import RunSaver
from thalweg_server.runs.base import Draft, RunRecord
from thalweg_server.runs.emitting import Emit
from thalweg_server.runs.running import RunOutcome

_DECISION: TypeAdapter[Decision] = TypeAdapter(Annotated[Decision, Field(discriminator="type")])
RUN = "thalweg_run"
"""Where in a checkpoint's metadata the run is that made it."""
INTERRUPT = "__interrupt__"
"""Under which a graph streams that it waits for a person."""
KEPT = (MessageCompleted, ToolCompleted)
"""Events that are emitted only once a checkpoint contains their messages."""
Part = tuple[tuple[str, ...], str, Any]
"""An item of the stream of a graph and its subgraphs."""
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
class EventEmitter:
    """Emits events to the run's journal."""

    emit: Emit
    run: RunRecord
    translator: Translator
    archive: Archive
    metrics: Metrics

    @property
    def key(self) -> ThreadKey:
        """The thread of the run."""
        return ThreadKey(self.run.key.owner, self.run.key.thread)

    async def publish(self, *events: Event) -> None:
        """Emit events, and the usage after each answer of the agent."""
        for event in events:
            await self.emit(draft(event))
            if isinstance(event, ContextChanged):
                self.metrics.compacted(event.tokens_before - event.tokens_after)
            if isinstance(event, MessageCompleted) and not event.caller:
                await self._publish_usage()

    async def _publish_usage(self) -> None:
        try:
            _, page = await asyncio.to_thread(page_at, self.archive, self.key)
        except ArchiveError:
            return  # nothing was sent yet
        reported = UsageReported(
            total=self.translator.usage, tokens=sum(page.tokens.values()), limit=page.limit
        )
        await self.emit(draft(reported))


def draft(event: Event) -> Draft:
    """Make the line of an event; deltas of one message that wait together become one."""
    joins = event.message if isinstance(event, (MessageDelta, ThinkingDelta)) else ""
    return Draft(event.type, event.model_dump_json(), joins)


async def is_given(
    graph: Agent, config: RunnableConfig, before: StateSnapshot, resume: JsonValue
) -> bool:
    """Return whether the state already has the run's input, which must not be added twice."""
    run = (config.get("metadata") or {}).get(RUN)
    if (before.metadata or {}).get(RUN) == run:
        return True
    if resume is None or not isinstance(graph.checkpointer, BaseCheckpointSaver):
        return False
    found = await graph.checkpointer.aget_tuple(config)
    writes = (found.pending_writes if found else None) or []
    return any(channel == _RESUME and value == resume for _, channel, value in writes)


def rests(state: StateSnapshot) -> bool:
    """Return whether nothing remains to be done: the run ended, or waits for a person.

    `state.next` lacks a completed step whose checkpoint was lost.
    """
    return not state.tasks or bool(state.interrupts)


def questions_of(state: StateSnapshot) -> tuple[Question, ...]:
    """Return the decisions that an agent waits for."""
    return tuple(Question(id=one.id, value=plain(one.value)) for one in state.interrupts)


MOST_STEPS = 10_000
"""The largest `recursion_limit` of a run."""


def graph_config(run: RunRecord, request: GraphRun, recursion_limit: int) -> RunnableConfig:
    """Return the config of a run: the request's, with what only the gateway may set.

    Args:
        run: The run.
        request: Its request.
        recursion_limit: That of a run that names none.
    """
    given = request.config.get("configurable")
    configurable = {
        key: value
        for key, value in (given.items() if isinstance(given, dict) else ())
        if not key.startswith(("__", "checkpoint", "thread_"))
    }
    own = {
        "thread_id": run.key.thread,
        OWNER: run.key.owner,
        AGENT: configurable.get(AGENT) or "",
        PLACE: configurable.get(PLACE) or "",
        "memory": configurable.get("memory") or "on",
        "run_id": run.key.run,
        "graph_id": request.graph,
        "assistant_id": request.assistant,
    }
    limit, tags = request.config.get("recursion_limit"), request.config.get("tags")
    metadata = request.config.get("metadata")
    return {
        "configurable": {**configurable, **own},
        "metadata": {**(metadata if isinstance(metadata, dict) else {}), RUN: run.key.run},
        "tags": [str(tag) for tag in tags] if isinstance(tags, list) else [],
        "recursion_limit": min(limit, MOST_STEPS)
        if isinstance(limit, int) and limit > 0
        else recursion_limit,
    }


def command_of(given: Mapping[str, JsonValue]) -> Command[Any]:
    """Return LangGraph's command for a client's."""
    goto = given.get("goto")
    each = goto if isinstance(goto, list) else [goto] if goto is not None else []
    places = [
        Send(str(one["node"]), one.get("input")) if isinstance(one, dict) else str(one)
        for one in each
    ]
    update: Any = given.get("update")
    if isinstance(update, list):  # pairs of a channel and its value
        update = [tuple(pair) if isinstance(pair, list) else pair for pair in update]
    return Command(resume=given.get("resume"), update=update, goto=cast("Any", places))


def input_of(run: str, request: GraphRun) -> Any:  # noqa: ANN401 (any graph's)
    """Return the input of a graph; its messages have ids, the same at every attempt.

    Raises:
        AnswerError: `messages` holds no messages.
    """
    given = request.input
    if not isinstance(given, dict) or not given.get("messages"):
        return given
    messages: Any = given["messages"]
    try:
        parsed = convert_to_messages(messages if isinstance(messages, list) else [messages])
    except MESSAGE_ERRORS as error:
        fix = 'send {"messages": [{"role": "user", "content": "…"}]}'
        raise AnswerError(f"input.messages: {error!r}"[:500], fix) from None
    for number, message in enumerate(parsed):
        if message.id is None:
            message.id = f"{run}-{number}"
    return {**given, "messages": parsed}


async def perform_graph(
    graph: Agent,
    saver: RunSaver,
    config: RunnableConfig,
    request: GraphRun,
    emitter: EventEmitter,
    *,
    is_again: bool,
    turn: NewRun | None = None,
) -> RunOutcome:
    """Perform a run of a graph to its end, or resume one of another process.

    Args:
        graph: The graph, over the run's checkpoints.
        saver: Its checkpoints.
        config: See `graph_config`.
        request: The run's request.
        emitter: Writes its events.
        is_again: Whether another attempt may have begun.
        turn: The request as `/api` has it, if the run is of `/api`.
    """
    translator, run = emitter.translator, emitter.run
    encoder = PartEncoder(request.modes, subgraphs=request.subgraphs)
    given = input_of(run.key.run, request)
    before = await graph.aget_state(config) if is_again else None
    if before is not None:
        there: Sequence[BaseMessage] = _messages(before.values)
        inputs = [str(message.id) for message in _messages(given)]
        model = str(before.values.get(MODEL_NAME, "")) if isinstance(before.values, dict) else ""
        await emitter.publish(*translator.take_up(there, inputs, model))
    resume = None if request.command is None else request.command.get("resume")
    has_input = before is not None and await is_given(graph, config, before, resume)
    waits = before is not None and bool(before.interrupts)
    if not (has_input and before is not None and rests(before)):
        waits = False
        if not has_input:
            config = await _begins_at(graph, config, request)
            if turn is not None and resume is None:
                await _prepare_turn(graph, config, turn)
            if resume is not None:
                check_answer(questions_of(await graph.aget_state(config)), resume)
            given = given if request.command is None else command_of(request.command)
        parts = _stream(graph, None if has_input else given, config, request)
        async for namespace, mode, payload in parts:
            waits |= not namespace and mode == "updates" and INTERRUPT in payload
            events = translator.translate(namespace, mode, payload) if mode in MODES else []
            # What was emitted and is not durable would be done again, and come out otherwise.
            if any(isinstance(one, KEPT) for one in events):
                await saver.flush()
            await emitter.publish(*events)
            if (row := encoder.encode(namespace, mode, payload)) is not None:
                await emitter.emit(row)
    await saver.flush()
    if waits:
        await emitter.publish(*translator.end(why=WAITS))
        questions = questions_of(await graph.aget_state(_head(config)))
        return RunOutcome("interrupted", RunInterrupted(questions=questions).model_dump_json())
    await emitter.publish(*translator.end())
    done = RunCompleted(text=translator.text, usage=translator.usage)
    return RunOutcome("completed", done.model_dump_json())


async def _prepare_turn(graph: Agent, config: RunnableConfig, turn: NewRun) -> None:
    """Remove what the run replaces: unanswered messages, or an answer that was cut off.

    Raises:
        AnswerError: There is nothing to retry.
    """
    state = await graph.aget_state(config)
    if turn.retry and is_cut_off(state):
        await _remove(graph, config, _messages(state.values)[-1:])
    elif turn.retry and rests(state):
        problem = "a question waits" if state.interrupts else "no failed or cancelled run is left"
        raise AnswerError(problem, "answer it" if state.interrupts else "send a message")
    elif turn.unanswered == "drop":
        await _drop_unanswered(graph, config, state)


async def _drop_unanswered(graph: Agent, config: RunnableConfig, state: StateSnapshot) -> None:
    """Remove the messages of the newest run from the state, if nothing follows them.

    An update by hand, as LangGraph has it: the context then leaves them out of the thread, too.
    The run is not named as its source: it does not have the run's own input.
    """
    messages = _messages(state.values)
    newest = _run_of(messages[-1]) if messages else ""
    last = takewhile(
        lambda message: isinstance(message, HumanMessage) and _run_of(message) == newest,
        reversed(messages),
    )
    await _remove(graph, config, [*last])


async def _remove(graph: Agent, config: RunnableConfig, messages: Sequence[BaseMessage]) -> None:
    if removals := [RemoveMessage(id=str(message.id)) for message in messages]:
        given = config["configurable"]  # its `run_id` would make LangGraph ignore the run's input
        place: RunnableConfig = {"configurable": {key: given[key] for key in ("thread_id", OWNER)}}
        await graph.aupdate_state(place, {"messages": removals}, as_node=START)


def _run_of(message: BaseMessage) -> str:
    """Return the run that brought a message, from the id that `input_of` made."""
    return str(message.id).rpartition("-")[0]


async def _begins_at(graph: Agent, config: RunnableConfig, request: GraphRun) -> RunnableConfig:
    """Return the config for the checkpoint that a run begins at.

    Raises:
        AnswerError: There is no such checkpoint.
    """
    if request.checkpoint is None:
        return config
    place = {**config["configurable"], "checkpoint_id": request.checkpoint}
    found: RunnableConfig = {**config, "configurable": place}
    if (await graph.aget_state(found)).created_at is None:
        problem = f"the thread has no checkpoint {request.checkpoint!r}"
        raise AnswerError(problem, "name one of its history")
    return found


def _head(config: RunnableConfig) -> RunnableConfig:
    place = {key: value for key, value in config["configurable"].items() if key != "checkpoint_id"}
    return {**config, "configurable": place}


async def _stream(
    graph: Agent,
    given: Any,  # noqa: ANN401 (any graph's)
    config: RunnableConfig,
    request: GraphRun,
) -> AsyncIterator[Part]:
    own = {"events", "lifecycle", *MODES}
    extra = [mode for mode in request.modes if mode not in own]
    subgraphs = SubgraphTracker() if "lifecycle" in request.modes else None
    options: dict[str, Any] = {
        "stream_mode": cast("list[StreamMode]", [*MODES, *extra]),
        "subgraphs": True,
        "durability": "sync",
        "context": request.context,
        "interrupt_before": _nodes(request.interrupt_before),
        "interrupt_after": _nodes(request.interrupt_after),
    }
    if "events" not in request.modes:
        async for part in graph.astream(given, config, **options):
            yield cast("Part", part)
            namespace, mode, payload = cast("Part", part)
            if subgraphs is not None and mode == "tasks":
                for one in subgraphs.parts(namespace, payload):
                    yield namespace, "lifecycle", one
        return
    root = None
    async for event in graph.astream_events(given, config, version="v2", **options):
        root = root or event["run_id"]
        if event["event"] == "on_chain_stream" and event["run_id"] == root:
            yield cast("Part", event["data"]["chunk"])
        else:
            yield (), "events", event


def _nodes(given: str | tuple[str, ...]) -> Any:  # noqa: ANN401 (`*` or a list)
    return given if isinstance(given, str) else list(given) or None


def _messages(values: object) -> list[AnyMessage]:
    found = values.get("messages") if isinstance(values, dict) else None
    messages = found if isinstance(found, list) else []
    return [message for message in messages if isinstance(message, BaseMessage)]  # type: ignore[misc]


MARK = "\n\n[The answer was cut off here: the run was cancelled.]"
"""Ends the text of such a message, for people and for the model of the next request."""
_FINISH, _CANCELLED = "finish_reason", "cancelled"
_log = logging.getLogger("thalweg.server.app")


def is_cut_off(state: StateSnapshot) -> bool:
    """Return whether the newest message of a state is an answer that was cut off."""
    messages: Sequence[BaseMessage] = state.values.get("messages", [])
    newest = messages[-1] if messages else None
    return isinstance(newest, AIMessage) and newest.response_metadata.get(_FINISH) == _CANCELLED


async def keep_cut_off(
    graph: Agent, config: RunnableConfig, emitter: EventEmitter, *, is_agent: bool
) -> None:
    """Add the unfinished answer of a cancelled run to the state of its thread, and emit its end.

    Args:
        graph: The graph of the run, with its checkpointer.
        config: The config of the run.
        emitter: Emits the events of the run.
        is_agent: Whether it is the gateway's agent, whose last steps write to the archive.
    """
    unfinished = emitter.translator.unfinished
    adds = not isinstance(graph.channels.get("messages"), NoneType | LastValue)
    if unfinished is None or not unfinished[1].strip() or not adds:
        return
    id_, text, node = unfinished
    message = AIMessage(text + MARK, id=id_, response_metadata={_FINISH: _CANCELLED})
    update: dict[str, object] = {"messages": [message]}
    model = ""
    try:
        call = await asyncio.to_thread(_newest_call, emitter.archive, emitter.key)
        if is_agent and call is not None:
            pointer, page = call
            model = page.model
            message.usage_metadata = _usage(page, await count_tokens(text))
            update |= {"thalweg_turn": pointer, MODEL_NAME: model}
        await graph.aupdate_state(config, update, as_node=node)
        if is_agent:  # the steps after the answer: it is logged, and learned from
            await graph.ainvoke(None, config, durability="sync")
    except Exception as error:  # noqa: BLE001 (steps of any graph follow an update of its state)
        _log.warning("run %s: its cut-off answer is not kept: %s", emitter.run.key.run, error)
        return
    await emitter.publish(*emitter.translator.finish(message, MARK, model))


def _newest_call(archive: Archive, key: ThreadKey) -> tuple[str, TurnRecord] | None:
    """Return the newest request of a thread with the pointer to it; `None` if there is none."""
    try:
        record, page = page_at(archive, key)
        while page.kind != "call" and page.parent is not None:
            record, page = page_at(archive, key, page.parent)
    except ArchiveError:
        return None
    identity, released = archive.identity, page.released
    pointer = write_pointer(key, record, archive=identity, released=released)
    return (pointer, page) if page.kind == "call" else None


def _usage(page: TurnRecord, output: int) -> UsageMetadata:
    """Return the usage of a cut-off call: the request's own count, and that of the text."""
    request = page.usage
    return UsageMetadata(
        input_tokens=request.input,
        output_tokens=output,
        total_tokens=request.input + output,
        input_token_details={"cache_read": request.cached},
    )
