"""The responses dialect of OpenAI: a flat list of items, several per turn of the model.

Adjacent items of the model (reasoning, text, calls) become one message, so that a call is
never separated from its reasoning.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from thalweg.engine.entries import (
    Media,
    Message,
    Opaque,
    Origin,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
)
from thalweg.engine.wires.base import Note
from thalweg.engine.wires.fields import (
    Fields,
    arguments_text,
    as_dict,
    foreign_item,
    from_json,
    is_from_wire,
    is_private,
    join_packed,
    media_from_url,
    opaque,
    opaque_value,
    pack,
    pieces,
    unpack,
    url_of,
)
from thalweg.engine.wires.media_blocks import original_block, take_content, unknown_media

_WIRE = "openai-responses"
_ITEM = "openai-responses:item"
_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
_ARGUMENT_FIELDS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "computer_call": "action",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
}
"""Calls that expect an output from us, and the field that holds the request."""
_NAMED_CALLS = ("function_call", "custom_tool_call")
"""Calls of a named tool; the others are built in and have only a type."""
_NAMED_OUTPUTS = tuple(f"{kind}_output" for kind in _NAMED_CALLS)


class OpenAIResponsesWire:
    """Items of `POST /responses`."""

    name = _WIRE

    def read(self, items: Sequence[Any]) -> tuple[list[Message], list[Note]]:
        """Return the messages of items, and a note per irregularity."""
        notes: list[Note] = []
        messages: list[Message] = []
        lines = groupby(range(len(items)), key=lambda line: _is_model_item(items[line]))
        for is_from_model, run in lines:
            if is_from_model:
                messages.append(_read_turn(items, list(run), notes))
            else:
                messages += [_read_item(items[line], line, notes) for line in run]
        return messages, notes

    def write(self, messages: Sequence[Message]) -> list[Any]:
        """Return the request's items."""
        written: list[object] = []
        for piece in pieces(messages, _WIRE):
            if piece.raws:
                written += piece.raws
            elif piece.message.role == "assistant":
                written += _write_turn(piece.message.parts)
            elif piece.message.role == "tool":
                written.append(_write_output(piece.message))
            else:
                written.append(_write_message(piece.message))
        return written


def _is_model_item(item: object) -> bool:
    source = as_dict(item)
    if source is None:
        return False
    kind = source.get("type", "message")
    if kind == "message":
        return source.get("role") == "assistant"
    return isinstance(kind, str) and (kind == "reasoning" or kind.endswith("_call"))


def _read_turn(items: Sequence[object], lines: Sequence[int], notes: list[Note]) -> Message:
    raws = tuple(items[line] for line in lines)
    parts = [
        part
        for item, line in zip(raws, lines, strict=True)
        for part in _read_model_item(item, line, notes)
    ]
    uids = (item.get("id") for raw in raws if (item := as_dict(raw)) is not None)
    return Message(
        "assistant",
        tuple(parts),
        uid=next((uid for uid in uids if isinstance(uid, str)), ""),
        line=lines[0],
        origin=Origin(_WIRE, raws),
    )


def _read_model_item(item: object, line: int, notes: list[Note]) -> list[Part]:
    source = as_dict(item) or {}
    kind = source.get("type", "message")
    if kind == "message":
        return _read_model_text(source, line, notes)
    if kind == "reasoning":
        return [_reasoning(source)]
    if kind in _NAMED_CALLS or (
        kind in _ARGUMENT_FIELDS and isinstance(source.get("call_id"), str)
    ):
        return [_call(source, str(kind))]
    return [opaque(_WIRE, item)]


def _read_model_text(source: dict[str, Any], line: int, notes: list[Note]) -> list[Part]:
    fields = Fields(source)
    content = _take_content(fields)
    del fields.left["role"]
    item = pack(_ITEM, fields.left)
    parts = [_read_part(part, line, notes, is_from_model=True) for part in content]
    if item and not any(isinstance(part, Text) for part in parts):
        return [opaque(_WIRE, source)]
    return [
        Text(part.text, join_packed(part.extra, item)) if isinstance(part, Text) else part
        for part in parts
    ]


def _take_content(fields: Fields) -> Sequence[object]:
    text = fields.take("content", str)
    return ([text] if text else []) if text is not None else fields.take("content", list) or []


