"""Translation of a LangGraph stream to the events of a run.

The module does no I/O: parts of the stream in, events out. Guarantees for any graph:

- a message that was started is completed or withdrawn, and the joined texts of its deltas are the
  text of its completion;
- a tool that was started has a result when the run ends, its own or one of ours;
- a call that the harness makes for itself (a summary, fact extraction, a model called by a tool)
  emits no message.
"""

import dataclasses
import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langgraph.types import Interrupt, StreamMode
from pydantic import BaseModel

from thalweg.engine.entries import stored_text
from thalweg.engine.pricing.usage import Usage as AnswerUsage
from thalweg_server.api.catalogue import Usage
from thalweg_server.api.events import (
    EVENT,
    ContextChanged,
    Event,
    MessageCompleted,
    MessageDelta,
    MessageStarted,
    MessageWithdrawn,
    Notice,
    SubagentEvent,
    ThinkingDelta,
    ToolCompleted,
    ToolStarted,
)
from thalweg_server.api.threads import ToolCall
from thalweg_server.app.spending import added, spent_in
from thalweg_server.runs.base import Draft
from thalweg_server.runs.base import Event as Line

MODES: list[StreamMode] = ["messages", "updates", "custom", "tasks"]
"""Stream modes that the events need, subgraphs too."""
SHOWN_CHARS = 4_000
"""Of a tool's answer that its event has; the whole is in the history."""
CONTEXT = "thalweg.context"
_MODEL, _TOOLS = "model", "tools"
"""Nodes of an agent."""
MODEL_NAME = "thalweg_model"
"""Key of the state in which the context engine notes who answered."""
_CUT_OFF = "The run ended before the tool answered."
CANCELLED = "The run was cancelled before the tool answered; it may still be working."
"""Python cannot end a thread: a synchronous tool continues after its run."""
WAITS = "It waits for a person's decision."

Namespace = tuple[str, ...]
Price = Callable[[AnswerUsage], Usage]


@dataclass(slots=True)
class _Open:
    """A message that is being written."""

    id: str
    ids: set[str]
    """Ids that its pieces came with."""
    caller: str
    node: str
    """The node of the graph itself that it comes from."""
    text: str = ""


@dataclass(slots=True)
class EmittedEvents:
    """State of the events emitted for a run, so that none is emitted twice."""

    open: dict[str, str] = field(default_factory=dict)
    """Messages that were started and not ended, with their callers."""
    completed: dict[str, str] = field(default_factory=dict)
    """Messages that are whole, with their callers."""
    calls: dict[str, ToolCall] = field(default_factory=dict)
    """Calls of tools, by id."""
    call_messages: dict[str, str] = field(default_factory=dict)
    """The message that each was asked in."""
    started: dict[str, ToolStarted] = field(default_factory=dict)
    """Tools that were started and have not answered, by the call's id."""
    answered: set[str] = field(default_factory=set)
    """Calls that have their answers."""
    usages: list[Usage] = field(default_factory=list)
    text: str = ""
    """The newest answer of the agent itself."""

    @classmethod
    def of(cls, lines: Iterable[Line], price: Price) -> "EmittedEvents":
        """Restore the state from a journal."""
        emitted = cls()
        for line in lines:
            emitted.take(EVENT.validate_json(line.data), price)
        return emitted

    def take(self, event: Event, price: Price) -> None:
        """Take note of one event."""
        match event:
            case MessageStarted():
                self.open[event.message] = event.caller
            case MessageWithdrawn():
                self.open.pop(event.message, None)
                self.completed.pop(event.message, None)
            case MessageCompleted():
                self._complete(event)
            case ToolStarted():
                self.started[event.call] = event
            case ToolCompleted():
                self.started.pop(event.call, None)
                self.answered.add(event.call)
            case ContextChanged():
                self._spend(event, price)
            case _:
                pass

    def _complete(self, event: MessageCompleted) -> None:
        self.open.pop(event.message, None)
        self.completed[event.message] = event.caller
        self.calls |= {call.id: call for call in event.tool_calls}
        self.call_messages |= {call.id: event.message for call in event.tool_calls}
        if event.usage is not None:
            self.usages.append(event.usage)
        if not event.caller:
            self.text = event.text

    def _spend(self, event: ContextChanged, price: Price) -> None:
        spent = event.detail.get("spent")
        if isinstance(spent, dict):
            self.usages.append(price(AnswerUsage(**spent)))


