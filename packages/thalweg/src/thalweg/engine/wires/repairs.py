"""What each provider accepts in messages, as far as it can be checked locally, and repairs.

A repair is a pure function over *exchanges*: one message and the tool results after it. The result
for an exchange depends on it and on the ids of earlier calls, so checking a request that grows at
its end takes time in proportion to the new messages; valid messages are unchanged.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import is_

from thalweg.engine.edits import RepairReason
from thalweg.engine.entries import Media, Message, Opaque, Part, Text, Thinking, ToolCall
from thalweg.engine.media.facts import type_of
from thalweg.engine.prompts import prompt
from thalweg.engine.window.items import BEGINS, NO_ANSWER, NO_RESULT, NO_WORDS
from thalweg.engine.wires.fields import arguments_object, from_json, pack, unpack


@dataclass(frozen=True, slots=True)
class WireRules:
    """What one wire accepts; the defaults are accepted by every supported provider."""

    tool_name: re.Pattern[str] = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
    """Matches a whole tool name."""
    call_id: re.Pattern[str] = re.compile(r"[a-zA-Z0-9_-]{1,40}")
    """Matches a whole call id."""
    accepts_blank: bool = False
    """Whether a text may be empty or only white space."""
    accepts_late_system: bool = False
    """Whether a system message may follow other messages."""
    user_first: bool = True
    """Whether the first message after the system prompt must be a user's."""
    alternates: bool = False
    """Whether a message of the user must separate two answers. No supported provider demands it:
    Anthropic joins them (platform.claude.com/docs/en/api/messages/create, `messages`), OpenAI and
    the Gemini API accept them (github.com/google/adk-go/issues/1218); read 2026-11-28. Bedrock and
    the chat templates of some models do: it is set for a model that has refused such a request."""
    media: tuple[str, ...] = ("image/", "audio/", "video/", "application/pdf", "text/")
    """Prefixes of the media types that are accepted."""
    by_address: tuple[str, ...] | None = None
    """Prefixes of the media types that may be an address, apart from images; `None` for all."""
    needs_type: bool = False
    """Whether content by value must have a media type."""
    excluded: tuple[str, ...] = ()
    """Prefixes of the media types that the model's profile rules out, in every form."""

    def accepts(self, media: Media) -> bool:
        """Return whether an image, a document, a sound or a film is accepted.

        A block in the native form of a server is, as it was written for that server. One of an
        unknown type is, unless the wire needs a type or accepts no file by address.
        """
        mime = type_of(media).partition(";")[0].strip().lower()
        if _NATIVE_BLOCK.search(media.extra):
            return not (self.excluded and mime.startswith(self.excluded))
        is_unknown = not mime or mime == _UNKNOWN_TYPE
        if media.url and self.by_address is not None and not mime.startswith("image/"):
            return bool(self.by_address) and (is_unknown or mime.startswith(self.by_address))
        if media.data and self.needs_type and (is_unknown or mime.endswith("/*")):
            return False
        if mime.endswith("/*"):
            return any(kind.startswith(mime[:-1]) for kind in self.media)
        return is_unknown or mime.startswith(self.media)


_NATIVE_BLOCK = re.compile(
    r'"type": "(?:video_url|audio_url|input_image|input_file|media)"|"untyped": true'
)
"""Blocks that are no provider-neutral form: a client passes them on as they are."""
_UNKNOWN_TYPE = "application/octet-stream"
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_OFFICE_AND_TEXT = (  # https://developers.openai.com/api/docs/guides/file-inputs, read 2026-11-30
    "text/",
    "application/json",
    "application/rtf",
    "application/msword",
    "application/vnd.ms-",
    "application/vnd.openxmlformats-officedocument.",
    "application/vnd.oasis.opendocument.text",
)
_OPENAI_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