def _reasoning(source: Mapping[str, Any]) -> Thinking:
    fields = Fields(source)
    signature = fields.text("encrypted_content")
    summary = _texts(source.get("summary"))
    texts = [*summary, *_texts(source.get("content"))]
    del fields.left["type"]
    if source.get("summary") == _summary("\n\n".join(texts)):
        del fields.left["summary"]
    return Thinking("\n\n".join(texts), signature, pack(_WIRE, fields.left, mark=True))


def _texts(parts: object) -> list[str]:
    found = (
        [part.get("text") for part in parts or () if isinstance(part, dict)]
        if isinstance(parts, list)
        else []
    )
    return [text for text in found if isinstance(text, str)]


def _summary(text: str) -> list[dict[str, str]]:
    return [{"type": "summary_text", "text": text}] if text else []


def _call(source: Mapping[str, Any], kind: str) -> ToolCall:
    fields = Fields(source)
    if kind == "function_call":
        del fields.left["type"]
    arguments = arguments_text(fields.left.pop(_ARGUMENT_FIELDS[kind], None))
    name = fields.text("name") if kind in _NAMED_CALLS else kind.removesuffix("_call")
    return ToolCall(fields.text("call_id"), name, arguments, pack(_WIRE, fields.left))


def _read_item(item: object, line: int, notes: list[Note]) -> Message:
    source = as_dict(item)
    kind = source.get("type", "message") if source is not None else None
    if source is not None and isinstance(kind, str):
        if kind == "message" and Fields(source).peek("role") in _ROLES:
            return _read_message(item, Fields(source), line, notes)
        if kind in _NAMED_OUTPUTS or (
            kind.endswith("_call_output") and isinstance(source.get("call_id"), str)
        ):
            return _read_output(item, Fields(source), line, notes)
    return foreign_item(_WIRE, item, line, notes)


def _read_message(item: object, fields: Fields, line: int, notes: list[Note]) -> Message:
    role = fields.text("role")
    parts = [_read_part(part, line, notes) for part in _take_content(fields)]
    role_field = {"role": role} if role == "developer" else {}
    return Message(
        _ROLES[role],
        tuple(parts),
        uid=fields.peek("id"),
        line=line,
        extra=pack(_WIRE, {**fields.left, **role_field}),
        origin=Origin(_WIRE, (item,)),
    )


def _read_output(item: object, fields: Fields, line: int, notes: list[Note]) -> Message:
    kind = fields.text("type")
    output = fields.left.pop("output", None)
    parts: list[Part] = []
    if isinstance(output, str):
        parts = [Text(output)] if output else []
    elif isinstance(output, list):
        parts = [_read_part(part, line, notes) for part in output]
    elif output is not None:
        parts = [opaque(_WIRE, output)]
    type_field = {"type": kind} if kind != "function_call_output" else {}
    return Message(
        "tool",
        tuple(parts),
        answers=fields.text("call_id"),
        uid=fields.peek("id"),
        line=line,
        extra=pack(_WIRE, {**fields.left, **type_field}),
        origin=Origin(_WIRE, (item,)),
    )


def _read_part(part: object, line: int, notes: list[Note], *, is_from_model: bool = False) -> Part:
    if isinstance(part, str):
        return Text(part)
    fields = Fields(as_dict(part) or {})
    match fields.peek("type"):
        case "input_text" | "output_text" | "text" if isinstance(fields.left.get("text"), str):
            text = fields.text("text")
            del fields.left["type"]
            return Text(text, pack(_WIRE, fields.left))
        case "refusal" if isinstance(fields.left.get("refusal"), str):
            return Text(fields.text("refusal"), pack(_WIRE, fields.left))
    media = _read_media(fields) or (None if is_from_model else unknown_media(_WIRE, as_dict(part)))
    if media is not None:
        return media
    notes.append(Note(line, "unknown_part", "a part of the content was not understood; carried"))
    return opaque(_WIRE, part)


def _read_media(fields: Fields) -> Media | None:
    match fields.peek("type"):
        case "input_image" if fields.peek("image_url"):
            return _media(fields, "image/*", "image_url")
        case "input_file" if fields.peek("file_data") or fields.peek("file_url"):
            return _media(fields, "application/octet-stream", "file_data", "file_url")
        case "input_image" | "input_file" as kind if fields.peek("file_id"):
            mime = "image/*" if kind == "input_image" else "application/octet-stream"
            return take_content(_WIRE, fields.left, (), mime)
    return None


