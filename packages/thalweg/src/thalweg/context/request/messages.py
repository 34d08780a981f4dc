"""Between LangChain's messages and ours: conversion, adaptation to the target model, merging.

Other middleware sees the messages of the state; we send a view of the whole thread. A message that
it added keeps its neighbour, one that it removed is removed, and one that it rewrote is used if our
view shows that message unchanged. Nothing is removed if that would break a request (calls without
results, results without calls), which no provider accepts.
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, compress, count, filterfalse, pairwise
from operator import attrgetter, is_, is_not, ne, or_
from typing import Any, Literal, assert_never

from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage

from thalweg.context.request.models import (
    LATE_SYSTEM_KEY,
    changed_copy,
    class_names,
    layers,
    profile_in,
)
from thalweg.engine.entries import (
    RECALL,
    Media,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
)
from thalweg.engine.media.cost import cost_of
from thalweg.engine.media.facts import decoded, type_of
from thalweg.engine.media.labels import media_label
from thalweg.engine.prompts import prompt
from thalweg.engine.undocumented import uses_responses_api
from thalweg.engine.window.binding import ReasoningBinding
from thalweg.engine.window.items import (
    NO_RESULT,
    NO_WORDS,
    WindowItem,
    check,
    has_compaction,
    is_compaction,
    message_for_tool,
    without_prompts,
)
from thalweg.engine.wires.fields import is_from_wire, opaque, opaque_value, pack, unpack
from thalweg.engine.wires.langchain import WIRE, LangChainWire, read_message
from thalweg.engine.wires.media_blocks import URL_KEYS
from thalweg.engine.wires.repairs import WireRules, rules_of

Client = Literal["anthropic", "openai-chat", "openai-responses", "gemini", "other"]
"""LangChain's client that sends a request."""
_UNSUPPORTED_TYPES: Mapping[str, frozenset[str | None]] = {
    "anthropic": frozenset(
        {None, "input_audio", "input_image", "input_file", "media", "video_url", "audio_url"}
    ),
    "openai-chat": frozenset({None, "document", "media", "input_image", "input_file"}),
    "openai-responses": frozenset(
        {None, "document", "input_audio", "media", "video_url", "audio_url"}
    ),
    "gemini": frozenset(
        {"document", "input_audio", "input_image", "input_file", "video_url", "audio_url"}
    ),
}
"""Types of blocks that a client does not convert for its provider; Gemini's own may have none."""
_UNSUPPORTED_KEYS: Mapping[str, frozenset[str]] = {
    "anthropic": frozenset({"file"}),
    "openai-chat": frozenset({"source"}),
    "openai-responses": frozenset({"source"}),
    "gemini": frozenset({"file", "source"}),
}
"""Keys of blocks of another provider whose type is also LangChain's: `file`, `image`."""
_CHAT_SOUNDS = {"audio/mpeg": "audio/mp3", "audio/x-wav": "audio/wav", "audio/wave": "audio/wav"}
"""Sounds that have another name in OpenAI's `input_audio.format`: `wav` or `mp3`."""
_REQUESTED_MODEL, _BOND = "thalweg_model", "thalweg_bond"
"""Keys in the metadata of answers until November 2026: the requested model, and what signed
reasoning is bound to. The journal has both now (`AnswerLog`)."""


def adapt_media(media: Media, client: Client, *, in_result: bool = False) -> Part:
    """Return media as a block that a client sends; the same object if it does already.

    A text by value is text to Anthropic, and the id of another provider's file a line that states
    this.

    Args:
        media: An image, a document, a sound or a film.
        client: The client.
        in_result: Whether the block is in a tool's result.
    """
    fields = unpack(media.extra, WIRE)
    shell = fields.get("shell")
    if not isinstance(shell, dict) or _is_untyped(media):
        return media
    kind = shell.get("type")
    is_foreign = kind in _UNSUPPORTED_TYPES.get(client, ()) or not shell.keys().isdisjoint(
        _UNSUPPORTED_KEYS.get(client, ())
    )
    if not (media.data or media.url):
        what = media_label(media)
        return Text(prompt("media_not_accepted").render(what=what)) if is_foreign else media
    if client == "gemini":  # in a result, its own form is a text to it
        is_foreign = is_foreign or (in_result and kind in {"media", None})
    mime = type_of(media)
    mime = _CHAT_SOUNDS.get(mime, mime) if client == "openai-chat" else mime
    if client == "anthropic" and media.data and mime.startswith("text/"):
        with suppress(UnicodeDecodeError):
            if (text := decoded(media.data).decode()).strip():
                return _text_document(text, shell)
    if mime != media.mime:
        media = replace(media, mime=mime)
        is_foreign = is_foreign or fields.get("place", [""])[-1] not in URL_KEYS
    return _standard(media, shell) if is_foreign else media


