"""Fields of recorded objects, and origins: which messages still equal the objects read.

A wire reads the fields it supports and keeps the others in an `extra` as `{wire: {field: value}}`,
so that a field returns to the dialect it came from and is sent to no other.
"""

import json
import math
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import is_
from typing import Any, NoReturn, TypeVar, assert_never

from thalweg.engine.entries import Media, Message, Opaque, Origin, Part, Text, Thinking, ToolCall
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.wires.base import Note

_T = TypeVar("_T")


def to_json(value: object) -> str:
    """Serialize a value as JSON; a value that JSON cannot hold becomes its `repr`.

    Example:
        >>> to_json({"city": "Köln", "size": 2 + 1j})
        '{"city": "Köln", "size": "(2+1j)"}'
    """
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)
    except (TypeError, ValueError, RecursionError):
        with suppress(ValueError):  # Python writes no integer of more than 4,300 digits
            return json.dumps(repr(value), ensure_ascii=False)
        return json.dumps(object.__repr__(value))


def from_json(text: str) -> object:
    """Parse strict JSON; return `None` if the text is not JSON.

    Example:
        >>> from_json("[1]"), from_json("NaN"), from_json("{")
        ([1], None, None)
    """
    try:
        value: object = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value


def _refuse(constant: str) -> NoReturn:
    msg = f"{constant} is not JSON"
    raise ValueError(msg)


def arguments_text(value: object) -> str:
    """Return a call's arguments as text: text is unchanged, an object becomes JSON.

    Example:
        >>> arguments_text({"path": "."}), arguments_text("{oops"), arguments_text(None)
        ('{"path": "."}', '{oops', '')
    """
    if value is None:
        return ""
    return value if isinstance(value, str) else to_json(value)


def arguments_object(arguments: str) -> dict[str, Any]:
    """Return a call's arguments as the object a provider demands.

    Returns:
        The parsed object if the text is a JSON object, an empty one if it is blank, otherwise
        the text itself under `_raw`.

    Example:
        >>> arguments_object('{"path": "."}'), arguments_object("{oops")
        ({'path': '.'}, {'_raw': '{oops'})
    """
    if not arguments.strip():
        return {}
    value = from_json(arguments)
    return value if isinstance(value, dict) else {"_raw": arguments}


def as_dict(item: object) -> dict[str, Any] | None:
    """Return an item as a dictionary: from a mapping or a pydantic model of a provider's SDK.

    Returns:
        `None` if the item is neither.

    Example:
        >>> as_dict({"role": "user"}), as_dict("user")
        ({'role': 'user'}, None)
    """
    if isinstance(item, dict):
        return item
    if isinstance(item, Mapping):
        return dict(item)
    dump = getattr(item, "model_dump", None)
    if not callable(dump) or isinstance(item, type):
        return None
    dumped = dump(mode="json", exclude_none=True)
    return dumped if isinstance(dumped, dict) else None


def role_in(item: object, roles: Container[str]) -> str:
    """Return the role of a message; empty for an item without one of these roles."""
    role = (as_dict(item) or {}).get("role")
    return role if isinstance(role, str) and role in roles else ""


def sendable(item: object, response_only: frozenset[str]) -> object:
    """Return an item without the fields that a provider sends and never accepts.

    Args:
        item: A message of a request or of a response.
        response_only: Names of fields that a request refuses.

    Returns:
        The item itself if it has none of them; otherwise a shallow copy with the same content
        objects.

    Example:
        >>> sendable({"id": "msg_1", "role": "user"}, frozenset({"id"}))
        {'role': 'user'}
    """
    source = as_dict(item)
    if source is None or response_only.isdisjoint(source):
        return item
    request_fields = {name: value for name, value in source.items() if name not in response_only}
    if isinstance(item, Mapping):
        return request_fields
    return {name: getattr(item, name, value) for name, value in request_fields.items()}


class Fields:
    """An object being parsed: supported fields are removed, the others remain in `left`.

    A field of an unexpected type is not removed.

    Example:
        >>> fields = Fields({"name": "ls", "id": None})
        >>> fields.text("name"), fields.text("id"), fields.left
        ('ls', '', {'id': None})
    """

    def __init__(self, source: Mapping[str, Any], *without: str) -> None:
        self.left = dict(source)
        for name in without:
            self.left.pop(name, None)

    def take(self, name: str, kind: type[_T]) -> _T | None:
        """Remove and return a field if it is of this type; else return `None`."""
        if isinstance(value := self.left.get(name), kind):
            del self.left[name]
            return value
        return None

    def text(self, *names: str) -> str:
        """Remove and return the first of these fields that is text; empty if none is."""
        for name in names:
            if isinstance(value := self.left.get(name), str):
                del self.left[name]
                return value
        return ""

    def peek(self, name: str) -> str:
        """Return a text field without removing it; empty if it is not text."""
        value = self.left.get(name)
        return value if isinstance(value, str) else ""


