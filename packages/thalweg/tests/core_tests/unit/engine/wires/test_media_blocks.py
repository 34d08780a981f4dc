"""Every native form of media is media, and is sent back as it came."""

import base64
import json
import random
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from thalweg.engine.entries import (
    Media,
    Message,
    Opaque,
    Part,
    Text,
    message_from_json,
    message_to_json,
)
from thalweg.engine.wires.anthropic import AnthropicReader
from thalweg.engine.wires.base import Wire, WireReader
from thalweg.engine.wires.fields import is_private
from thalweg.engine.wires.gemini import GeminiReader
from thalweg.engine.wires.langchain import LangChainWire
from thalweg.engine.wires.media_blocks import MIN_BASE64_CHARS
from thalweg.engine.wires.openai_chat import OpenAIChatWire
from thalweg.engine.wires.openai_responses import OpenAIResponsesWire

DATA = base64.b64encode(random.Random(7).randbytes(3_000)).decode()  # noqa: S311 (content)
PDF = f"data:application/pdf;base64,{DATA}"
PNG = f"data:image/png;base64,{DATA}"

BLOCKS: dict[str, tuple[dict[str, Any], str]] = {
    "image_url": ({"type": "image_url", "image_url": {"url": PNG, "detail": "low"}}, "image/png"),
    "image_url as text": ({"type": "image_url", "image_url": PNG}, "image/png"),
    "input_image": ({"type": "input_image", "image_url": PNG, "detail": "low"}, "image/png"),
    "input_image by id": ({"type": "input_image", "file_id": "file-1"}, "image/*"),
    "input_file": (
        {"type": "input_file", "filename": "a.pdf", "file_data": PDF},
        "application/pdf",
    ),
    "input_file by URL": (
        {"type": "input_file", "file_url": "https://e.org/a.pdf"},
        "application/octet-stream",
    ),
    "input_file by id": ({"type": "input_file", "file_id": "f"}, "application/octet-stream"),
    "input_audio": (
        {"type": "input_audio", "input_audio": {"data": DATA, "format": "mp3"}},
        "audio/mp3",
    ),
    "file of Chat": (
        {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}},
        "application/pdf",
    ),
    "file of Chat by id": ({"type": "file", "file": {"file_id": "f"}}, "application/octet-stream"),
    "video_url": ({"type": "video_url", "video_url": {"url": "https://e.org/v.mp4"}}, "video/*"),
    "video_url by value": (
        {"type": "video_url", "video_url": {"url": f"data:video/mp4;base64,{DATA}"}},
        "video/mp4",
    ),
    "audio_url": ({"type": "audio_url", "audio_url": {"url": "https://e.org/a.wav"}}, "audio/*"),
    "image of Anthropic": (
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": DATA},
            "cache_control": {"type": "ephemeral"},
        },
        "image/png",
    ),
    "document": (
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": DATA},
            "title": "T",
            "citations": {"enabled": True},
        },
        "application/pdf",
    ),
    "document by URL": (
        {"type": "document", "source": {"type": "url", "url": "https://e.org/a.pdf"}},
        "application/pdf",
    ),
    "document by id": (
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        "application/pdf",
    ),
    "media": ({"type": "media", "mime_type": "audio/wav", "data": DATA}, "audio/wav"),
    "media by URI": (
        {"type": "media", "mime_type": "video/mp4", "file_uri": "https://e.org/v"},
        "video/mp4",
    ),
    "inline_data": ({"inline_data": {"mime_type": "image/png", "data": DATA}}, "image/png"),
    "fileData": ({"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/v"}}, "video/mp4"),
    "image of version 1": (
        {"type": "image", "base64": DATA, "mime_type": "image/png", "id": "lc_1"},
        "image/png",
    ),
    "image of version 1 by id": ({"type": "image", "file_id": "file-1"}, "image/*"),
    "file of version 1": (
        {"type": "file", "base64": DATA, "mime_type": "application/pdf", "extras": {"a": 1}},
        "application/pdf",
    ),
    "audio of version 1": (
        {"type": "audio", "base64": DATA, "mime_type": "audio/wav"},
        "audio/wav",
    ),
    "video of version 1": (
        {"type": "video", "base64": DATA, "mime_type": "video/mp4"},
        "video/mp4",
    ),
    "image of version 0": (
        {"type": "image", "source_type": "base64", "data": DATA, "mime_type": "image/png"},
        "image/png",
    ),
    "image of version 0 by URL": (
        {"type": "image", "source_type": "url", "url": "https://e.org/a.png"},
        "image/*",
    ),
    "file of version 0 by id": (
        {"type": "file", "source_type": "id", "id": "file-1", "mime_type": "application/pdf"},
        "application/pdf",
    ),
}
TEXTS: dict[str, dict[str, Any]] = {
    "document of text": {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "plain words " * 200},
    },
    "text-plain": {"type": "text-plain", "text": "plain words " * 200},
    "file of text": {"type": "file", "source_type": "text", "text": "plain words " * 200},
    "search_result": {"type": "search_result", "source": "https://e.org", "title": "t"},
}


def content(wire: Wire, message: Message) -> Any:  # noqa: ANN401 (JSON)
    """Write a message from its parts alone, as it is read back from an archive."""
    (written,) = wire.write([message_from_json(message_to_json(message))])
    return written.content if hasattr(written, "content") else written