def _text_document(text: str, shell: Mapping[str, Any]) -> Part:
    """Return a text as Anthropic's document, whose type by value is PDF alone."""
    source = {"type": "text", "media_type": "text/plain", "data": text}
    title = {"title": name} if (name := _file_name(shell)) else {}
    kept = {k: shell[k] for k in ("cache_control", "citations", "context") if k in shell}
    return opaque(WIRE, {"type": "document", "source": source, **title, **kept})


def _file_name(shell: Mapping[str, Any]) -> str:
    file = shell.get("file")
    named = {**file, **shell} if isinstance(file, dict) else shell
    name = named.get("filename") or named.get("title")
    return name if isinstance(name, str) else ""


def _standard(media: Media, shell: Mapping[str, Any]) -> Media:
    """Return media as LangChain's own block, which every client converts."""
    kind = media.mime.partition("/")[0]
    block: dict[str, Any] = {"type": kind if kind in {"image", "audio", "video"} else "file"}
    if not media.mime.endswith("/*"):
        block["mime_type"] = media.mime
    if block["type"] == "file":  # which OpenAI demands a name of
        block["filename"] = _file_name(shell) or f"file.{media.mime.rpartition('/')[2]}"
    place = ["base64" if media.data else "url"]
    return Media(media.mime, media.data, media.url, pack(WIRE, {"shell": block, "place": place}))


def _is_sent_below(media: Media, client: Client, *, is_read_back: bool) -> bool:
    match client:
        case "openai-chat":
            return True
        case "other":
            return is_read_back
        case "anthropic":
            return is_read_back and _is_untyped(media)
        case _:
            return False


def _adapt_result_part(part: Part, client: Client, *, is_read_back: bool) -> Part:
    if isinstance(part, Media):
        if _is_sent_below(part, client, is_read_back=is_read_back):
            media_kind = part.mime.partition("/")[0] or "media"
            return Text(prompt("media_below").render(what=media_kind))
        if _is_untyped(part) and client in {"openai-responses", "gemini"}:  # else sent as text
            return Text(prompt("media_not_accepted").render(what=media_label(part)))
        return adapt_media(part, client, in_result=True)
    if isinstance(part, Opaque) and client not in {"gemini", "other"}:
        return Text(part.json)
    return part


def _is_untyped(media: Media) -> bool:
    return not media.mime and '"untyped"' in media.extra


@dataclass(frozen=True, slots=True)
class TargetModel:
    """The model that a request is sent to, and what its client accepts."""

    model: str = ""
    """`provider:name`."""
    client: Client = "other"
    stores: bool = True
    """Whether OpenAI may keep items, so that they can be sent by their ids alone."""
    takes_system: bool = False
    """Whether Anthropic's model accepts system messages among the others, by its profile."""
    rules: WireRules = field(default_factory=WireRules)
    """What its provider accepts in messages."""


def target_model_of(request: ModelRequest[Any], name: str = "") -> TargetModel:
    """Return the target model of a request; `name` is `model_name(request.model)`."""
    objects = tuple(layers(request.model))
    stores = request.model_settings.get("store", _read_setting(objects, "store")) is not False
    client, profile = _client_of(request, objects), _read_setting(objects, "profile")
    has_late_system = isinstance(profile, Mapping) and profile.get(LATE_SYSTEM_KEY)
    takes_system = client == "anthropic" and has_late_system is True
    rules = rules_of(client, profile_in(objects))
    if client == "openai-chat" and not _read_setting(objects, "openai_api_base"):
        # Servers with OpenAI's API may accept other sounds than OpenAI itself.
        sounds = {"audio/": ("audio/wav", "audio/mp3")}
        media = tuple(one for kind in rules.media for one in sounds.get(kind, (kind,)))
        rules = replace(rules, media=media)
    return TargetModel(name, client, stores, takes_system, rules)


