r"""Repair the messages of a request that its provider would refuse; the others are unchanged.

A pure function over *exchanges*: one message and the tool results after it. The result for an
exchange depends on it and on the ids of earlier calls, so checking a request that grows at
its end takes time in proportion to the new messages.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from thalweg.engine.edits import RepairReason
from thalweg.engine.entries import Media, Message, Opaque, Part, Text, Thinking, ToolCall
from thalweg.engine.prompts import prompt
from thalweg.engine.window.items import BEGINS, NO_ANSWER, NO_RESULT, NO_WORDS
from thalweg.engine.wires.fields import arguments_object, from_json, pack, unpack
from thalweg.engine.wires.rules import WireRules

DETAIL_CHARS = 120
"""Most characters of a name or a type that a repair keeps."""


@dataclass(frozen=True, slots=True)
class RequestDefect:
    """One defect that the provider would refuse."""

    index: int
    """Index of the message in its exchange."""
    reason: RepairReason
    detail: str = ""
    """The name or type with the defect."""


@dataclass(frozen=True, slots=True)
class RepairedExchange:
    """An exchange as it is sent."""

    messages: tuple[Message, ...]
    """Messages without a defect are the very objects of the input."""
    found: tuple[RequestDefect, ...] = ()


@dataclass(slots=True)
class ExchangeChecker:
    """Checks the exchanges of one request, in order."""

    rules: WireRules
    ids: set[str] = field(default_factory=set)
    """Ids of all calls so far, as they are sent."""
    started: bool = False
    """Whether a message after the system prompt has been checked."""
    answered: bool = False
    """Whether the last message so far is an answer."""
    _defects: list[RequestDefect] = field(default_factory=list)
    _pointer: Callable[[int], str] = str

    def check(self, exchange: Sequence[Message], pointer: Callable[[int], str]) -> RepairedExchange:
        """Check one message and the tool results after it.

        Args:
            exchange: The message, then only tool results.
            pointer: Returns how the model reads the message of an index in full; empty for a
                message that is not in the log.
        """
        self._defects, self._pointer = [], pointer
        repaired = [self._repair_single(message, k) for k, message in enumerate(exchange)]
        messages = tuple(self._paired_results(repaired))
        if messages and messages[-1].role != "system":
            self.answered = messages[-1].role == "assistant"
        return RepairedExchange(messages, tuple(self._defects))

    def _add_defect(self, index: int, reason: RepairReason, detail: str = "") -> None:
        self._defects.append(RequestDefect(index, reason, encodable(detail)[:DETAIL_CHARS]))

    def _repair_single(self, message: Message, k: int) -> Message | None:
        """Repair one message without its results; `None` if nothing of it can be sent."""
        message = self._encodable(message, k)
        if message.role == "system":
            message = self._first_system(message, k)
        elif message.role == "assistant":
            message = self._with_valid_calls(message, k)
        message = self._without_refused_media(message, k)
        return (
            self._repaired_result(message, k)
            if message.role == "tool"
            else self._with_text(message, k)
        )

    def _encodable(self, message: Message, k: int) -> Message:
        parts = _map_parts(message.parts, _encodable_part)
        name, extra = encodable(message.name), _encodable_json(message.extra)
        if parts is message.parts and name == message.name and extra == message.extra:
            return message
        self._add_defect(k, "the text cannot be encoded")
        return replace(message, parts=parts, name=name, extra=extra, origin=None)

    def _first_system(self, message: Message, k: int) -> Message:
        if self.rules.accepts_late_system or not self.started:
            return message
        self._add_defect(k, "the provider accepts a system message at the beginning only")
        text = prompt("moved_system").render(text=message.text)
        return Message("user", (Text(text),), kind="injected", uid=message.uid)

    def _with_valid_calls(self, message: Message, k: int) -> Message:
        parts = _map_parts(message.parts, lambda part: self._with_valid_call(part, k))
        return message if parts is message.parts else replace(message, parts=parts, origin=None)

    def _with_valid_call(self, part: Part, k: int) -> Part:
        if not isinstance(part, ToolCall):
            return part
        call = _with_object_arguments(part)
        if call is not part:
            self._add_defect(k, "the arguments of a call are not a JSON object", part.name)
        if self.rules.tool_name.fullmatch(call.name):
            return call
        self._add_defect(k, "the provider does not accept the name of a tool", part.name)
        return replace(call, name=safe_name(call.name, self.rules))

    def _without_refused_media(self, message: Message, k: int) -> Message:
        refused = [p for p in message.parts if isinstance(p, Media) and not self.rules.accepts(p)]
        if not refused:
            return message
        self._add_defect(
            k, "the model does not accept such media", ", ".join(p.mime for p in refused)
        )
        pointer = self._pointer(k)
        parts = _map_parts(message.parts, lambda p: _notice(p, pointer) if p in refused else p)
        return replace(message, parts=parts, origin=None)

    def _with_text(self, message: Message, k: int) -> Message | None:
        """Drop blank texts; a message with nothing else states that it is empty."""
        nonblank = _without_blank(message.parts)
        has_content = any(not isinstance(part, Thinking) for part in nonblank)
        if message.role == "system" and not has_content:
            self._add_defect(k, _EMPTY)
            return None
        is_accepted = self.rules.accepts_blank and (has_content or not _has_empty_list(message))
        if is_accepted or (has_content and nonblank is message.parts):
            return message
        self._add_defect(k, _EMPTY)
        parts = nonblank if has_content or self.rules.accepts_blank else (*nonblank, Text(NO_WORDS))
        return replace(message, parts=parts, origin=None)

    def _repaired_result(self, message: Message, k: int) -> Message:
        nonblank = message.parts if self.rules.accepts_blank else _without_blank(message.parts)
        if nonblank is message.parts and not _has_empty_list(message):
            return message
        self._add_defect(k, _EMPTY)
        parts = nonblank or (Text(prompt("no_output").text),) if message.parts else ()
        return replace(message, parts=parts, origin=None)

    def _paired_results(self, repaired: Sequence[Message | None]) -> Iterator[Message]:
        """Yield one result per call, directly after the message of the call."""
        first, results = repaired[0], [*enumerate(repaired)]
        if first is not None and first.role != "tool":
            results = results[1:]
            if first.role != "system":
                yield from self._missing_user_message(first)
            first = self._with_unique_ids(first)
            yield first
        elif first is None:
            results = results[1:]
        calls = first.calls if first is not None and first.role == "assistant" else ()
        recorded = [call.id for call in repaired[0].calls] if calls and repaired[0] else []
        unanswered = list(zip(recorded, calls, strict=True))
        yield from self._ordered_results(unanswered, [(k, m) for k, m in results if m is not None])

    def _missing_user_message(self, first: Message) -> Iterator[Message]:
        """Yield a missing message of the user: at the beginning, or between two answers."""
        if self.rules.alternates and self.answered and first.role == "assistant":
            self._add_defect(0, "the provider demands that user and assistant alternate")
            yield Message("user", (Text(NO_ANSWER),), kind="injected")
        if not self.started and self.rules.user_first and first.role != "user":
            self._add_defect(0, "the provider demands a message of the user first")
            yield Message("user", (Text(BEGINS),), kind="injected")
        self.started = True

    def _with_unique_ids(self, message: Message) -> Message:
        """Assign each call an id that is valid and unique."""
        if message.role != "assistant":
            return message
        parts = _map_parts(message.parts, self._with_unique_id)
        if parts is message.parts:
            return message
        self._add_defect(0, "the provider does not accept the id of a call")
        return replace(message, parts=parts, origin=None)

    def _with_unique_id(self, part: Part) -> Part:
        if not isinstance(part, ToolCall):
            return part
        unique = part.id
        if not self.rules.call_id.fullmatch(unique) or unique in self.ids:
            unique = f"call_{len(self.ids)}"
            while unique in self.ids:
                unique += "_"
        self.ids.add(unique)
        return part if unique == part.id else replace(part, id=unique)

    def _ordered_results(
        self, unanswered: list[tuple[str, ToolCall]], results: Sequence[tuple[int, Message]]
    ) -> Iterator[Message]:
        """Yield the results that answer calls, then placeholders for missing ones, then the rest.

        Args:
            unanswered: The calls, each with the id that results refer to.
            results: Each with its index in the exchange.
        """
        recorded = {call_id for call_id, _ in unanswered}
        # A placeholder for a missing result yields to any real one.
        real_first = sorted(results, key=lambda pair: pair[1].text == NO_RESULT)
        call_by_result: dict[int, ToolCall] = {}
        for k, result in real_first:
            match_index = next(
                (call_index for call_index, (i, _) in enumerate(unanswered) if i == result.answers),
                None,
            )
            if match_index is not None:
                call_by_result[k] = unanswered.pop(match_index)[1]
        yield from (
            self._result_for_call(result, call_by_result[k])
            for k, result in results
            if k in call_by_result
        )
        for _, call in unanswered:
            self._add_defect(0, _ONE_RESULT, call.name)
            yield Message("tool", (Text(NO_RESULT),), answers=call.id, name=call.name)
        for k, result in results:
            if k in call_by_result:
                continue
            self._add_defect(k, _ONE_RESULT, result.name)
            if result.answers not in recorded:
                self.started = True
                heading = Text(prompt("stray_result").render(name=result.name or "a tool"))
                yield Message("user", (heading, *result.parts), kind="injected", uid=result.uid)

    def _result_for_call(self, result: Message, call: ToolCall) -> Message:
        """Return a result that refers to the call it answers."""
        is_named = not result.name or self.rules.tool_name.fullmatch(result.name) is not None
        if result.answers == call.id and is_named:
            return result
        parts = result.parts
        if not is_named and result.name not in result.text:
            parts = (Text(prompt("named_call").render(name=result.name)), *parts)
        name = result.name if is_named else call.name
        return replace(result, parts=parts, answers=call.id, name=name, origin=None)


_EMPTY: RepairReason = "the provider does not accept empty content"
_ONE_RESULT: RepairReason = "a call needs one result, directly after it"


def _map_parts(parts: tuple[Part, ...], change: Callable[[Part], Part]) -> tuple[Part, ...]:
    """Apply a change to each part; return the same tuple if none changes."""
    changed = tuple(map(change, parts))
    return parts if all(a is b for a, b in zip(changed, parts, strict=True)) else changed


def _without_blank(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    nonblank = tuple(p for p in parts if not isinstance(p, Text) or p.text.strip())
    return parts if len(nonblank) == len(parts) else nonblank


def encodable(text: str) -> str:
    r"""Replace lone surrogates, which UTF-8 cannot encode; a pair becomes its character.

    Example:
        >>> encodable("caf\udce9") == "caf\ufffd"
        True
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _encodable_json(text: str) -> str:
    """Replace lone surrogates in a JSON text, escaped or not."""
    value = from_json(text) if _ESCAPED_SURROGATE.search(text) else None
    if value is None:
        return encodable(text)
    serialized = json.dumps(value, ensure_ascii=False)
    repaired = encodable(serialized)
    return text if repaired == serialized else repaired


