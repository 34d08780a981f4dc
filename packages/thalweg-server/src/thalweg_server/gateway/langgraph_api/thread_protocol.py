"""LangGraph's thread protocol: commands to a thread, and streams of its events.

No route has state: a stream has its filter in its request, and a command is one request.

Source: https://docs.langchain.com/langsmith/agent-server-event-streaming
"""

import asyncio
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field, JsonValue, StrictInt, ValidationError

from thalweg.errors import NoSuchThreadError, ThalwegError
from thalweg_server.api.graph_runs import BUILT_IN, Body, Fields, NewGraphRun, Strategy
from thalweg_server.gateway.access import CurrentCaller, GatewayCaller, ThreadId
from thalweg_server.gateway.bodies import GatewayRoute
from thalweg_server.gateway.langgraph_api.protocol import (
    MODES,
    EventFilter,
    event_frames,
    number_before,
)
from thalweg_server.gateway.langgraph_api.runs import LastEventId, start_run
from thalweg_server.gateway.problems import faults_of, status_of
from thalweg_server.gateway.streams import EventStream
from thalweg_server.runs.base import RunRecord

thread_protocol = APIRouter(
    prefix="/threads/{thread}",
    tags=["langgraph"],
    route_class=GatewayRoute,
    include_in_schema=False,
)
_SETTLED_S = 5.0
"""Seconds that an answer waits for the run with the interrupt to end."""


@thread_protocol.post("/stream/events", response_class=EventStream)
async def langgraph_thread_events(
    caller: CurrentCaller,
    thread: ThreadId,
    wanted: EventFilter,
    last_event_id: LastEventId = None,
) -> EventStream:
    """Stream the events of a thread from its first run on, until the client goes away."""
    caller.open_stream()
    await caller.tenant.graph_threads.get(thread)
    if wanted.since is None and (last_event_id or "").isdecimal():
        with suppress(ValidationError):  # it is out of range
            wanted = EventFilter.model_validate({**wanted.model_dump(), "since": last_event_id})
    return caller.stream(event_frames(caller.tenant.graph_runs, thread, wanted))


class ThreadCommand(Body):
    """A command."""

    id: StrictInt
    method: str
    params: Fields = Field(default_factory=dict)


@thread_protocol.post("/commands")
async def langgraph_thread_command(
    caller: CurrentCaller, thread: ThreadId, command: ThreadCommand
) -> dict[str, JsonValue]:
    """Perform a command; the answer holds its result, or an error."""
    try:
        match command.method:
            case "run.start":
                run = await _start(caller, thread, RunStart.model_validate(command.params))
                result: dict[str, JsonValue] = {"run_id": run.key.run}
            case "input.respond":
                many = {"responses": [command.params], **command.params}
                run = await _respond(caller, thread, InputRespond.model_validate(many))
                result = {}
            case _:
                return _error(
                    command,
                    "unknown_command",
                    f"there is no command {command.method!r} over HTTP; there are run.start and"
                    " input.respond, and a stream of POST stream/events is a subscription",
                )
    except ValidationError as error:
        words = (f"{fault.where}: {fault.problem}" for fault in faults_of(error.errors()))
        return _error(command, "invalid_argument", f"{command.method}: {'; '.join(words)}")
    except CommandError as error:
        return _error(command, error.code, str(error))
    except ThalwegError as error:
        if status_of(error) >= 500:  # noqa: PLR2004 (the gateway's own)
            raise
        return _error(command, "unknown_error", str(error))
    # The Python client then streams what follows it: the run, and not those before it.
    meta: dict[str, JsonValue] = {"applied_through_seq": number_before(run)}
    return {"type": "success", "id": command.id, "result": result, "meta": meta}


class RunStart(Body):
    """A run of an assistant, or the answer to an interrupt."""

    assistant_id: Annotated[str, Field(min_length=1)]
    input: JsonValue = None
    config: Fields = Field(default_factory=dict)
    metadata: Fields | None = None
    multitask_strategy: Strategy | None = Field(default=None, alias="multitaskStrategy")


class InterruptResponse(Body):
    """An answer to an interrupt."""

    interrupt_id: str
    response: JsonValue = None


class InputRespond(Body):
    """Answers to interrupts of one state, with changes of it."""

    responses: Annotated[tuple[InterruptResponse, ...], Field(min_length=1)]
    update: JsonValue = None
    goto: JsonValue = None
    config: Fields = Field(default_factory=dict)
    metadata: Fields | None = None


class CommandError(Exception):
    """A command that cannot be performed, with the protocol's code."""

    def __init__(self, code: str, problem: str) -> None:
        super().__init__(problem)
        self.code = code


async def _start(caller: GatewayCaller, thread: str, given: RunStart) -> RunRecord:
    """Start a run; the input of a thread that waits for an answer is the answer."""
    configurable = given.config.get("configurable")
    place = configurable if isinstance(configurable, dict) else {}
    is_answer = False
    if given.input is not None and place.get("checkpoint_id") is None:
        with suppress(NoSuchThreadError):
            if (await caller.tenant.graph_threads.get(thread)).status == "interrupted":
                is_answer = bool((await caller.tenant.graph_threads.snapshot(thread)).interrupts)
    new = NewGraphRun.model_validate(
        {
            "input": None if is_answer else given.input,
            "command": {"resume": given.input} if is_answer else None,
            "checkpoint_id": place.get("checkpoint_id"),
            "multitask_strategy": given.multitask_strategy,
            **_fields(given.assistant_id, given.config, given.metadata),
        }
    )
    return await start_run(caller, thread, new)


async def _respond(caller: GatewayCaller, thread: str, given: InputRespond) -> RunRecord:
    """Start a run that answers interrupts of a thread."""
    try:
        found = await caller.tenant.graph_threads.get(thread)
    except NoSuchThreadError as error:
        raise CommandError("no_such_run", str(error)) from None
    try:
        async with asyncio.timeout(_SETTLED_S):
            for run in await caller.tenant.graph_runs.under_way(thread):
                await caller.tenant.graph_runs.wait(run)
    except TimeoutError:
        problem = "a run is under way on the thread; answer when it has ended, or cancel it"
        raise CommandError("no_such_interrupt", problem) from None
    state = await caller.tenant.graph_threads.snapshot(thread)
    pending = {one.id for one in state.interrupts}
    for one in given.responses:
        if one.interrupt_id not in pending:
            waits = f"it waits for {', '.join(pending)}" if pending else "it waits for nothing"
            problem = f"the thread does not wait for an answer to {one.interrupt_id!r}; {waits}"
            raise CommandError("no_such_interrupt", problem)
    resume = {one.interrupt_id: one.response for one in given.responses}
    more = {"update": given.update, "goto": given.goto}
    changes = {name: value for name, value in more.items() if value is not None}
    assistant = str(found.metadata.get("assistant_id") or BUILT_IN)
    fields = _fields(assistant, given.config, given.metadata)
    new = NewGraphRun.model_validate({"command": {"resume": resume, **changes}, **fields})
    return await start_run(caller, thread, new)


def _fields(assistant: str, config: Fields, metadata: Fields | None) -> dict[str, object]:
    return {
        "assistant_id": assistant,
        "config": config,
        "metadata": metadata,
        "stream_mode": MODES,
        "stream_subgraphs": True,
        "if_not_exists": "create",
    }


def _error(command: ThreadCommand, code: str, message: str) -> dict[str, JsonValue]:
    return {"type": "error", "id": command.id, "error": code, "message": message}
