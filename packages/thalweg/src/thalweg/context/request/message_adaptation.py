"""Message adaptation: messages of another model in a form that the target model's client accepts.

LangChain's clients pass most of a message on unchanged. One provider's private content (signed
reasoning, ids of stored items, special blocks) is refused by another one, and by another model of
the same provider. Text and calls are kept, and the reasoning is removed by whole loops (I5).

The media of a tool's result are sent in the place and in the form that the client supports. Some
clients take images and documents inside a result, others only in a message of the user; each
supports its own provider's blocks and LangChain's standard ones, and passes on, drops or refuses
the others. Tried with langchain-anthropic 1.7.10, langchain-openai 1.7.4 and langchain-google-genai
4.4.0, 2026-11-28.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, assert_never

from langchain.agents.middleware.types import ModelRequest
from langchain_core.language_models import BaseChatModel

from thalweg.context.request.checked_model import changed_copy
from thalweg.context.request.model_limits import layers, model_name, once_per_model
from thalweg.engine.entries import Media, Message, Opaque, Part, Text, Thinking, ToolCall
from thalweg.engine.media.labels import media_label
from thalweg.engine.prompts import prompt
from thalweg.engine.undocumented import uses_responses_api
from thalweg.engine.window.binding import ReasoningBinding
from thalweg.engine.window.items import NO_WORDS, has_compaction
from thalweg.engine.wires.fields import is_from_wire, opaque_value, pack, unpack
from thalweg.engine.wires.langchain_content import WIRE
from thalweg.engine.wires.rules import accepts_late_system

Client = Literal["anthropic", "openai-chat", "openai-responses", "gemini", "other"]
"""LangChain's client that sends a request."""
_UNSUPPORTED_TYPES: Mapping[str, frozenset[str]] = {
    "anthropic": frozenset({"input_image", "input_file", "media", "video_url", "audio_url"}),
    "openai-chat": frozenset({"document", "media", "input_image", "input_file"}),
    "openai-responses": frozenset({"document", "media", "video_url", "audio_url"}),
    "gemini": frozenset({"document", "input_image", "input_file", "video_url", "audio_url"}),
}
"""Types of blocks that a client does not convert for its provider."""
_REQUESTED_MODEL, _BOND = "thalweg_model", "thalweg_bond"
"""Keys in the metadata of answers until November 2026: the requested model, and what signed
reasoning is bound to. The journal has both now (`AnswerLog`)."""
_LATE_SYSTEM_KEY = "mid_conversation_system_messages"
"""Its key in LangChain's profiles."""


def adapt_media(media: Media, client: Client, *, in_result: bool = False) -> Media:
    """Return media as a block that a client sends; the same object if it does already.

    Args:
        media: An image, a document, a sound or a film.
        client: The client.
        in_result: Whether the block is in a tool's result.
    """
    shell = unpack(media.extra, WIRE).get("shell")
    if not isinstance(shell, dict) or not (media.data or media.url) or _is_untyped(media):
        return media
    kind = shell.get("type")
    is_foreign = kind in _UNSUPPORTED_TYPES.get(client, ())
    if client == "gemini":  # in a result, its own form is a text to it, and so is Anthropic's
        is_foreign = is_foreign or "source" in shell or (in_result and kind in {"media", None})
    return _standard(media, shell) if is_foreign else media


def _standard(media: Media, shell: Mapping[str, Any]) -> Media:
    """Return media as LangChain's own block, which every client converts."""
    kind = media.mime.partition("/")[0]
    block: dict[str, Any] = {"type": kind if kind in {"image", "audio", "video"} else "file"}
    if media.data:
        block["mime_type"] = media.mime
    if block["type"] == "file":  # which OpenAI demands a name of
        name = shell.get("filename") or shell.get("title")
        has_name = isinstance(name, str) and bool(name)
        block["filename"] = name if has_name else f"file.{media.mime.rpartition('/')[2]}"
    place = ["base64" if media.data else "url"]
    return Media(media.mime, media.data, media.url, pack(WIRE, {"shell": block, "place": place}))


