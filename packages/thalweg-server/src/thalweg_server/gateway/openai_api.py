"""OpenAI's chat completions over the same runs: a stream is a view of a run's events.

`model` is an assistant or a model of the settings, for the gateway's agent. Without a thread the
request holds the whole conversation, and its thread is deleted after the answer. With a thread
(`metadata.thread_id` or the header `X-Thread-Id`) only the newest user messages are sent to it.
"""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from functools import partial
from itertools import takewhile
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Header
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from starlette.responses import JSONResponse, Response

from thalweg.errors import NoSuchAssistantError
from thalweg_server.api.graph_runs import GraphRun
from thalweg_server.api.problems import Problem
from thalweg_server.api.shape import ThreadId
from thalweg_server.app import Tenant
from thalweg_server.app.configured import Assistant
from thalweg_server.gateway.access import CurrentCaller, CurrentTenant
from thalweg_server.gateway.bodies import GatewayRoute
from thalweg_server.gateway.problems import GatewayRefusal, openai_error
from thalweg_server.gateway.streams import Frame
from thalweg_server.runs.base import Event, RunRecord

openai = APIRouter(prefix="/v1", tags=["openai"], route_class=GatewayRoute, include_in_schema=False)
Chunk = dict[str, Any]
_CONFLICT = 409


class ChatMessage(BaseModel):
    """A message as OpenAI has it."""

    model_config = ConfigDict(extra="allow", frozen=True)

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[dict[str, JsonValue]] | None = None


class ChatRequest(BaseModel):
    """A request for a completion; sampling parameters are the settings' and ignored here."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    model: str
    messages: tuple[ChatMessage, ...] = Field(min_length=1)
    stream: bool = False
    stream_options: dict[str, JsonValue] | None = None
    metadata: dict[str, JsonValue] | None = None
    tools: tuple[JsonValue, ...] = ()
    n: int = 1


@openai.get("/models")
async def openai_models(tenant: CurrentTenant) -> Chunk:
    """List assistants and models that a request may name."""
    names = [one.graph for one in await tenant.assistants.list() if one.id]
    names += [one.name for one in (await tenant.models.list()).items]
    rows = [_model(name) for name in dict.fromkeys(names)]
    return {"object": "list", "data": rows}


@openai.get("/models/{model:path}")
async def openai_model(tenant: CurrentTenant, model: str) -> Chunk:
    """Return one of them."""
    await _assistant(tenant, model)
    return _model(model)


@openai.post("/chat/completions")
async def openai_chat_completion(
    caller: CurrentCaller,
    chat: ChatRequest,
    x_thread_id: Annotated[ThreadId | None, Header()] = None,
) -> Response:
    """Answer with the text of a run, whole or as it is written."""
    _check(chat)
    tenant = caller.tenant
    thread = x_thread_id or (chat.metadata or {}).get("thread_id")
    caller.open_stream()
    assistant, model = await _assistant(tenant, chat.model)
    await tenant.graph_runs.delete_temporary()
    new = _graph_run(assistant, model, chat, has_thread=thread is not None)
    async with caller.starting():
        run = await tenant.graph_runs.start(
            str(thread) if thread is not None else None, new, is_temporary=thread is None
        )
    view = CompletionView(run, chat)
    lines = tenant.runs.lines(run.key.thread, run.key.run)
    if chat.stream:
        cancel = partial(tenant.runs.cancel, run.key.thread, run.key.run)
        return caller.stream(view.frames(lines), on_disconnect=cancel)
    async with aclosing(lines) as events:  # type: ignore[type-var]
        async for event in events:
            view.take(event)
    if view.problem is not None:
        # A client sends a request with 409 again, which would start another run.
        headers = {"x-should-retry": "false"} if view.problem.status == _CONFLICT else None
        return JSONResponse({"error": openai_error(view.problem)}, view.problem.status, headers)
    return JSONResponse(view.whole())


class CompletionView:
    """What the events of a run make of a completion.

    Args:
        run: The run.
        chat: The request.
    """

    def __init__(self, run: RunRecord, chat: ChatRequest) -> None:
        self._run = run
        self._model = chat.model
        self._wants_usage = bool((chat.stream_options or {}).get("include_usage"))
        self._messages: dict[str, str] = {}
        self._usage: Mapping[str, Any] = {}
        self._text = ""
        self._answer = ""
        self.problem: Problem | None = None
        """Why the run has no answer."""

    def take(self, event: Event) -> str:
        """Take note of an event; return the text that it adds to the answer."""
        if not event.type.startswith(("message.", "run.")):
            return ""
        data = json.loads(event.data)
        match event.type:
            case "message.started" if not data["caller"]:
                self._messages[data["message"]] = ""
            case "message.delta" if data["message"] in self._messages:
                separator = "\n\n" if self._text and not self._messages[data["message"]] else ""
                self._messages[data["message"]] += data["text"]
                added: str = separator + data["text"]
                self._text += added
                return added
            case "run.completed":
                self._usage = data["usage"]
                if data["text"]:
                    self._answer = data["text"]
            case "run.failed":
                self.problem = Problem.model_validate(data["problem"])
            case "run.interrupted" | "run.cancelled":
                detail = "it was cancelled, or waits for a decision: /api takes one"
                self.problem = Problem(
                    title="the run has no answer", status=_CONFLICT, detail=detail, code=event.type
                )
            case _:
                pass
        return ""

    def whole(self) -> Chunk:
        """Return the completion: the run's final answer."""
        message = {"role": "assistant", "content": self._answer or self._text, "refusal": None}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return self._object("chat.completion") | {"choices": [choice], "usage": self._counts()}

    async def frames(self, events: AsyncIterator[Event]) -> AsyncIterator[Frame]:
        """Yield the pieces of the completion as the run writes them."""
        yield self._piece({"role": "assistant", "content": ""})
        async with aclosing(events):  # type: ignore[type-var]  # a generator
            async for event in events:
                if text := self.take(event):
                    yield self._piece({"content": text})
        if self.problem is not None:
            yield Frame("", "", json.dumps({"error": openai_error(self.problem)}))
            return
        yield self._piece({}, "stop")
        if self._wants_usage:
            usage = self._object("chat.completion.chunk") | {"choices": []}
            yield Frame("", "", json.dumps(usage | {"usage": self._counts()}))
        yield Frame("", "", "[DONE]")

    def _piece(self, delta: Chunk, finish: str | None = None) -> Frame:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        piece = self._object("chat.completion.chunk") | {"choices": [choice]}
        return Frame("", "", json.dumps(piece, ensure_ascii=False))

    def _object(self, kind: str) -> Chunk:
        return {
            "id": f"chatcmpl-{self._run.key.run}",
            "object": kind,
            "created": int(self._run.created.timestamp()),
            "model": self._model,
        }

    def _counts(self) -> Chunk:
        counts = [int(self._usage.get(f"{name}_tokens") or 0) for name in ("input", "output")]
        names = ("prompt_tokens", "completion_tokens", "total_tokens")
        return dict(zip(names, [*counts, sum(counts)], strict=True))