def pack(wire: str, fields: Mapping[str, Any], *, mark: bool = False) -> str:
    """Return JSON that keeps fields for the wire they came from.

    Args:
        wire: The wire, or a name of its own below it.
        fields: The fields; values must be serializable as JSON.
        mark: Write the name even without fields, so that a reader sees which wire made the part.

    Example:
        >>> pack("anthropic", {"cache_control": {"type": "ephemeral"}})
        '{"anthropic": {"cache_control": {"type": "ephemeral"}}}'
    """
    return to_json({wire: fields}) if fields or mark else ""


def join_packed(*extras: str) -> str:
    """Join outputs of `pack` with different names."""
    filled = [extra for extra in extras if extra]
    if len(filled) < 2:  # noqa: PLR2004 (one needs no joining)
        return "".join(filled)
    return to_json({name: value for extra in filled for name, value in _json_object(extra).items()})


def unpack(extra: str, wire: str) -> dict[str, Any]:
    """Return the fields kept for a wire; empty if only other wires' fields are kept.

    Example:
        >>> unpack('{"gemini": {"id": "7"}}', "gemini"), unpack('{"gemini": {}}', "anthropic")
        ({'id': '7'}, {})
    """
    kept = _json_object(extra).get(wire) if extra else None
    return dict(kept) if isinstance(kept, dict) else {}


def is_private(media: Media, wire: str) -> bool:
    """Return whether only another wire can send a part.

    It names a file that another provider stores, or its type is unknown.
    """
    has_no_content = not media.data and not media.url
    is_untyped = not media.mime and '"untyped"' in media.extra
    return (has_no_content or is_untyped) and not is_from_wire(media.extra, wire)


def is_from_wire(extra: str, wire: str) -> bool:
    """Return whether a part was read by this wire.

    Reasoning and signatures are sent only to their own provider: every provider rejects another's.
    """
    return bool(extra) and wire in _json_object(extra)


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def opaque(wire: str, value: object) -> Opaque:
    """Return a part that carries a value unchanged."""
    return Opaque(wire, to_json(value))


def opaque_value(part: Opaque) -> object:
    """Return the value that `opaque` carried."""
    try:
        value: object = json.loads(part.json)
    except (ValueError, RecursionError):
        return part.json
    return value


_DATA_URL = re.compile(r"data:([^,]*?);base64,(.+)", re.DOTALL)


def media_from_url(url: str, mime: str, extra: str = "") -> Media:
    """Return media for a URL, or for the content that a `data:` URL holds.

    Args:
        url: The URL.
        mime: Type to assume if the URL does not state one, like `image/*`.
        extra: Fields to keep with it.

    Example:
        >>> media_from_url("data:image/png;base64,AAAA", "image/*")
        Media(mime='image/png', data='AAAA', url='', extra='')
    """
    if match := _DATA_URL.fullmatch(url):
        return Media(match[1], data=match[2], extra=extra)
    return Media(mime, url=url, extra=extra)


def url_of(media: Media) -> str:
    """Return media as a URL; the inverse of `media_from_url`."""
    return f"data:{media.mime};base64,{media.data}" if media.data else media.url


def as_usage(value: object) -> Usage | None:
    """Parse the token usage that a provider or a log reported, in any of their shapes.

    Example:
        >>> as_usage({"input_tokens": 10, "cache_read_input_tokens": 90}) == Usage(100, cached=90)
        True
    """
    if not isinstance(value, Mapping):
        return None
    reported = dict(value)
    for name in _DETAIL_FIELDS:
        if isinstance(details := value.get(name), Mapping):
            reported.update(details)
    counts = _token_counts(reported)
    found = dict.fromkeys(_USAGE_NAMES, 0)
    for name, names in _USAGE_NAMES.items():
        for reported_name in names:
            found[name] = found[name] or counts.get(reported_name, 0)
    if not any(found[name] for name in ("input", "output", "cached", "written")):
        return None
    long, thoughts = found["1h"], found["thoughts"]
    # `langchain-anthropic` (1.7) sets `cache_creation` to 0 if the writes are reported by lifetime.
    written = found["written"] or found["part_written"] or found["5m"] + long
    # Of `prompt_tokens` all that was cached is a part, however a gateway names it, too.
    is_whole = (
        found["input"] == counts.get("prompt_tokens", 0) >= found["cached"] + found["written"]
    )
    return Usage(
        input=found["input"] + (0 if is_whole else found["cached"] + found["written"]),
        cached=found["cached"] or found["part_cached"],
        written=written,
        output=found["output"] + thoughts,
        written_long=min(long, written),
        reasoning=thoughts or min(found["output"], _reasoning(value)),
    )