class Translator:
    """Computes the events of one run.

    Args:
        price: Returns the cost of a call's usage.
        emitted: Events already emitted, if another process began the run.
        any_node: Whether every node of the graph may answer, not only one named `model`.
    """

    def __init__(
        self, price: Price, emitted: EmittedEvents | None = None, *, any_node: bool = False
    ) -> None:
        self._price = price
        self._any_node = any_node
        self._emitted = emitted or EmittedEvents()
        self._open: dict[Namespace, _Open] = {}
        self._doubted: set[str] = set()
        self._tasks: dict[str, str] = {}
        """The tool calls that steps of the graph run, by the step's id."""

    @property
    def text(self) -> str:
        """The newest answer of the agent itself."""
        return self._emitted.text

    @property
    def usage(self) -> Usage:
        """The usage of the run so far."""
        return added(self._emitted.usages)

    @property
    def unfinished(self) -> tuple[str, str, str] | None:
        """Id, text and node of the answer that the agent itself is writing; `None` without text."""
        return next(
            ((one.id, one.text, one.node) for one in self._open.values() if not one.caller), None
        )

    def finish(self, message: AIMessage, more: str, model: str) -> list[Event]:
        """Complete the unfinished answer as a message, whose text ends with `more`."""
        namespace = next(place for place, one in self._open.items() if one.id == message.id)
        self._open[namespace].text += more
        delta = [MessageDelta(message=self._open[namespace].id, text=more)]
        return [*delta, *self._noted(self._completed(namespace, message, model))]

    # -- what a graph streams --------------------------------------------------------------

    def translate(self, namespace: Namespace, mode: str, payload: Any) -> list[Event]:  # noqa: ANN401 (LangGraph's)
        """Return the events for a part of the stream."""
        if mode == "messages":
            return self._noted(self._piece(namespace, *payload))
        read = {"updates": self._updated, "tasks": self._started, "custom": self._custom}[mode]
        return self._noted(read(namespace, payload))

    def _noted(self, events: Iterable[Event]) -> list[Event]:
        noted: list[Event] = []
        for event in events:  # each is noted before the next is made of what is known
            self._emitted.take(event, self._price)
            noted.append(event)
        return noted

    def _caller(self, namespace: Namespace) -> str:
        """Return the author of a part: the innermost task that runs there."""
        for step in reversed(namespace):
            node, _, task = step.partition(":")
            if node == _TOOLS:
                return self._tasks.get(task, task)
        return ""

    def _piece(
        self, namespace: Namespace, message: BaseMessage, about: Mapping[str, Any]
    ) -> Iterator[Event]:
        if not isinstance(message, AIMessageChunk):
            return
        if not self._any_node and about.get("langgraph_node") != _MODEL:
            return
        text, thinking, id_ = str(message.text), thinking_of(message), message.id or ""
        writing = self._open.get(namespace)
        if writing is not None and not _goes_on(writing, id_):
            yield from self._withdraw(namespace)
            writing = None
        if writing is None:
            if not (text or thinking) or id_ in self._emitted.completed:
                return
            yield from self._withdraw_doubted(self._caller(namespace))
            node = namespace[0].partition(":")[0] if namespace else about.get("langgraph_node", "")
            writing = _Open(id_, {id_}, self._caller(namespace), node)
            self._open[namespace] = writing
            yield MessageStarted(message=id_, caller=writing.caller)
        writing.ids.add(id_)
        if thinking:
            yield ThinkingDelta(message=writing.id, text=thinking)
        if text:
            writing.text += text
            yield MessageDelta(message=writing.id, text=text)

    def _updated(self, namespace: Namespace, payload: Any) -> Iterator[Event]:  # noqa: ANN401
        for node, update in payload.items() if isinstance(payload, Mapping) else ():
            for message in _messages_in(update):
                if isinstance(message, ToolMessage):
                    yield from self._answered(message, self._caller(namespace))
                elif isinstance(message, AIMessage) and (self._any_node or node == _MODEL):
                    yield from self._completed(namespace, message, _model_in(update))

    def _completed(self, namespace: Namespace, message: AIMessage, model: str) -> Iterator[Event]:
        id_, text, caller = message.id or "", str(message.text), self._caller(namespace)
        if id_ in self._emitted.completed:
            self._doubted.discard(id_)
            return
        writing = self._open.get(namespace)
        if writing is not None and (writing.id != id_ or writing.text != text):
            yield from self._withdraw(namespace)
            writing = None
        if writing is None:
            yield from self._withdraw_doubted(caller)
            yield MessageStarted(message=id_, caller=caller)
            if thinking := thinking_of(message):
                yield ThinkingDelta(message=id_, text=thinking)
            if text:
                yield MessageDelta(message=id_, text=text)
        self._open.pop(namespace, None)
        spent = spent_in(message.usage_metadata, model)
        yield MessageCompleted(
            message=id_,
            text=text,
            tool_calls=calls_of(message),
            caller=caller,
            usage=None if spent is None else self._price(spent),
        )

    def _answered(self, message: ToolMessage, caller: str) -> Iterator[Event]:
        call = message.tool_call_id
        known = self._emitted.calls.get(call)
        if call in self._emitted.answered or (known is None and call not in self._emitted.started):
            return
        yield from self._closed(call)
        name = message.name or (known.name if known else "")
        if call not in self._emitted.started:
            arguments = known.arguments if known else ""
            yield ToolStarted(call=call, name=name, arguments=arguments, caller=caller)
        text = str(message.text)[:SHOWN_CHARS]
        is_error = message.status == "error"
        yield ToolCompleted(call=call, name=name, text=text, is_error=is_error, caller=caller)

    def _started(self, namespace: Namespace, payload: Any) -> Iterator[Event]:  # noqa: ANN401
        if payload.get("name") != _TOOLS or "input" not in payload:
            return
        for call in calls_in(payload["input"]):
            id_ = str(call.get("id") or "")
            self._tasks[str(payload["id"])] = id_
            if id_ not in self._emitted.started and id_ not in self._emitted.answered:
                yield ToolStarted(
                    call=id_,
                    name=str(call.get("name")),
                    arguments=_as_json(call.get("args")),
                    caller=self._caller(namespace),
                )

    def _custom(self, namespace: Namespace, payload: Any) -> Iterator[Event]:  # noqa: ANN401
        fields = plain(payload) if isinstance(payload, Mapping) else {"value": plain(payload)}
        kind = str(fields.pop("type", "custom"))
        if kind == CONTEXT:
            caller = self._caller(namespace)
            yield ContextChanged(
                turn=fields["turn"],
                tokens_before=fields["tokens_before"],
                tokens_after=fields["tokens_after"],
                limit=fields["limit"],
                reasons=tuple(fields["trigger"]),
                detail={**fields, "caller": caller} if caller else fields,
            )
        elif kind.startswith("task_") and "task_id" in fields:
            task, subagent = str(fields.pop("task_id")), str(fields.pop("subagent", ""))
            yield SubagentEvent(kind=kind, task=task, subagent=subagent, detail=fields)
        else:
            yield Notice(kind=kind, detail=fields)

    # -- going on, and the end -------------------------------------------------------------

    def take_up(
        self, messages: Sequence[BaseMessage], input_ids: Iterable[str], model: str = ""
    ) -> list[Event]:
        """Resume after a crash: return the missing events, and withdrawals of lost messages.

        Args:
            messages: Those of the agent's state.
            input_ids: Ids of the messages of the run's input.
            model: The model that was asked last.
        """
        events = [MessageWithdrawn(message=id_) for id_ in list(self._emitted.open)]
        noted = self._noted(events)
        own = {*input_ids, *self._emitted.completed}
        calls = {*self._emitted.started, *self._emitted.answered}
        at = next((k for k, m in enumerate(messages) if _is_of(m, own, calls)), len(messages))
        for message in messages[at:]:
            if isinstance(message, ToolMessage):
                noted += self._noted(self._answered(message, ""))
            elif isinstance(message, AIMessage):
                noted += self._noted(self._completed((), message, model))
        kept = {message.id for message in messages}
        newest = [id_ for id_, caller in self._emitted.completed.items() if not caller][-1:]
        self._doubted = {id_ for id_ in newest if id_ not in kept}
        return noted

    def end(self, *, why: str = _CUT_OFF) -> list[Event]:
        """Withdraw unfinished messages and end unanswered tools.

        Args:
            why: Why the tools did not answer.
        """
        noted: list[Event] = []
        for namespace in list(self._open):
            noted += self._noted(self._withdraw(namespace))
        noted += self._noted(self._withdraw_doubted(""))
        started = list(self._emitted.started.values())
        return noted + self._noted(_unanswered(tool, why) for tool in started)

    def _withdraw(self, namespace: Namespace) -> Iterator[Event]:
        writing = self._open.pop(namespace, None)
        if writing is not None:
            yield MessageWithdrawn(message=writing.id)

    def _withdraw_doubted(self, caller: str) -> Iterator[Event]:
        """Withdraw an answer that was emitted and is not in the thread: another one will follow."""
        if caller or not self._doubted:
            return
        for id_ in list(self._doubted):
            self._doubted.discard(id_)
            lost = [call for call, message in self._emitted.call_messages.items() if message == id_]
            for call in lost:
                yield from self._cut_off(call)
            yield MessageWithdrawn(message=id_)

    def _closed(self, call: str) -> Iterator[Event]:
        """Complete the open messages and tools of a task."""
        for namespace, writing in list(self._open.items()):
            if writing.caller == call:
                yield from self._withdraw(namespace)
        for inner, tool in list(self._emitted.started.items()):
            if tool.caller == call and inner != call:
                yield from self._cut_off(inner)

    def _cut_off(self, call: str) -> Iterator[Event]:
        yield from self._closed(call)
        tool = self._emitted.started.get(call)
        if tool is not None:
            yield _unanswered(tool)