def _check(chat: ChatRequest) -> None:
    """Refuse what the gateway's agents cannot do.

    Raises:
        GatewayRefusal: The client brings tools, or wants several answers.
    """
    if chat.tools:
        detail = "tools: an agent has its own; configure them in tools: or mcp_servers:"
        raise GatewayRefusal(422, "request.tools", detail)
    if chat.n != 1:
        raise GatewayRefusal(422, "request.n", "n: an agent answers once; send n: 1")


async def _assistant(tenant: Tenant, name: str) -> tuple[Assistant, str | None]:
    """Return the assistant that a model's name means, and the model if it names one."""
    try:
        return await tenant.assistants.get(name), None
    except NoSuchAssistantError:
        await tenant.models.get(name)
        return await tenant.assistants.get("agent"), name


def _graph_run(
    assistant: Assistant, model: str | None, chat: ChatRequest, *, has_thread: bool
) -> GraphRun:
    messages = [{"content": "", **one.model_dump(exclude_none=True)} for one in chat.messages]
    if has_thread:
        messages = _newest(messages)
    config = dict(assistant.config)
    if model is not None:
        config["configurable"] = {**config.get("configurable", {}), "model": model}
    return GraphRun(
        graph=assistant.graph,
        assistant=assistant.id,
        input=cast("JsonValue", {"messages": messages}),
        config=config,
        context=assistant.context or None,
        metadata={"client": "openai"},
        modes=(),
    )


def _newest(messages: list[Chunk]) -> list[Chunk]:
    """Return the user's messages after the last answer: the thread has the others."""
    newest = [*takewhile(lambda one: one["role"] == "user", reversed(messages))][::-1]
    if not newest:
        detail = "messages: the last one is not the user's; send what the user wrote"
        raise GatewayRefusal(422, "request.messages", detail)
    return newest


def _model(name: str) -> Chunk:
    return {"id": name, "object": "model", "created": 0, "owned_by": "thalweg"}
