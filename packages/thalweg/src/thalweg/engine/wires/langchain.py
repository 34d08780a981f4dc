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
    source = _flat(item)
    kind = source.get("type") or source.get("role")
    role = _role(kind, source)
    if not isinstance(kind, str) or role is None:
        return foreign_item(wire, item, line, notes)
    fields = Fields({name: value for name, value in source.items() if not _is_blank(value)})
    fields.left.pop("type", None)
    if "type" not in source:
        del fields.left["role"]
    if _short(kind) in {"function", "chat"}:
        fields.left["type"] = _short(kind)
    parts = _parts(fields, line, notes, of_model=role == "assistant")
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


def _flat(item: object) -> dict[str, Any]:
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
    if (name := _short(kind)) == "chat":
        return _ROLES.get(str(source.get("role")), "user")
    return _ROLES.get(name)


def _short(kind: str) -> str:
    """Return the short type name used in every form: `AIMessageChunk` is `ai`."""
    return kind.removesuffix("Chunk").removesuffix("Message").lower()


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, (str, list, dict)) and not value)


def _parts(fields: Fields, line: int, notes: list[Note], *, of_model: bool) -> list[Part]:
    artifact = fields.left.get("artifact")
    if artifact is not None and from_json(to_json(artifact)) != artifact:
        del fields.left["artifact"]
        notes.append(Note(line, "artifact", "an artifact that is not JSON is not converted"))
    calls = [_call(call) for call in _objects(fields, "tool_calls")]
    calls += [_call(call, invalid=True) for call in _objects(fields, "invalid_tool_calls")]
    content = fields.left.pop("content", None)
    thoughts: list[Part] = []
    kwargs = fields.left.get("additional_kwargs")
    if isinstance(kwargs, Mapping) and isinstance(text := kwargs.get(_REASONING), str) and text:
        rest = {name: value for name, value in kwargs.items() if name != _REASONING}
        fields.left["additional_kwargs"] = rest
        thoughts.append(Thinking(text, extra=pack(WIRE, {"field": _REASONING})))
    return [*thoughts, *read_content(content, calls, line, notes, of_model=of_model)]


_REASONING = "reasoning_content"


def _objects(fields: Fields, name: str) -> list[Mapping[str, Any]]:
    """Remove and return a list of objects; a list with any other item is not removed."""
    value = fields.left.get(name)
    if not isinstance(value, list) or not all(isinstance(call, Mapping) for call in value):
        return []
    del fields.left[name]
    return value


def _call(source: Mapping[str, Any], *, invalid: bool = False) -> ToolCall:
    fields = Fields(source)
    if invalid or fields.peek("type") == "tool_call":
        fields.left.pop("type", None)
    arguments = arguments_text(fields.left.pop("args", None))
    call_id, name = fields.text("id"), fields.text("name")
    left = {key: value for key, value in fields.left.items() if invalid or value is not None}
    return ToolCall(call_id, name, arguments, pack(WIRE, {"invalid": left} if invalid else left))


def _write(message: Message) -> "BaseMessage | None":
    from langchain_core import messages as core  # noqa: PLC0415 (0.5 s, and only who builds needs it)

    left = unpack(message.extra, WIRE)
    kind = left.pop("type", "")
    given = _given(message, left)
    if message.role == "tool":
        if kind == "function":
            return _built(core.FunctionMessage, {**given, "name": message.name})
        status = "error" if message.is_error else "success"
        return _built(
            core.ToolMessage, {**given, "tool_call_id": message.answers, "status": status}
        )
    if kind == "chat":
        return _built(core.ChatMessage, {"role": message.role, **given})
    if message.role == "system":
        return _built(core.SystemMessage, given)
    if message.role == "user":
        return _built(core.HumanMessage, given)
    return _write_ai(message, given)


_STREAMED = ("tool_call_chunks", "chunk_position")


def _given(message: Message, left: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in left.items() if name not in _STREAMED}
    given: dict[str, Any] = {**kept, "content": write_content(message.parts)}
    if message.name:
        given["name"] = message.name
    if message.uid:
        given["id"] = message.uid
    return given


def _write_ai(message: Message, given: dict[str, Any]) -> "BaseMessage | None":
    from langchain_core.messages import AIMessage  # noqa: PLC0415 (as above)

    calls = [(call, unpack(call.extra, WIRE)) for call in message.calls]
    given["tool_calls"] = [
        {"type": "tool_call", "id": call.id or None, "name": call.name}
        | {"args": arguments_object(call.arguments)}
        for call, left in calls
        if "invalid" not in left
    ]
    given["invalid_tool_calls"] = [
        {"error": None, **left["invalid"], "type": "invalid_tool_call"}
        | {"id": call.id or None, "name": call.name, "args": call.arguments}
        for call, left in calls
        if isinstance(left.get("invalid"), dict)
    ]
    thoughts = [
        part.text
        for part in message.parts
        if isinstance(part, Thinking) and "field" in unpack(part.extra, WIRE)
    ]
    kwargs = given.get("additional_kwargs")
    kwargs = dict(kwargs) if isinstance(kwargs, Mapping) else {}
    if calls:
        kwargs.pop("tool_calls", None)  # OpenAI's form of the same calls
    if thoughts:
        kwargs[_REASONING] = "\n".join(thoughts)
    nothing = not given["content"] and not calls and not thoughts
    if nothing and any(isinstance(part, (Thinking, Opaque)) for part in message.parts):
        return None
    return _built(AIMessage, {**given, "additional_kwargs": kwargs})


_ESSENTIAL: dict[str, tuple[type, ...]] = {
    "content": (str, list),
    "tool_calls": (list,),
    "invalid_tool_calls": (list,),
    "tool_call_id": (str,),
    "status": (str,),
    "role": (str,),
    "name": (str,),
    "id": (str,),
}


def _built(kind: "type[BaseMessage]", given: Mapping[str, Any]) -> "BaseMessage":
    """Build a message; fields of a recording that LangChain refuses are dropped."""
    try:
        return kind(**given)
    except ValueError:
        essential = {
            name: given[name]
            for name, kinds in _ESSENTIAL.items()
            if isinstance(given.get(name), kinds)
        }
        return kind(**essential)