def _media(fields: Fields, mime: str, *url_fields: str) -> Media:
    del fields.left["type"]
    url = fields.text(*url_fields)
    return media_from_url(url, mime, pack(_WIRE, fields.left))


def _write_turn(parts: Iterable[Part]) -> Iterator[object]:
    for item, run in groupby(parts, key=_item_of):
        if item is not None:
            texts = [part for part in run if isinstance(part, Text)]
            if item or any(text.text.strip() for text in texts):
                yield _write_model_text(item, texts)
            continue
        for part in run:
            if isinstance(part, Thinking) and is_from_wire(part.extra, _WIRE):
                yield _write_reasoning(part)
            elif isinstance(part, ToolCall):
                yield _write_call(part)
            elif isinstance(part, Opaque) and part.wire == _WIRE:
                yield opaque_value(part)


def _item_of(part: Part) -> dict[str, Any] | None:
    return unpack(part.extra, _ITEM) if isinstance(part, Text) else None


def _write_model_text(item: Mapping[str, Any], texts: Sequence[Text]) -> dict[str, Any]:
    if not item and len(texts) == 1 and not is_from_wire(texts[0].extra, _WIRE):
        return {"role": "assistant", "content": texts[0].text}
    return {**item, "role": "assistant", "content": [_write_text(t, "output_text") for t in texts]}


def _write_text(part: Text, kind: str) -> dict[str, Any]:
    extra_fields = unpack(part.extra, _WIRE)
    if extra_fields.get("type") == "refusal":
        return {**extra_fields, "refusal": part.text}
    return {"type": kind, "text": part.text, **extra_fields}


def _write_reasoning(part: Thinking) -> dict[str, Any]:
    item_fields = {"summary": _summary(part.text), **unpack(part.extra, _WIRE)}
    signature_field = {"encrypted_content": part.signature} if part.signature else {}
    return {"type": "reasoning", **item_fields, **signature_field}


def _write_call(call: ToolCall) -> dict[str, Any]:
    item_fields = {"type": "function_call", **unpack(call.extra, _WIRE)}
    kind = item_fields["type"]
    arguments_field = _ARGUMENT_FIELDS.get(kind, "arguments")
    body: dict[str, Any] = {"call_id": call.id}
    if kind in _NAMED_CALLS:
        body |= {"name": call.name, arguments_field: call.arguments}
    else:
        body[arguments_field] = from_json(call.arguments)
    return {**item_fields, **body}


def _write_message(message: Message) -> dict[str, Any]:
    extra_fields = unpack(message.extra, _WIRE)
    role = extra_fields.pop("role", message.role)
    return {**extra_fields, "role": role, "content": _content(message.parts)}


def _write_output(message: Message) -> dict[str, Any]:
    item_fields = {"type": "function_call_output", **unpack(message.extra, _WIRE)}
    output: object = _content(message.parts)
    opaque_parts = [
        part for part in message.parts if isinstance(part, Opaque) and part.wire == _WIRE
    ]
    if item_fields["type"] == "computer_call_output" and opaque_parts:
        output = opaque_value(opaque_parts[0])
    return {**item_fields, "call_id": message.answers, "output": output}


def _content(parts: Sequence[Part]) -> str | list[Any]:
    sent_parts = [
        part
        for part in parts
        if isinstance(part, Text)
        or (isinstance(part, Media) and not is_private(part, _WIRE))
        or (isinstance(part, Opaque) and part.wire == _WIRE)
    ]
    if not sent_parts:
        return ""
    if (
        len(sent_parts) == 1
        and isinstance(part := sent_parts[0], Text)
        and not is_from_wire(part.extra, _WIRE)
    ):
        return part.text
    return [_write_input(part) for part in sent_parts]


def _write_input(part: Text | Media | Opaque) -> object:
    if isinstance(part, Text):
        return _write_text(part, "input_text")
    if isinstance(part, Opaque):
        return opaque_value(part)
    if (block := original_block(part, _WIRE)) is not None:
        return block
    extra_fields = unpack(part.extra, _WIRE)
    if part.mime.startswith("image/"):
        return {"type": "input_image", "image_url": url_of(part), **extra_fields}
    if part.url:
        return {"type": "input_file", "file_url": part.url, **extra_fields}
    file_fields = {"filename": f"file.{part.mime.rpartition('/')[2]}", **extra_fields}
    return {"type": "input_file", "file_data": url_of(part), **file_fields}