def _unanswered(tool: ToolStarted, why: str = _CUT_OFF) -> ToolCompleted:
    is_error = why != WAITS
    return ToolCompleted(
        call=tool.call, name=tool.name, text=why, is_error=is_error, caller=tool.caller
    )


def _goes_on(writing: _Open, id_: str) -> bool:
    """Return whether a piece belongs to a message.

    A provider's first piece may have an id of its own, and the others the id of the call: a
    different id of the same kind begins another message.
    """
    is_run = id_.startswith("lc_run-")
    same_kind = [known for known in writing.ids if known.startswith("lc_run-") == is_run]
    return not same_kind or id_ in same_kind


def _is_of(message: BaseMessage, own: set[str], calls: set[str]) -> bool:
    answers = isinstance(message, ToolMessage) and message.tool_call_id in calls
    return answers or message.id in own


def _model_in(update: Any) -> str:  # noqa: ANN401 (LangGraph's)
    """Return the model of the answer that a node adds; empty if it is unknown."""
    every = update if isinstance(update, list) else [update]
    named = (one.get(MODEL_NAME) for one in every if isinstance(one, Mapping))
    return next((name for name in named if isinstance(name, str)), "")


def _messages_in(update: Any) -> Iterator[BaseMessage]:  # noqa: ANN401 (LangGraph's)
    """Find the messages that a node adds; one that replaces all of them adds none."""
    for one in update if isinstance(update, list) else [update]:
        added_ = one.get("messages") if isinstance(one, Mapping) else None
        if isinstance(added_, BaseMessage):
            yield added_
        elif isinstance(added_, list):
            yield from (message for message in added_ if isinstance(message, BaseMessage))