def media_below_result(message: Message, client: Client, *, is_read_back: bool) -> list[Media]:
    """List the media of a tool's result that are sent in a message of the user after all results.

    Those are all media if the provider takes only text in results (OpenAI Chat). Media that
    `recall` read back are sent there, too, by each client that is not confirmed to take media in
    results, and so is a block of an unknown type: a message of the user was its first place.

    Args:
        message: A message; others than results have none.
        client: The client.
        is_read_back: Whether it is a result of `recall`.
    """
    parts = message.parts if message.role == "tool" else ()
    media = [part for part in parts if isinstance(part, Media)]
    return [item for item in media if _is_sent_below(item, client, is_read_back=is_read_back)]


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


def result_parts(message: Message, client: Client, *, is_read_back: bool) -> tuple[Part, ...]:
    """Return the parts of a tool's result as a client may send them in a result.

    Media that are sent below are replaced by a line that states this.
    """
    return tuple(
        _adapt_result_part(part, client, is_read_back=is_read_back) for part in message.parts
    )


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


def target_model_of(request: ModelRequest[Any]) -> TargetModel:
    """Return the target model of a request."""
    model = request.model
    stores = request.model_settings.get("store", _read_setting(model, "store")) is not False
    client, profile = _client(request), _read_setting(model, "profile")
    has_late_system = isinstance(profile, Mapping) and profile.get(_LATE_SYSTEM_KEY)
    return TargetModel(
        model_name(model), client, stores, client == "anthropic" and has_late_system is True
    )


def _client(request: ModelRequest[Any]) -> Client:
    for layer in layers(request.model):
        names = {kind.__name__ for kind in type(layer).__mro__}
        if "ChatAnthropic" in names:
            return "anthropic"
        if "BaseChatOpenAI" in names:
            settings = {**request.model_settings, "tools": []}
            return "openai-responses" if uses_responses_api(layer, settings) else "openai-chat"
        if "ChatGoogleGenerativeAI" in names:
            return "gemini"
    return "other"


def _read_setting(model: BaseChatModel, name: str) -> object:
    for layer in layers(model):
        value = layer.get(name) if isinstance(layer, Mapping) else getattr(layer, name, None)
        if value is not None:
            return value
    return None


def with_late_system(request: ModelRequest[Any]) -> ModelRequest[Any]:
    """Let Anthropic's client send late system messages in place if its profile lacks this.

    The client decides by its profile of the model, which a model newer than the client lacks.
    """
    model = _with_late_system(request.model)
    return request if model is None else request.override(model=model)


@once_per_model
def _with_late_system(model: BaseChatModel) -> BaseChatModel | None:
    """Copy a client whose profile lacks what our table has; `None` for every other one."""
    class_names = {kind.__name__ for kind in type(model).__mro__}
    if "ChatAnthropic" not in class_names or not accepts_late_system(model_name(model)):
        return None
    profile = getattr(model, "profile", None) or {}
    if _LATE_SYSTEM_KEY in profile:
        return None
    return changed_copy(model, profile={**profile, _LATE_SYSTEM_KEY: True})


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
            parts = tuple(_without_cache_mark(part) for part in message.parts)
            parts = parts if target.client.startswith("openai") else message.parts
        case _:
            assert_never(message.role)
    if parts is message.parts or (
        parts == message.parts and not _has_foreign_fields(message, is_own_answer=is_own_answer)
    ):
        return message
    if message.role != "assistant" or is_own_answer:
        return replace(message, parts=parts, origin=None)
    uid = "" if message.uid.startswith("msg_") else message.uid
    return replace(message, parts=parts, origin=None, extra="", uid=uid)


def _has_foreign_fields(message: Message, *, is_own_answer: bool) -> bool:
    """Return whether another model's message has provider's fields in addition to its content."""
    return (
        message.role == "assistant" and not is_own_answer and "additional_kwargs" in message.extra
    )


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
    """Make what no client may send in a result into text; an empty list into an empty text."""
    parts = result_parts(message, target.client, is_read_back=is_read_back)
    return tuple(map(_without_cache_mark, parts)) if target.client.startswith("openai") else parts


def aside(message: Message, target: TargetModel, *, is_read_back: bool = False) -> list[Media]:
    """List media that the target's client may not send in a result: they follow all results."""
    below = media_below_result(message, target.client, is_read_back=is_read_back)
    return [adapt_media(media, target.client) for media in below]


def _without_cache_mark(part: Part) -> Part:
    if not isinstance(part, Text) or "cache_control" not in part.extra:
        return part
    fields = unpack(part.extra, WIRE)
    fields.pop("cache_control", None)
    return Text(part.text, pack(WIRE, fields))