def _client_of(request: ModelRequest[Any], objects: Sequence[object]) -> Client:
    for layer in objects:
        names = class_names(type(layer))
        if "ChatAnthropic" in names:
            return "anthropic"
        if "BaseChatOpenAI" in names:
            settings = {**request.model_settings, "tools": []}
            return "openai-responses" if uses_responses_api(layer, settings) else "openai-chat"
        if "ChatGoogleGenerativeAI" in names:
            return "gemini"
    return "other"


def _read_setting(objects: Sequence[object], name: str) -> object:
    for layer in objects:
        value = layer.get(name) if isinstance(layer, Mapping) else getattr(layer, name, None)
        if value is not None:
            return value
    return None


def without_thinking(request: ModelRequest[Any]) -> ModelRequest[Any]:
    """Turn off reasoning that Anthropic demands of a loop from its first answer on.

    It refuses a loop that another model began, or whose beginning is folded; without the
    setting it takes it.
    """
    settings = {k: v for k, v in request.model_settings.items() if k != "thinking"}
    thinking = getattr(request.model, "thinking", None)
    if isinstance(thinking, Mapping) and thinking.get("type") == "enabled":
        model = changed_copy(request.model, thinking=None)
        return request.override(model=model, model_settings=settings)
    return request.override(model_settings=settings)


def is_own(message: Message, target: TargetModel, requested_model: Callable[[], str] = str) -> bool:
    """Return whether an answer is the target model's own.

    Args:
        message: The answer.
        target: The target model.
        requested_model: Returns the requested model, or an empty text; called only if the names in
            the answer are not those of the target model: the provider's name for it may differ.
    """
    meta = unpack(message.extra, WIRE).get("response_metadata")
    meta = meta if isinstance(meta, Mapping) else {}
    if requested := meta.get(_REQUESTED_MODEL):
        return bool(requested == target.model)
    name = meta.get("model_name") or meta.get("model")
    provider, _, model = target.model.partition(":")
    reported = meta.get("model_provider") or provider
    is_named = (
        isinstance(name, str)
        and reported == provider
        and _model_family(name) == _model_family(model)
    )
    return is_named or requested_model() == target.model != ""


def stored_binding(_: int, message: Message) -> ReasoningBinding | None:
    """Read the binding of an answer's signed reasoning, if the answer stores it."""
    meta = unpack(message.extra, WIRE).get("response_metadata")
    bond = meta.get(_BOND) if isinstance(meta, Mapping) else None
    return ReasoningBinding.read(bond) if isinstance(bond, str) else None


def _model_family(name: str) -> str:
    return re.sub(r"-(latest|\d{4}-?\d{2}-?\d{2})$", "", name.removeprefix("models/"))


def adapt_message(
    message: Message,
    target: TargetModel,
    *,
    is_own_answer: bool,
    sends_reasoning: bool,
    is_read_back: bool = False,
) -> Message:
    """Return a message that the target model's client can send; the same object if unchanged.

    Args:
        message: The message.
        target: The target model.
        is_own_answer: Whether it is the target model's own answer.
        sends_reasoning: Whether the reasoning of its loop is sent.
        is_read_back: Whether it is a result of `recall`.
    """
    match message.role:
        case "assistant":
            parts = _adapt_answer(
                message, target, is_own_answer=is_own_answer, sends_reasoning=sends_reasoning
            )
        case "tool":
            parts = _adapt_result(message, target, is_read_back=is_read_back)
        case "user" | "system":
            parts = tuple(_adapt_request_part(part, target.client) for part in message.parts)
        case _:
            assert_never(message.role)
    is_foreign = message.role == "assistant" and not is_own_answer
    has_foreign_fields = is_foreign and "additional_kwargs" in message.extra
    if parts is message.parts or (parts == message.parts and not has_foreign_fields):
        return message
    if not is_foreign:
        return replace(message, parts=parts, origin=None)
    uid = "" if message.uid.startswith("msg_") else message.uid
    return replace(message, parts=parts, origin=None, extra="", uid=uid)