RULES: Mapping[str, WireRules] = {
    "openai-chat": WireRules(  # https://platform.openai.com/docs/api-reference/chat/create
        tool_name=_OPENAI_NAME,
        accepts_blank=True,
        accepts_late_system=True,
        user_first=False,
        media=(*_IMAGES, "audio/", "application/pdf"),
        by_address=(),
        needs_type=True,
    ),
    "openai-responses": WireRules(  # https://platform.openai.com/docs/api-reference/responses/create
        tool_name=_OPENAI_NAME,
        call_id=re.compile(r"[a-zA-Z0-9_-]{1,64}"),
        accepts_blank=True,
        accepts_late_system=True,
        user_first=False,
        media=(*_IMAGES, "application/pdf", *_OFFICE_AND_TEXT),
        needs_type=True,
    ),
    "anthropic": WireRules(  # https://platform.claude.com/docs/en/api/messages
        tool_name=re.compile(r"[a-zA-Z0-9_-]{1,128}"),
        call_id=re.compile(r"[a-zA-Z0-9_-]{1,64}"),
        media=(*_IMAGES, "application/pdf", "text/plain"),
        by_address=("application/pdf",),
        needs_type=True,
    ),
    # The Gemini API accepts 64 characters of a name, Vertex AI 128; the client may use either.
    "gemini": WireRules(  # https://ai.google.dev/api/caching#FunctionDeclaration
        tool_name=re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}"),
    ),
}
"""Rules by wire, each with the provider's page it is taken from."""

_MEDIA_BY_PROFILE_FIELD: Mapping[str, str] = {
    "image_inputs": "image/",
    "pdf_inputs": "application/",  # and so other documents, of which no field is
    "audio_inputs": "audio/",
    "video_inputs": "video/",
}
"""Media type that each field of LangChain's model profile is about."""


def rules_of(wire: str, profile: Mapping[str, object] | None = None) -> WireRules:
    """Return the rules for requests to a model.

    Args:
        wire: The provider's wire; an unregistered one gets the rules that all providers accept.
        profile: LangChain's profile of the model, which can exclude media that the wire supports.

    Example:
        >>> rules_of("anthropic", {"pdf_inputs": False}).accepts(Media("application/pdf"))
        False
    """
    rules, profile_fields = RULES.get(wire, _COMMON_RULES), profile or {}
    if profile_fields.get("mid_conversation_system_messages") is True:  # Claude Opus 4.8 and later
        rules = replace(rules, accepts_late_system=True)
    excluded_types = tuple(
        kind for name, kind in _MEDIA_BY_PROFILE_FIELD.items() if profile_fields.get(name) is False
    )
    if not excluded_types:
        return rules
    media = tuple(kind for kind in rules.media if not kind.startswith(excluded_types))
    return replace(rules, media=media, excluded=excluded_types)


_COMMON_RULES = WireRules()
_LATE_SYSTEM = re.compile(r"claude-(opus-(4-[89]|[5-9])|(sonnet|haiku|fable|mythos)-[5-9])")
"""Claude accepts `system` messages in mid-conversation from Opus 4.8 on. Source:
platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages, 2026-05-28."""


def accepts_late_system(model: str) -> bool:
    """Return whether an Anthropic model, by its name, accepts later system messages.

    Example:
        >>> accepts_late_system("anthropic:claude-fable-5-2")
        True
        >>> accepts_late_system("anthropic:claude-sonnet-4-6")
        False
    """
    return _LATE_SYSTEM.search(model) is not None


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
        first = exchange[0]
        is_next = first.role == "user" or (
            first.role == "assistant"
            and self.started
            and not (self.rules.alternates and self.answered)
        )
        if len(exchange) == 1 and is_next and _is_plain(first):
            self.started, self.answered = True, first.role == "assistant"
            return RepairedExchange((first,))
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
        if message.role != "system" and _is_plain(message):
            return message
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
        # Anthropic: "content cannot be empty if `is_error` is true"; other results may be.
        has_error = message.is_error and not self.rules.accepts_blank and not nonblank
        if nonblank is message.parts and not _has_empty_list(message) and not has_error:
            return message
        self._add_defect(k, _EMPTY)
        is_stated = bool(message.parts) or has_error
        parts = nonblank or (Text(prompt("no_output").text),) if is_stated else ()
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


def _is_plain(message: Message) -> bool:
    """Return whether a message is one text in ASCII, which nothing here changes."""
    if len(message.parts) != 1 or not isinstance(part := message.parts[0], Text):
        return False
    extra = message.extra + part.extra
    is_ascii = part.text.isascii() and message.name.isascii() and extra.isascii()
    return is_ascii and bool(part.text.strip()) and "\\u" not in extra


def _map_parts(parts: tuple[Part, ...], change: Callable[[Part], Part]) -> tuple[Part, ...]:
    """Apply a change to each part; return the same tuple if none changes."""
    changed = tuple(map(change, parts))
    return parts if all(map(is_, changed, parts)) else changed


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