@pytest.mark.parametrize(("block", "mime"), BLOCKS.values(), ids=BLOCKS)
@pytest.mark.parametrize("role", ["user", "tool"])
def test_a_native_block_is_media_and_returns_as_it_came(
    block: dict[str, Any], mime: str, role: str
) -> None:
    words = {"type": "text", "text": "look"}
    given: list[Any] = [words, deepcopy(block)]
    source = HumanMessage(given) if role == "user" else ToolMessage(given, tool_call_id="c1")
    (message,), notes = LangChainWire().read([source])
    _, part = message.parts

    assert isinstance(part, Media)
    assert part.mime == mime
    assert notes == []
    assert content(LangChainWire(), message) == [words, block]
    assert json.dumps(content(LangChainWire(), message)) == json.dumps([words, block])


@pytest.mark.parametrize("block", TEXTS.values(), ids=TEXTS)
def test_a_block_of_text_is_no_media(block: dict[str, Any]) -> None:
    (message,), _ = LangChainWire().read([HumanMessage([deepcopy(block)])])

    assert not any(isinstance(part, Media) for part in message.parts)
    assert content(LangChainWire(), message) == [block]


UNKNOWN = [
    {"type": "hologram", "data": DATA, "depth": 3},
    {"type": "hologram", "layers": [{"n": 1, "b64": "AAAA"}, {"n": 2, "b64": DATA}]},
    {"hologram": {"source": {"bytes": PNG}}},
    {"type": "scan", "lines": base64.encodebytes(DATA.encode()).decode()},
]
"""Blocks that no wire recognizes."""


def read_in(wire: WireReader, block: dict[str, Any], role: str) -> tuple[Message, Part]:
    """Read a block as the content of a message."""
    items: dict[str, Any] = {
        "openai-chat": {"role": role, "content": [block]},
        "openai-responses": {"type": "message", "role": role, "content": [block]},
        "anthropic": {"role": role, "content": [block]},
        "gemini": {"role": "model" if role == "assistant" else role, "parts": [block]},
        "langchain": (AIMessage if role == "assistant" else HumanMessage)([block]),
    }
    (message,), _ = wire.read([items[wire.name]])
    return message, message.parts[0]


WIRES: list[Wire] = [OpenAIChatWire(), OpenAIResponsesWire(), LangChainWire()]
READERS: list[WireReader] = [*WIRES, AnthropicReader(), GeminiReader()]


@pytest.mark.parametrize("block", UNKNOWN)
@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
def test_an_unknown_block_with_long_base64_is_media_of_unknown_type(
    wire: Wire, block: dict[str, Any]
) -> None:
    message, part = read_in(wire, deepcopy(block), "user")

    assert isinstance(part, Media)
    assert part.mime == ""
    assert len(part.data) >= MIN_BASE64_CHARS
    assert part.data not in part.extra
    assert json.dumps(block) in json.dumps(content(wire, message))
    for other in READERS:
        assert is_private(part, other.name) == (other is not wire)


RAW = base64.b64decode(DATA)


@pytest.mark.parametrize(
    ("block", "mime"),
    [
        ({"type": "media", "mime_type": "audio/wav", "data": RAW}, "audio/wav"),
        ({"document": {"format": "pdf", "name": "a", "source": {"bytes": RAW}}}, ""),
    ],
)
def test_bytes_are_media_in_base64_and_return_as_bytes(block: dict[str, Any], mime: str) -> None:
    """Gemini's client takes them, and Bedrock's Converse nothing else."""
    message, part = read_in(LangChainWire(), deepcopy(block), "user")

    assert isinstance(part, Media)
    assert (part.mime, part.data) == (mime, DATA)
    assert content(LangChainWire(), message) == [block]


@pytest.mark.parametrize("block", UNKNOWN)
@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
def test_an_unknown_block_of_the_model_is_carried(wire: Wire, block: dict[str, Any]) -> None:
    """Encrypted reasoning, search results and compactions are long base64, too."""
    message, part = read_in(wire, deepcopy(block), "assistant")

    assert isinstance(part, Opaque)
    assert json.dumps(block) in json.dumps(content(wire, message))


@pytest.mark.parametrize("wire", READERS, ids=lambda wire: wire.name)
def test_an_unknown_block_of_words_is_no_media(wire: WireReader) -> None:
    words = {"type": "poem", "lines": "river stone valley " * 500, "key": "A" * 100}
    _, part = read_in(wire, words, "user")

    assert isinstance(part, Opaque)


@pytest.mark.parametrize("block", [*UNKNOWN, BLOCKS["document by id"][0]])
@pytest.mark.parametrize("home", READERS, ids=lambda wire: wire.name)
@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
def test_what_only_one_wire_can_send_is_not_sent_by_others(
    wire: Wire, home: WireReader, block: dict[str, Any]
) -> None:
    message, part = read_in(home, deepcopy(block), "user")
    shown = Message("user", (Text("look"), part))
    written = json.dumps(content(wire, shown))

    assert "look" in written
    if isinstance(part, Media):
        held = json.dumps(part.data)[1:-1] or "file_1"
        assert (held in written) == (not is_private(part, wire.name))
    assert message.parts == (part,)


@given(
    kind=st.sampled_from(["video_url", "audio_url", "image_url"]),
    mime=st.sampled_from(["video/mp4", "audio/wav;rate=8000", "image/png", ""]),
    data=st.binary(min_size=1, max_size=90),
)
def test_a_data_url_returns_to_the_byte(kind: str, mime: str, data: bytes) -> None:
    url = f"data:{mime};base64,{base64.b64encode(data).decode()}"
    block = {"type": kind, kind: {"url": url}}
    wires: list[Wire] = [LangChainWire()]
    if kind != "image_url":
        wires.append(OpenAIChatWire())
    for wire in wires:
        message, part = read_in(wire, deepcopy(block), "user")
        assert isinstance(part, Media)
        assert json.dumps(block) in json.dumps(content(wire, message))