def _adapt_request_part(part: Part, client: Client) -> Part:
    if isinstance(part, Media):
        return adapt_media(part, client)
    return _without_cache_mark(part) if client.startswith("openai") else part


def _adapt_answer(
    message: Message, target: TargetModel, *, is_own_answer: bool, sends_reasoning: bool
) -> tuple[Part, ...]:
    if is_own_answer and _stays_unchanged(message, target, sends_reasoning=sends_reasoning):
        return message.parts
    keeps_reasoning = is_own_answer and sends_reasoning and target.client == "openai-chat"
    plain_parts = tuple(
        plain_part
        for part in message.parts
        for plain_part in _plain_parts(part, keeps_reasoning=keeps_reasoning)
    )
    return (
        plain_parts
        if any(not isinstance(part, Thinking) for part in plain_parts)
        else (Text(NO_WORDS),)
    )


def _stays_unchanged(message: Message, target: TargetModel, *, sends_reasoning: bool) -> bool:
    reasoning = [part for part in message.parts if isinstance(part, Thinking)]
    match target.client:
        case "openai-responses":
            # Items whose reasoning is removed must be sent without their ids.
            is_resendable = target.stores or all(part.signature for part in reasoning)
            return bool(reasoning or has_compaction(message)) and sends_reasoning and is_resendable
        case "openai-chat":
            return False
        case "anthropic" | "gemini" | "other":
            return sends_reasoning or not reasoning
        case _:
            assert_never(target.client)


def _plain_parts(part: Part, *, keeps_reasoning: bool) -> Iterator[Part]:
    match part:
        case Text(text):
            if text.strip():
                yield Text(text)
        case ToolCall(extra=extra):
            fields = unpack(extra, WIRE)
            invalid = {"invalid": fields["invalid"]} if "invalid" in fields else {}
            yield replace(part, extra=pack(WIRE, invalid))
        case Media(mime=mime):
            yield Text(prompt("said_media").render(what=mime.partition("/")[0] or "media"))
        case Thinking(extra=extra):
            if keeps_reasoning and is_from_wire(extra, WIRE) and "field" in unpack(extra, WIRE):
                yield part
        case Opaque():
            block = opaque_value(part)
            refusal = block.get("refusal") if isinstance(block, Mapping) else None
            if isinstance(refusal, str) and refusal.strip():
                yield Text(refusal)
        case _:
            assert_never(part)


def _adapt_result(message: Message, target: TargetModel, *, is_read_back: bool) -> tuple[Part, ...]:
    """Return the parts of a tool's result as a client may send them in a result.

    Media that are sent below are replaced by a line that states this; what no client may send in a
    result becomes text, an empty list an empty text.
    """
    client = target.client
    parts = (_adapt_result_part(p, client, is_read_back=is_read_back) for p in message.parts)
    return tuple(map(_without_cache_mark, parts) if client.startswith("openai") else parts)


def aside(message: Message, target: TargetModel, *, is_read_back: bool = False) -> list[Part]:
    """List the media of a tool's result that are sent in a message of the user after all results.

    Those are all media if the provider takes only text in results (OpenAI Chat). Media that
    `recall` read back are sent there, too, by each client that is not confirmed to take media in
    results, and so is a block of an unknown type: a message of the user was its first place.

    Args:
        message: The result.
        target: The model, with its client.
        is_read_back: Whether it is a result of `recall`.
    """
    client = target.client
    return [
        adapt_media(part, client)
        for part in message.parts
        if isinstance(part, Media) and _is_sent_below(part, client, is_read_back=is_read_back)
    ]


def _without_cache_mark(part: Part) -> Part:
    if not isinstance(part, Text) or "cache_control" not in part.extra:
        return part
    fields = unpack(part.extra, WIRE)
    fields.pop("cache_control", None)
    return Text(part.text, pack(WIRE, fields))