def calls_in(given: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 (LangGraph's)
    """Yield the calls that a step of the tools is to run."""
    for one in given if isinstance(given, list) else [given]:
        if isinstance(one, Mapping):
            call = one.get("tool_call", one)
            if isinstance(call, Mapping) and "args" in call:
                yield call


def calls_of(message: AIMessage) -> tuple[ToolCall, ...]:
    """Return the tool calls of a message, including those that could not be parsed."""
    read = [
        ToolCall(id=str(call["id"] or ""), name=call["name"], arguments=_as_json(call["args"]))
        for call in message.tool_calls
    ]
    unread = [
        ToolCall(
            id=str(call["id"] or ""), name=call["name"] or "", arguments=str(call["args"] or "")
        )
        for call in message.invalid_tool_calls
    ]
    return (*read, *unread)


def thinking_of(message: BaseMessage) -> str:
    """Return the reasoning of a model in any provider's format."""
    reasoning = message.additional_kwargs.get("reasoning_content")
    texts = [reasoning] if isinstance(reasoning, str) else []
    for block in message.content if isinstance(message.content, list) else ():
        if isinstance(block, dict) and block.get("type") in {"thinking", "reasoning"}:
            texts += [str(block.get("thinking") or block.get("reasoning") or "")]
    return "".join(texts)


def _as_json(given: Any) -> str:  # noqa: ANN401 (what a model wrote)
    return json.dumps(given, ensure_ascii=False, default=str)


def plain(given: Any) -> Any:  # noqa: ANN401 (any tool's)
    """Return plain values that JSON can represent; others as text."""
    return json.loads(json.dumps(given, ensure_ascii=False, default=str))


TYPE = "graph"
"""The type of the rows; `GraphStreamed` is their shape."""
_MESSAGES = "messages"
_DEPTH = 64


def jsonable(value: Any, depth: int = 0) -> Any:  # noqa: ANN401, C901, PLR0911 (any state)
    """Return a value of a graph's state as JSON can represent it, in the shapes of LangGraph's API.

    Example:
        >>> jsonable({"n": float("nan"), "t": (1, 2)})
        {'n': None, 't': [1, 2]}
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return stored_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth > _DEPTH:
        return repr(value)[:200]
    inner = depth + 1
    if isinstance(value, BaseMessage):
        return jsonable(value.model_dump(), inner)
    if isinstance(value, Interrupt):
        return {"value": jsonable(value.value, inner), "id": value.id}
    if isinstance(value, Mapping):
        return {stored_text(str(key)): jsonable(one, inner) for key, one in value.items()}
    if isinstance(value, BaseModel):
        return jsonable(value.model_dump(), inner)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: jsonable(getattr(value, field.name), inner) for field in fields}
    if hasattr(value, "_asdict"):
        return jsonable(value._asdict(), inner)
    if isinstance(value, Iterable) and not isinstance(value, bytes | Iterator):
        return [jsonable(one, inner) for one in value]
    return stored_text(str(value))


class PartEncoder:
    """Makes the rows of one attempt at a run.

    Args:
        modes: The modes that are kept.
        subgraphs: Whether those of subgraphs are kept, too.
    """

    def __init__(self, modes: Collection[str], *, subgraphs: bool) -> None:
        self._modes = frozenset(modes)
        self._subgraphs = subgraphs
        self._states: dict[tuple[str, ...], dict[str, Any]] = {}
        self._messages: dict[str, BaseMessage] = {}
        self._pieces: set[str] = set()

    def encode(self, namespace: tuple[str, ...], mode: str, payload: Any) -> Draft | None:  # noqa: ANN401 (LangGraph's)
        """Return the row of a part; `None` if it is not kept."""
        if mode not in self._modes or (namespace and not self._subgraphs):
            return None
        if mode == "messages":
            return self._message(namespace, *payload)
        if mode == "values" and isinstance(payload, Mapping):
            return _draft(namespace, mode, self._values(namespace, payload))
        return _draft(namespace, mode, jsonable(payload))

    def _message(
        self, namespace: tuple[str, ...], message: BaseMessage, metadata: Mapping[str, Any]
    ) -> Draft:
        id_ = message.id or ""
        is_first = id_ not in self._pieces
        self._pieces.add(id_)
        if not is_first and _is_text(message):
            row = {
                "type": TYPE,
                "mode": "messages",
                "namespace": namespace,
                "text": message.content,
                "data": {"id": id_},
            }
            return Draft(TYPE, json.dumps(row, ensure_ascii=False), f"{'|'.join(namespace)} {id_}")
        data = {"message": jsonable(message)}
        if is_first:
            data["metadata"] = jsonable(metadata)
        return _draft(namespace, "messages", data)

    def _values(self, namespace: tuple[str, ...], state: Mapping[str, Any]) -> dict[str, Any]:
        """Return the difference from the state before; see the module."""
        before = self._states.get(namespace)
        now = {str(key): value for key, value in state.items() if not _is_messages(key, value)}
        row: dict[str, Any] = {"keys": [str(key) for key in state]}
        if before is None:
            row["is_whole"] = True
            before = {}
        encoded = {key: jsonable(value) for key, value in now.items()}
        row["set"] = {
            key: value
            for key, value in encoded.items()
            if key not in before or before[key] != value
        }
        self._states[namespace] = encoded
        if _MESSAGES in state and _MESSAGES not in now:
            messages: list[BaseMessage] = state[_MESSAGES]
            row["ids"] = [message.id or "" for message in messages]
            row["messages"] = [
                jsonable(message) for message in messages if self._is_changed(namespace, message)
            ]
        return row

    def _is_changed(self, namespace: tuple[str, ...], message: BaseMessage) -> bool:
        key = "|".join((*namespace, message.id or ""))
        before = self._messages.get(key)
        self._messages[key] = message
        return before is None or (before is not message and before != message)


def _is_messages(key: object, value: object) -> bool:
    """Return whether a channel holds messages that their ids tell apart."""
    if key != _MESSAGES or not isinstance(value, list):
        return False
    ids = {one.id for one in value if isinstance(one, BaseMessage) and one.id}
    return len(ids) == len(value)


def _is_text(message: BaseMessage) -> bool:
    """Return whether a piece is nothing but text."""
    return (
        isinstance(message, AIMessageChunk)
        and isinstance(message.content, str)
        and bool(message.content)
        and not message.tool_call_chunks
        and not message.additional_kwargs
        and not message.usage_metadata
        and not message.response_metadata.get("finish_reason")
        and message.chunk_position is None
    )


def _draft(namespace: tuple[str, ...], mode: str, data: object) -> Draft:
    row = {"type": TYPE, "mode": mode, "namespace": namespace, "data": data}
    return Draft(TYPE, json.dumps(row, ensure_ascii=False))
