"""The place and the form in which the media of a tool's result are sent.

Some clients take images and documents inside a result, others only in a message of the user; each
supports its own provider's blocks and LangChain's standard ones, and passes on, drops or refuses
the others. Tried with langchain-anthropic 1.7.10, langchain-openai 1.7.4 and langchain-google-genai
4.4.0, 2026-11-28.
"""

from collections.abc import Mapping
from typing import Any, Literal

from thalweg.engine.entries import Media, Message, Opaque, Part, Text
from thalweg.engine.media.labels import media_label
from thalweg.engine.prompts import prompt
from thalweg.engine.wires.fields import pack, unpack
from thalweg.engine.wires.langchain_content import WIRE

Client = Literal["anthropic", "openai-chat", "openai-responses", "gemini", "other"]
"""LangChain's client that sends a request."""
_UNKNOWN: Mapping[str, frozenset[str]] = {
    "anthropic": frozenset({"input_image", "input_file", "media", "video_url", "audio_url"}),
    "openai-chat": frozenset({"document", "media", "input_image", "input_file"}),
    "openai-responses": frozenset({"document", "media", "video_url", "audio_url"}),
    "gemini": frozenset({"document", "input_image", "input_file", "video_url", "audio_url"}),
}
"""Types of blocks that a client does not convert for its provider."""


def in_form_of(media: Media, client: Client, *, in_result: bool = False) -> Media:
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
    is_foreign = kind in _UNKNOWN.get(client, ())
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
        named = isinstance(name, str) and bool(name)
        block["filename"] = name if named else f"file.{media.mime.rpartition('/')[2]}"
    place = ["base64" if media.data else "url"]
    return Media(media.mime, media.data, media.url, pack(WIRE, {"shell": block, "place": place}))


def below_result(message: Message, client: Client, *, read_back: bool) -> list[Media]:
    """List the media of a tool's result that are sent in a message of the user after all results.

    Those are all media if the provider takes only text in results (OpenAI Chat). Media that
    `recall` read back are sent there, too, by each client that is not confirmed to take media in
    results, and so is a block of an unknown type: a message of the user was its first place.

    Args:
        message: A message; others than results have none.
        client: The client.
        read_back: Whether it is a result of `recall`.
    """
    parts = message.parts if message.role == "tool" else ()
    media = [part for part in parts if isinstance(part, Media)]
    return [one for one in media if _goes_below(one, client, read_back=read_back)]


def _goes_below(media: Media, client: Client, *, read_back: bool) -> bool:
    match client:
        case "openai-chat":
            return True
        case "other":
            return read_back
        case "anthropic":
            return read_back and _is_untyped(media)
        case _:
            return False


def result_parts(message: Message, client: Client, *, read_back: bool) -> tuple[Part, ...]:
    """Return the parts of a tool's result as a client may send them in a result.

    Media that are sent below are replaced by a line that states this.
    """
    return tuple(_in_result(part, client, read_back=read_back) for part in message.parts)


def _in_result(part: Part, client: Client, *, read_back: bool) -> Part:
    if isinstance(part, Media):
        if _goes_below(part, client, read_back=read_back):
            what = part.mime.partition("/")[0] or "media"
            return Text(prompt("media_below").render(what=what))
        if _is_untyped(part) and client in {"openai-responses", "gemini"}:  # else sent as text
            return Text(prompt("media_not_accepted").render(what=media_label(part)))
        return in_form_of(part, client, in_result=True)
    if isinstance(part, Opaque) and client not in {"gemini", "other"}:
        return Text(part.json)
    return part


def _is_untyped(media: Media) -> bool:
    return not media.mime and '"untyped"' in media.extra