_WIRE = LangChainWire()


def read_state(messages: Sequence[BaseMessage]) -> list[Message]:
    """Parse the messages of a state; each keeps the object it came from."""
    return [*map(parse_message, messages)]


def parse_message(source: BaseMessage) -> Message:
    """Parse one message of a state."""
    is_injected = source.additional_kwargs.get("lc_source")
    message = read_message(source, -1, WIRE, [], "injected" if is_injected else "said")
    is_unknown = message.kind == "injected" and not is_injected
    return replace(message, kind="said") if is_unknown else message


def is_text_only(message: AIMessage) -> bool:
    """Return whether an answer has no content but text and tool calls: no signed reasoning."""
    return isinstance(message.content, str) and not message.additional_kwargs


@dataclass(frozen=True, slots=True)
class ParsedMessages:
    """The messages of a state, and the messages parsed from them."""

    sources: Sequence[BaseMessage] = ()
    messages: list[Message] = field(default_factory=list)

    def of(self, sources: Sequence[BaseMessage]) -> "ParsedMessages":
        """Convert the messages of a later state; those in both are not converted again.

        Between two steps of a run they are the same objects. Between runs a checkpointer creates
        new ones, and comparing them takes a twentieth of the time of converting them.
        """
        unchanged = common_prefix(self.sources, sources)
        unchanged += _equal_prefix(self.sources[unchanged:], sources[unchanged:])
        rest = zip(self.sources[unchanged:], self.messages[unchanged:], strict=True)
        known_by_id = {source.id: (source, message) for source, message in rest}
        parsed = self.messages[:unchanged]
        for source in sources[unchanged:]:
            known, message = known_by_id.get(source.id, (None, None))
            parsed.append(message if message and is_equal(known, source) else parse_message(source))
        return ParsedMessages(sources, parsed)


def common_prefix(old: Sequence[object], new: Sequence[object]) -> int:
    """Count the leading objects that are the same in both."""
    return next(compress(count(), map(is_not, old, new)), min(len(old), len(new)))


def _equal_prefix(old: Sequence[BaseMessage], new: Sequence[BaseMessage]) -> int:
    differences = map(
        or_, map(ne, map(vars, old), map(vars, new)), map(is_not, map(type, old), map(type, new))
    )
    return next(compress(count(), differences), min(len(old), len(new)))


def is_equal(one: BaseMessage | None, other: BaseMessage | None) -> bool:
    """Compare messages by their fields, as pydantic does, without its checks of the model."""
    return one is other or (type(one) is type(other) and vars(one) == vars(other))


@dataclass(frozen=True, slots=True)
class WrittenMessage:
    """A message as a view sends it."""

    message: AnyMessage
    position: int
    """The position of its source in the log; -1 if it has none."""
    tokens: int = 0
    parsed: Message | None = None
    """The message that the object was parsed to; `None` if it was built, and is not parsed yet."""


@dataclass(frozen=True, slots=True)
class _SentItem:
    item: WindowItem
    is_own: bool
    """Whether the target model itself wrote it."""
    thinks: bool
    stays: bool
    """Whether it is a system message among the others: one that keeps its role, or the summary."""
    written: tuple[WrittenMessage, ...]
    aside: tuple[Part, ...]


_ITEM, _WRITTEN, _ASIDE = attrgetter("item"), attrgetter("written"), attrgetter("aside")
_STARTS = frozenset({"user", "system"})
"""Roles of the messages that begin an exchange."""