_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""One surrogate of a pair, as JSON escapes it."""


def _encodable_part(part: Part) -> Part:
    repaired: Part
    match part:
        case Text(text, extra):
            repaired = Text(encodable(text), _encodable_json(extra))
        case Thinking(text, signature, extra):
            repaired = Thinking(encodable(text), signature, _encodable_json(extra))
        case Media(mime, data, url, extra):
            repaired = Media(mime, data, encodable(url), _encodable_json(extra))
        case ToolCall(call_id, name, arguments, extra):
            texts = encodable(call_id), encodable(name), _encodable_json(arguments)
            repaired = ToolCall(*texts, _encodable_json(extra))
        case Opaque(wire, text):
            repaired = Opaque(wire, _encodable_json(text))
    return part if repaired == part else repaired


def _with_object_arguments(call: ToolCall) -> ToolCall:
    """Make the arguments of a call a JSON object; text that cannot be parsed becomes a field."""
    extra_fields = unpack(call.extra, _LANGCHAIN)
    was_invalid = extra_fields.pop("invalid", None) is not None
    value = from_json(call.arguments) if call.arguments.strip() else {}
    if isinstance(value, dict) and not was_invalid:
        return call
    arguments = json.dumps(arguments_object(call.arguments), ensure_ascii=False)
    extra = pack(_LANGCHAIN, extra_fields) if was_invalid else call.extra
    return replace(call, arguments=arguments, extra=extra)


_LANGCHAIN = "langchain"


def safe_name(name: str, rules: WireRules) -> str:
    """Return a tool name adapted to the provider's alphabet and length.

    Example:
        >>> safe_name("functions.probe", WireRules()), safe_name("", WireRules())
        ('functions_probe', 'unknown_tool')
    """
    short = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:_NAME_CHARS]
    if not short or rules.tool_name.fullmatch(short):
        return short or "unknown_tool"
    return f"tool_{short}"[:_NAME_CHARS]


_NAME_CHARS = 64
"""Characters of a name that every provider accepts."""


def _notice(part: Part, pointer: str) -> Part:
    what = (part.mime if isinstance(part, Media) else "") or "media"
    if not pointer:
        return Text(prompt("media_not_accepted").render(what=what))
    return Text(prompt("media_kept").render(what=what, pointer=pointer))


def _has_empty_list(message: Message) -> bool:
    """Return whether the content of a LangChain message is an empty list of blocks.

    A rebuilt message has the empty text instead, as it does when it is read from the archive.
    """
    raws = message.origin.raws if message.origin is not None else ()
    return len(raws) == 1 and getattr(raws[0], "content", None) == []