_USAGE_NAMES = {
    "cached": ("cache_read_input_tokens", "cacheRead"),
    "written": ("cache_creation_input_tokens", "cacheWrite"),
    "input": ("input_tokens", "prompt_tokens", "promptTokenCount", "input"),
    "output": ("output_tokens", "completion_tokens", "candidatesTokenCount", "output"),
    "thoughts": ("thoughtsTokenCount", "thoughts"),
    "part_cached": (
        *("cache_read", "cached_tokens", "cachedContentTokenCount", "cached"),
        "prompt_cache_hit_tokens",
    ),
    "part_written": ("cache_creation", "cache_write_tokens"),
    "5m": ("ephemeral_5m_input_tokens",),
    "1h": ("ephemeral_1h_input_tokens",),
}
"""Names of each count in the reports of all providers, the first that is reported counts. `cached`
and `written` are not part of `input`, `part_cached` and `part_written` are."""


_SERVICE_TIER = re.compile(r"^(priority|flex)_")
"""Prefix of the names of details in `langchain-openai` (1.7), on OpenAI's service tiers."""


def _reasoning(usage: Mapping[str, Any]) -> int:
    """Return the reasoning tokens that are a part of the reported output."""
    for name in _OUTPUT_DETAILS:
        if isinstance(details := usage.get(name), Mapping):
            counts = _token_counts(details)
            if count := counts.get("reasoning") or counts.get("reasoning_tokens"):
                return count
    return _token_counts(usage).get("reasoning_output_tokens") or 0


_DETAIL_FIELDS = (
    "input_token_details",
    "input_tokens_details",
    "prompt_tokens_details",
    "cache_creation",
)
_OUTPUT_DETAILS = ("output_token_details", "output_tokens_details", "completion_tokens_details")


def _token_counts(fields: Mapping[str, Any]) -> dict[str, int]:
    """Return the positive, finite numbers among some fields."""
    return {
        _SERVICE_TIER.sub("", name): int(value)
        for name, value in fields.items()
        if isinstance(value, (int, float)) and 0 < value < math.inf
    }


@dataclass(frozen=True, slots=True)
class Piece:
    """A message to build, or messages to send as the objects they were read from."""

    message: Message
    """The message, or the first of them."""
    raws: tuple[object, ...] = ()
    """The objects; empty if the message is to be built."""


def pieces(messages: Sequence[Message], wire: str) -> Iterator[Piece]:
    """Yield messages to send as their original objects, and messages to build.

    A raw object of several messages is sent only if all of them are present, adjacent and in
    order; otherwise each is built from its parts. A message that has only parts of other wires
    gets their JSON as text, so that it is still a message.
    """
    index = 0
    while index < len(messages):
        first, shared_count = messages[index], _shared_count(messages, index, wire)
        if first.origin is not None and shared_count:
            yield Piece(first, first.origin.raws)
        elif unpack(first.extra, _ITEM).get("wire") == wire:  # see `foreign_item`
            yield Piece(first, (_original_item(first),))
        else:
            yield Piece(_with_foreign_text(first, wire))
        index += shared_count or 1


def _with_foreign_text(message: Message, wire: str) -> Message:
    foreign = [part for part in message.parts if isinstance(part, Opaque) and part.wire != wire]
    if not foreign or any(_has_content(part, wire) for part in message.parts):
        return message
    return replace(message, parts=tuple(Text(part.json) for part in foreign))


def _has_content(part: Part, wire: str) -> bool:
    match part:
        case Text(text):
            return bool(text.strip())
        case Thinking(extra=extra):
            return is_from_wire(extra, wire)
        case Opaque(wire=part_wire):
            return part_wire == wire
        case Media():
            return not is_private(part, wire)
        case ToolCall():
            return True
        case _:
            assert_never(part)


def _shared_count(messages: Sequence[Message], index: int, wire: str) -> int:
    """Count the messages from this one that complete their raw object; 0 if they do not."""
    first = messages[index].origin
    if first is None or first.wire != wire or first.share[0] != 0:
        return 0
    count = first.share[1]
    group = messages[index : index + count]
    is_complete = len(group) == count and all(
        (origin := message.origin) is not None
        and origin.wire == wire
        and origin.share == (k, count)
        and len(origin.raws) == len(first.raws)
        and all(map(is_, origin.raws, first.raws))
        for k, message in enumerate(group)
    )
    return count if is_complete else 0


def with_origin(wire: str, raw: object, messages: Sequence[Message]) -> list[Message]:
    """Return messages read from one object, with their origin set."""
    raws = (raw,)
    return [
        replace(message, origin=Origin(wire, raws, (k, len(messages))))
        for k, message in enumerate(messages)
    ]


def foreign_item(wire: str, item: object, line: int, notes: list[Note]) -> Message:
    """Return a message that carries an item which is not of this dialect, and note it."""
    notes.append(Note(line, "not_a_message", f"item {line} is no message of {wire}; carried"))
    return Message(
        "user",
        (opaque(wire, item),),
        kind="injected",
        line=line,
        extra=pack(_ITEM, {"wire": wire}),
        origin=Origin(wire, (item,)),
    )


_ITEM = "item"


def _original_item(message: Message) -> object:
    return next((opaque_value(part) for part in message.parts if isinstance(part, Opaque)), None)