@dataclass(slots=True)
class MessageWriter:
    """The items of a view as LangChain's messages; what did not change is not built again."""

    recall: str = RECALL
    """The name of the tool in references; empty if they are notes."""
    requested_model: Callable[[int, Message], str] = lambda _, __: ""
    """Returns the model that was asked for an answer at a position; empty if it is unknown."""
    lacks_thinking: bool = False
    """Whether the newest loop begins without reasoning of the listener."""
    written: list[WrittenMessage] = field(default_factory=list)
    """The messages last written. One after results that may not hold their content has the position
    of the first result."""
    _summary_role: Role = "user"
    _target: TargetModel = field(default_factory=TargetModel)
    _rows: list[_SentItem] = field(default_factory=list)
    _kept_roles: frozenset[int] = frozenset()

    def speak_to(
        self, target: TargetModel, recall: str = RECALL, summary_role: Role = "user"
    ) -> None:
        """Set the target model of the messages written from now on, and how references name a tool.

        Args:
            target: The target model.
            recall: The name of the tool that reads references; empty if the request has none.
            summary_role: The role of the structured summary.
        """
        self._summary_role = summary_role
        if (target, recall) != (self._target, self.recall):
            self._target, self.recall, self._rows = target, recall, []

    def write(self, items: Sequence[WindowItem], edited: Container[int] = ()) -> list[AnyMessage]:
        """Write a view; two answers in a row are written as they are.

        Args:
            items: The view.
            edited: Positions of messages that are shown in another form, which has references.
        """
        items = without_prompts(items)
        items, kept_roles = (
            _place_system_messages(items)
            if self._target.takes_system
            else (items, frozenset[int]())
        )
        if self._summary_role == "system":
            kept_roles |= {k for k, item in enumerate(items) if item.section == "summary"}
        old_items = [*map(_ITEM, self._rows)] if kept_roles == self._kept_roles else []
        self._kept_roles = kept_roles
        first = max(0, common_prefix(old_items, items) - 1)
        while first and items[first].message.role not in _STARTS:
            first -= 1
        rows = self._rows[:first]
        starts = [k for k in range(first, len(items)) if items[k].message.role in _STARTS]
        for start, end in pairwise([first, *starts, len(items)]):
            if start == end:  # the items begin with one of these, or there are none
                continue
            own_flags = [self._owns(index, items[index]) for index in range(start, end)]
            sends_reasoning = all(own_flags)
            rows += [
                self._row(
                    index,
                    items[index],
                    edited,
                    is_own=is_own_item,
                    sends_reasoning=sends_reasoning,
                    stays=index in kept_roles,
                )
                for index, is_own_item in zip(range(start, end), own_flags, strict=True)
            ]
            answer = next(
                (item for item in items[start:end] if item.message.role == "assistant"), None
            )
            self.lacks_thinking = answer is not None and not (
                sends_reasoning and _begins_with_reasoning(answer.message)
            )
        self._rows = rows
        self.written = self._written_messages()
        return [one.message for one in self.written]

    def _owns(self, index: int, item: WindowItem) -> bool:
        if item.message.role != "assistant":
            return True
        old_row = self._rows[index] if index < len(self._rows) else None
        if old_row is not None and old_row.item is item:
            return old_row.is_own
        requested_model = partial(self.requested_model, item.position, item.message)
        return is_own(item.message, self._target, requested_model)

    def _row(
        self,
        index: int,
        item: WindowItem,
        edited: Container[int],
        *,
        is_own: bool,
        sends_reasoning: bool,
        stays: bool,
    ) -> _SentItem:
        old_row = self._rows[index] if index < len(self._rows) else None
        if (
            old_row
            and old_row.item is item
            and (old_row.thinks, old_row.stays) == (sends_reasoning, stays)
        ):
            return old_row
        message, target = item.message, self._target
        if item.section == "summary" or item.position in edited:
            message = message_for_tool(message, self.recall)
        if item.section == "summary" and stays:
            message = replace(message, role="system")
        is_late = message.role == "system" and item.section != "system" and not stays
        if is_late and target.client == "anthropic":
            text = prompt("moved_system").render(text=message.text)
            message = Message("user", (Text(text),), kind="injected", uid=message.uid)
        is_read_back = self._is_read_back(item)
        message = adapt_message(
            message,
            target,
            is_own_answer=is_own,
            sends_reasoning=sends_reasoning,
            is_read_back=is_read_back,
        )
        tokens, origin = item.tokens, message.origin
        media_below: tuple[Part, ...] = ()
        if item.message.role == "tool":
            media_below = tuple(aside(item.message, target, is_read_back=is_read_back))
            tokens -= sum(
                cost_of(one, target.model).tokens for one in media_below if isinstance(one, Media)
            )
            tokens = max(0, tokens)
        written: tuple[WrittenMessage, ...]
        if origin and (origin.wire, origin.share, len(origin.raws)) == (WIRE, (0, 1), 1):
            raw: Any = origin.raws[0]
            written = (WrittenMessage(raw, item.position, tokens, message),)
        else:
            written = tuple(
                WrittenMessage(one, item.position, 0 if index else tokens)
                for index, one in enumerate(_WIRE.write([message]))
            )
        return _SentItem(item, is_own, sends_reasoning, stays, written, media_below)

    def _is_read_back(self, item: WindowItem) -> bool:
        return item.message.role == "tool" and item.message.name in {RECALL, self.recall or RECALL}

    def _written_messages(self) -> list[WrittenMessage]:
        if not any(map(_ASIDE, self._rows)):
            return [*chain.from_iterable(map(_WRITTEN, self._rows))]
        written: list[WrittenMessage] = []
        below: list[Part] = []
        position, tokens = -1, 0
        for row in self._rows:
            if below and row.item.message.role != "tool":
                written.append(WrittenMessage(_media_message(below), position, tokens))
                below, tokens = [], 0
            written += row.written
            if row.aside:
                if not below:  # what was read back has its reference already
                    position = -1 if self._is_read_back(row.item) else row.item.position
                below += row.aside
                tokens += row.item.tokens - row.written[0].tokens if row.written else 0
        if below:
            written.append(WrittenMessage(_media_message(below), position, tokens))
        return written


