"""Messages of LangChain and LangGraph, as objects and as serialized dictionaries.

`langchain_core` is imported when messages are built, never when they are read.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from thalweg.engine.entries import Message, Opaque, Origin, Part, Role, Thinking, ToolCall
from thalweg.engine.wires.base import Note
from thalweg.engine.wires.fields import (
    Fields,
    arguments_object,
    arguments_text,
    as_usage,
    from_json,
    pack,
    to_json,
    unpack,
)
from thalweg.engine.wires.langchain_content import WIRE, read_content, write_content
from thalweg.engine.wires.origins import foreign_item, pieces

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

_ROLES: dict[str, Role] = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}


class LangChainWire:
    """`HumanMessage`, `AIMessage`, `ToolMessage` and the other message classes of LangChain."""

    name = WIRE

    def read(self, items: Sequence[Any]) -> tuple[list[Message], list[Note]]:
        """Return our messages for LangChain's, and a note per irregularity."""
        return _read_all(items, WIRE)

    def write(self, messages: Sequence[Message]) -> list[Any]:
        """Return LangChain's messages for ours."""
        written: list[object] = []
        for piece in pieces(messages, WIRE):
            if piece.raws:
                written += piece.raws
            elif (built := _write(piece.message)) is not None:
                written.append(built)
        return written


def read_dumped(items: Sequence[Any]) -> tuple[list[Message], list[Note]]:
    """Parse messages from the dictionaries that LangChain and LangGraph serialize them to.

    Supports `messages_to_dict` (`type`, `data`), the flat form of LangGraph's server (`type`,
    `content`, …) and the constructor form (`lc`, `id`, `kwargs`). The messages' origin is
    `langchain-dumped`, so `LangChainWire` builds new objects from them.
    """
    return _read_all(items, "langchain-dumped")


def _read_all(items: Sequence[Any], wire: str) -> tuple[list[Message], list[Note]]:
    notes: list[Note] = []
    return [_read(item, line, wire, notes) for line, item in enumerate(items)], notes


def _read(item: object, line: int, wire: str, notes: list[Note]) -> Message:
    source = _flat_fields(item)
    kind = source.get("type") or source.get("role")
    role = _role(kind, source)
    if not isinstance(kind, str) or role is None:
        return foreign_item(wire, item, line, notes)
    fields = Fields({name: value for name, value in source.items() if not _is_blank(value)})
    fields.left.pop("type", None)
    if "type" not in source:
        del fields.left["role"]
    if _short_type(kind) in {"function", "chat"}:
        fields.left["type"] = _short_type(kind)
    parts = _parts(fields, line, notes, is_from_model=role == "assistant")
    return Message(
        role,
        tuple(parts),
        answers=fields.text("tool_call_id"),
        name=fields.text("name"),
        is_error=fields.left.get("status") == "error",
        uid=fields.text("id"),
        line=line,
        usage=as_usage(fields.left.get("usage_metadata")),
        extra=pack(WIRE, fields.left),
        origin=Origin(wire, (item,)),
    )


def _flat_fields(item: object) -> dict[str, Any]:
    """Return a message as one dictionary with its `type` and fields."""
    if not isinstance(item, Mapping):
        if isinstance(item, type) or not (hasattr(item, "type") and hasattr(item, "content")):
            return {}
        return {**(getattr(item, "__pydantic_extra__", None) or {}), **vars(item)}
    if isinstance(data := item.get("data"), Mapping) and item.keys() == {"type", "data"}:
        return {**data, "type": item["type"]}
    if isinstance(kwargs := item.get("kwargs"), Mapping) and item.keys() >= {"lc", "id"}:
        path = item["id"]
        return {**kwargs, "type": path[-1] if isinstance(path, list) and path else None}
    return dict(item)


def _role(kind: object, source: Mapping[str, Any]) -> Role | None:
    if not isinstance(kind, str):
        return None
    if (name := _short_type(kind)) == "chat":
        return _ROLES.get(str(source.get("role")), "user")
    return _ROLES.get(name)


def _short_type(kind: str) -> str:
    """Return the short type name used in every form: `AIMessageChunk` is `ai`."""
    return kind.removesuffix("Chunk").removesuffix("Message").lower()


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, (str, list, dict)) and not value)


def _parts(fields: Fields, line: int, notes: list[Note], *, is_from_model: bool) -> list[Part]:
    artifact = fields.left.get("artifact")
    if artifact is not None and from_json(to_json(artifact)) != artifact:
        del fields.left["artifact"]
        notes.append(Note(line, "artifact", "an artifact that is not JSON is not converted"))
    calls = [_call(call) for call in _objects(fields, "tool_calls")]
    calls += [_call(call, is_invalid=True) for call in _objects(fields, "invalid_tool_calls")]
    content = fields.left.pop("content", None)
    thoughts: list[Part] = []
    kwargs = fields.left.get("additional_kwargs")
    if isinstance(kwargs, Mapping) and isinstance(text := kwargs.get(_REASONING), str) and text:
        other_kwargs = {name: value for name, value in kwargs.items() if name != _REASONING}
        fields.left["additional_kwargs"] = other_kwargs
        thoughts.append(Thinking(text, extra=pack(WIRE, {"field": _REASONING})))
    return [*thoughts, *read_content(content, calls, line, notes, is_from_model=is_from_model)]


