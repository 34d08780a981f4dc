"""What all runs share: events on their way to the journal, answers to questions, resumption."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from langchain.agents.middleware.human_in_the_loop import Decision
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import StateSnapshot
from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.threads.journal import page_at
from thalweg.errors import AnswerError, ArchiveError
from thalweg_server.api.events import (
    ContextChanged,
    Event,
    MessageCompleted,
    MessageDelta,
    ThinkingDelta,
    ToolCompleted,
    UsageReported,
)
from thalweg_server.api.threads import Question
from thalweg_server.app.agents.agents import Agent
from thalweg_server.app.performing.streaming import (
    Translator,
    plain,
)
from thalweg_server.app.performing.watching import Compacted, Publish
from thalweg_server.runs.base import Draft, RunRecord
from thalweg_server.runs.emitting import Emit

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


class EventEmitter:
    """Emits events to the run's journal."""

    def __init__(
        self,
        emit: Emit,
        run: RunRecord,
        translator: Translator,
        archive: Archive,
        report: Publish,
    ) -> None:
        self._report = report
        self.emit = emit
        self.archive = archive
        self.key = ThreadKey(run.key.owner, run.key.thread)
        self.run = run
        self.translator = translator

    async def publish(self, *events: Event) -> None:
        """Emit events, and the usage after each answer of the agent."""
        for event in events:
            await self.emit(draft(event))
            if isinstance(event, ContextChanged):
                self._report(Compacted(event.tokens_before - event.tokens_after))
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