def _place_system_messages(
    items: Sequence[WindowItem],
) -> tuple[Sequence[WindowItem], frozenset[int]]:
    """Move system messages where Anthropic accepts them: between the user's turn and the model's.

    Returns:
        The items, and the indices of the system messages that keep their role: those at a valid
        place, one at each. Source: platform.claude.com, "Mid-conversation system messages", read
        2026-11-23.
    """
    placed: list[WindowItem] = []
    waiting: list[WindowItem] = []
    kept_roles: set[int] = set()

    def settle() -> None:
        placed.extend(waiting)
        preceding_role = (
            placed[-len(waiting) - 1].message.role if len(placed) > len(waiting) else ""
        )
        if waiting and preceding_role in {"user", "tool"}:
            kept_roles.add(len(placed) - 1)
        waiting.clear()

    for item in items:
        if item.message.role == "system" and item.section != "system":
            waiting.append(item)
            continue
        if item.message.role not in {"user", "tool"}:
            settle()
        placed.append(item)
    settle()
    return placed, frozenset(kept_roles)


def _begins_with_reasoning(message: Message) -> bool:
    first = next(filterfalse(is_compaction, message.parts), None)
    return isinstance(first, Thinking)


def _media_message(media: Sequence[Part]) -> AnyMessage:
    heading = Text(prompt("media_behind").text)
    message: AnyMessage = _WIRE.write([Message("user", (heading, *media), kind="injected")])[0]
    return message


def merge_changes(
    state: Sequence[AnyMessage], request: Sequence[AnyMessage], view: Sequence[AnyMessage]
) -> list[AnyMessage]:
    """Apply to a view the changes made to the state's messages on their way to us.

    Args:
        state: The messages of the state.
        request: The messages after those changes.
        view: The messages that we send in their place.
    """
    if len(state) == len(request) and all(map(is_, state, request)):
        return list(view)
    state_by_id: dict[str | None, AnyMessage] = {m.id: m for m in state if m.id}
    merged = _drop_removed(_apply_rewrites(view, request, state_by_id), request, state_by_id)
    merged, added = _fill_placeholders(
        merged, _added_by_neighbour(request, state_by_id), state_by_id
    )
    if not added:
        return merged
    placed = _insert_added(merged, added)
    if _is_worse(placed, merged):  # parts calls from their results
        added_first = added.pop(None, [])
        placed = [
            *added_first,
            *merged,
            *(message for added_messages in added.values() for message in added_messages),
        ]
    return placed