_REASONING = "reasoning_content"


def _objects(fields: Fields, name: str) -> list[Mapping[str, Any]]:
    """Remove and return a list of objects; a list with any other item is not removed."""
    value = fields.left.get(name)
    if not isinstance(value, list) or not all(isinstance(call, Mapping) for call in value):
        return []
    del fields.left[name]
    return value


def _call(source: Mapping[str, Any], *, is_invalid: bool = False) -> ToolCall:
    fields = Fields(source)
    if is_invalid or fields.peek("type") == "tool_call":
        fields.left.pop("type", None)
    arguments = arguments_text(fields.left.pop("args", None))
    call_id, name = fields.text("id"), fields.text("name")
    extra_fields = {
        key: value for key, value in fields.left.items() if is_invalid or value is not None
    }
    return ToolCall(
        call_id,
        name,
        arguments,
        pack(WIRE, {"invalid": extra_fields} if is_invalid else extra_fields),
    )


def _write(message: Message) -> "BaseMessage | None":
    from langchain_core import messages as core  # noqa: PLC0415 (0.5 s, and only who builds needs it)

    extra_fields = unpack(message.extra, WIRE)
    kind = extra_fields.pop("type", "")
    message_fields = _common_fields(message, extra_fields)
    if message.role == "tool":
        if kind == "function":
            return _build_message(core.FunctionMessage, {**message_fields, "name": message.name})
        status = "error" if message.is_error else "success"
        return _build_message(
            core.ToolMessage, {**message_fields, "tool_call_id": message.answers, "status": status}
        )
    if kind == "chat":
        return _build_message(core.ChatMessage, {"role": message.role, **message_fields})
    if message.role == "system":
        return _build_message(core.SystemMessage, message_fields)
    if message.role == "user":
        return _build_message(core.HumanMessage, message_fields)
    return _write_ai(message, message_fields)


_STREAMED = ("tool_call_chunks", "chunk_position")


def _common_fields(message: Message, extra_fields: Mapping[str, Any]) -> dict[str, Any]:
    kept_fields = {name: value for name, value in extra_fields.items() if name not in _STREAMED}
    message_fields: dict[str, Any] = {**kept_fields, "content": write_content(message.parts)}
    if message.name:
        message_fields["name"] = message.name
    if message.uid:
        message_fields["id"] = message.uid
    return message_fields


def _write_ai(message: Message, message_fields: dict[str, Any]) -> "BaseMessage | None":
    from langchain_core.messages import AIMessage  # noqa: PLC0415 (as above)

    calls = [(call, unpack(call.extra, WIRE)) for call in message.calls]
    message_fields["tool_calls"] = [
        {"type": "tool_call", "id": call.id or None, "name": call.name}
        | {"args": arguments_object(call.arguments)}
        for call, extra_fields in calls
        if "invalid" not in extra_fields
    ]
    message_fields["invalid_tool_calls"] = [
        {"error": None, **extra_fields["invalid"], "type": "invalid_tool_call"}
        | {"id": call.id or None, "name": call.name, "args": call.arguments}
        for call, extra_fields in calls
        if isinstance(extra_fields.get("invalid"), dict)
    ]
    thoughts = [
        part.text
        for part in message.parts
        if isinstance(part, Thinking) and "field" in unpack(part.extra, WIRE)
    ]
    kwargs = message_fields.get("additional_kwargs")
    kwargs = dict(kwargs) if isinstance(kwargs, Mapping) else {}
    if calls:
        kwargs.pop("tool_calls", None)  # OpenAI's form of the same calls
    if thoughts:
        kwargs[_REASONING] = "\n".join(thoughts)
    is_empty = not message_fields["content"] and not calls and not thoughts
    if is_empty and any(isinstance(part, (Thinking, Opaque)) for part in message.parts):
        return None
    return _build_message(AIMessage, {**message_fields, "additional_kwargs": kwargs})


_ESSENTIAL_TYPES: dict[str, tuple[type, ...]] = {
    "content": (str, list),
    "tool_calls": (list,),
    "invalid_tool_calls": (list,),
    "tool_call_id": (str,),
    "status": (str,),
    "role": (str,),
    "name": (str,),
    "id": (str,),
}


def _build_message(kind: "type[BaseMessage]", message_fields: Mapping[str, Any]) -> "BaseMessage":
    """Build a message; fields of a recording that LangChain refuses are dropped."""
    try:
        return kind(**message_fields)
    except ValueError:
        essential = {
            name: message_fields[name]
            for name, kinds in _ESSENTIAL_TYPES.items()
            if isinstance(message_fields.get(name), kinds)
        }
        return kind(**essential)