def _apply_rewrites(
    view: Sequence[AnyMessage],
    request: Sequence[AnyMessage],
    state_by_id: Mapping[str | None, AnyMessage],
) -> list[AnyMessage]:
    changed = {m.id: m for m in request if m.id in state_by_id and m != state_by_id[m.id]}
    rewritten = [changed[m.id] if m.id in changed and m == state_by_id[m.id] else m for m in view]
    return list(view) if changed and _is_worse(rewritten, view) else rewritten


def _drop_removed(
    view: Sequence[AnyMessage],
    request: Sequence[AnyMessage],
    state_by_id: Mapping[str | None, AnyMessage],
) -> list[AnyMessage]:
    removed_ids = state_by_id.keys() - {message.id for message in request}
    if not removed_ids:
        return list(view)
    remaining = [message for message in view if message.id not in removed_ids]
    return remaining if remaining and not _is_worse(remaining, view) else list(view)


def _added_by_neighbour(
    request: Sequence[AnyMessage], state_by_id: Mapping[str | None, AnyMessage]
) -> dict[str | None, list[AnyMessage]]:
    """Return the added messages, by the id of the state's message that precedes them."""
    added: dict[str | None, list[AnyMessage]] = {}
    preceding_id: str | None = None
    for message in request:
        if message.id in state_by_id:
            preceding_id = message.id
        else:
            added.setdefault(preceding_id, []).append(message)
    last_id = next((m.id for m in reversed(request) if m.id in state_by_id), None)
    if last_id is not None and last_id in added:
        added[_AT_END] = added.pop(last_id)
    return added


def _fill_placeholders(
    view: Sequence[AnyMessage],
    added: Mapping[str | None, list[AnyMessage]],
    state_by_id: Mapping[str | None, AnyMessage],
) -> tuple[list[AnyMessage], dict[str | None, list[AnyMessage]]]:
    """Put added results in the place of the placeholders for calls without a result.

    LangChain adds the results of calls whose arguments are not JSON.

    Returns:
        The view, and the other added messages.
    """
    tools = [m for messages in added.values() for m in messages if m.type == "tool"]
    answered, placed = list(view), set[int]()
    results: dict[str | None, AnyMessage] = {}
    for k, message in enumerate(view if tools else ()):
        if message.type == "ai" and message.id in state_by_id:
            recorded, shown = (read_state([m])[0].calls for m in (state_by_id[message.id], message))
            ids = {
                call.id: shown_call.id for call, shown_call in zip(recorded, shown, strict=False)
            }
            unplaced = [m for m in reversed(tools) if id(m) not in placed]
            results = {ids.get(m.tool_call_id, m.tool_call_id): m for m in unplaced}
        if (result := results.pop(_placeholder_call_id(message), None)) is not None:
            answered[k] = result.model_copy(update={"tool_call_id": _placeholder_call_id(message)})
            placed.add(id(result))
    rest = {key: [m for m in messages if id(m) not in placed] for key, messages in added.items()}
    return answered, {key: messages for key, messages in rest.items() if messages}


def _placeholder_call_id(message: AnyMessage) -> str | None:
    """Return the id of the call for which a message is a placeholder; `None` if it is none."""
    is_placeholder = message.id is None and message.content == NO_RESULT
    return message.tool_call_id if message.type == "tool" and is_placeholder else None


_AT_END = ""
"""Key of the view's last message: content added at the end remains there."""


def _insert_added(
    view: Sequence[AnyMessage], added: Mapping[str | None, list[AnyMessage]]
) -> list[AnyMessage]:
    shown = {message.id for message in view if message.id}
    placed = list(added.get(None, ()))
    for preceding_id, messages in added.items():
        # Their neighbours are folded: they come after what precedes all messages.
        if preceding_id not in {None, _AT_END} and preceding_id not in shown:
            placed += messages
    for message in view:
        placed.append(message)
        if message.id:
            placed += added.get(message.id, ())
    return [*placed, *added.get(_AT_END, ())]


def _is_worse(messages: Sequence[AnyMessage], other: Sequence[AnyMessage]) -> bool:
    """Return whether one request breaks rules that another keeps."""
    return len(check(read_state(messages))) > len(check(read_state(other)))
