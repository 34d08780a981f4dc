"""Logs of inspect_ai (Inspect): a JSON document, or a zip file of samples (`.eval`).

A sample is a session: one attempt at a task, with its messages in OpenAI's form. Fields are those
of `inspect_ai.log.EvalLog` and `EvalSample`, version 0.3.285.
"""

import json
import struct
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo

from zstandard import ZstdDecompressor, ZstdError

from thalweg.engine.pricing.usage import Usage
from thalweg.engine.wires.fields import as_usage
from thalweg.engine.wires.openai_chat import OpenAIChatWire
from thalweg.errors import RecordingError
from thalweg_recorder.recordings.base import Recording, SessionInfo
from thalweg_recorder.recordings.formats.openai_chat_log import is_chat_message
from thalweg_recorder.recordings.rows import (
    LogFormat,
    Recorded,
    SessionRows,
    as_object,
    as_objects,
    as_str,
    as_text,
    chat_call,
)
from thalweg_recorder.recordings.source import JsonObject, RecordedFile
from thalweg_recorder.recordings.times import iso_time

NAME = "inspect"

_ZIP = b"PK\x03\x04"
_ZIP_ZSTANDARD, _NAME_LENGTH_AT, _LOCAL_HEADER = 93, 26, 30
"""Compression method, and offsets in a local file header (PKWARE's APPNOTE 6.3, 4.3.7, 4.4.5)."""


def detect(source: RecordedFile) -> bool:
    """Return whether the document lists samples with messages."""
    return bool(_samples(source.document))


def split(source: RecordedFile) -> Iterator[tuple[str, JsonObject]]:
    """Yield each sample as a log of its own, by its id and epoch."""
    for sample in _samples(source.document):
        yield (
            f"{sample.get('id')}_epoch_{sample.get('epoch', 1)}",
            {**source.document, "samples": [sample]},
        )


def read(source: RecordedFile) -> Recording:
    """Return the recording of one sample; `Message.line` is the index in its messages."""
    sample = _samples(source.document)[0]
    usages = _usages(sample)
    attachments = as_object(sample.get("attachments"))
    at = iso_time(sample.get("started_at"))
    rows = SessionRows.of(source)
    rows.info = _session(source.document, sample)
    rows.items += [
        Recorded(
            index,
            raw := _written(message, attachments),
            uid=as_str(raw.get("id")),
            at=at,
            is_error=isinstance(message, dict) and bool(message.get("error")),
            usage=usages.get(as_str(raw.get("id"))),
        )
        for index, message in enumerate(sample["messages"])
    ]
    return rows.recording(NAME, OpenAIChatWire().read)


def unpack(path: Path, data: bytes) -> bytes:
    """Return the log that inspect_ai stored as a zip file (`.eval`) as its JSON log.

    A log that is not complete has the header of its start.

    Raises:
        RecordingError: It is another zip file, or compressed in an unknown way.
    """
    if not data.startswith(_ZIP):
        return data
    try:
        with ZipFile(BytesIO(data)) as members:
            named = {info.filename: info for info in members.infolist()}
            header = named.get("header.json") or named["_journal/start.json"]
            log = json.loads(_member(data, members, header))
            log["samples"] = [
                json.loads(_member(data, members, info))
                for name, info in sorted(named.items())
                if name.startswith("samples/")
            ]
    except NotImplementedError as error:
        problem = f"is compressed in a way that Python cannot read ({error})"
        fix = "convert it: inspect log convert --to json --output-dir FOLDER FILE"
        raise RecordingError(str(path), problem, fix) from None
    except (BadZipFile, KeyError, TypeError, ValueError, zlib.error, ZstdError) as error:
        problem = f"is a zip file, but no log of inspect_ai ({error})"
        raise RecordingError(str(path), problem, "pass a recorded thread") from error
    return json.dumps(log).encode()


def _member(data: bytes, members: ZipFile, info: ZipInfo) -> bytes:
    """Return a file of a zip file; Python reads Zstandard, inspect_ai's default, from 3.14 on."""
    if info.compress_type != _ZIP_ZSTANDARD:
        return members.read(info)
    name, extra = struct.unpack_from("<HH", data, info.header_offset + _NAME_LENGTH_AT)
    start = info.header_offset + _LOCAL_HEADER + name + extra
    return ZstdDecompressor().decompressobj().decompress(data[start : start + info.compress_size])


def _samples(document: object) -> list[JsonObject]:
    return [
        sample
        for sample in as_objects(as_object(document).get("samples"))
        if isinstance(sample.get("messages"), list)
        and any(map(is_chat_message, sample["messages"]))
    ]


def _session(log: JsonObject, sample: JsonObject) -> SessionInfo:
    about = as_object(log.get("eval"))
    name = f"{sample.get('id')}, epoch {sample.get('epoch', 1)}"
    task, model = as_str(about.get("task")), as_str(about.get("model"))
    return SessionInfo(
        id=as_str(sample.get("uuid")), title=f"{task}: {name}" if task else "", model=model
    )


def _usages(sample: JsonObject) -> dict[str, Usage | None]:
    """Return the usage of each answer by its id, as the events of model calls state it."""
    found: dict[str, Usage | None] = {}
    for event in as_objects(sample.get("events")):
        output = as_object(event.get("output"))
        if not isinstance(usage := output.get("usage"), dict):
            continue
        cached = {
            "cache_read_input_tokens": usage.get("input_tokens_cache_read"),
            "cache_creation_input_tokens": usage.get("input_tokens_cache_write"),
        }
        for choice in as_objects(output.get("choices")):
            if isinstance(message := choice.get("message"), dict):
                found[as_str(message.get("id"))] = as_usage({**usage, **cached})
    return found


def _written(message: object, attachments: JsonObject) -> JsonObject:
    """Return a message as OpenAI's Chat Completions has it; an odd one as its text."""
    if not isinstance(message, dict):
        return {"role": "user", "content": as_text(message)}
    left_out = {"source", "model", "error", "function", "tool_calls", "content"}
    raw = {key: value for key, value in message.items() if key not in left_out}
    blocks = message.get("content")
    if isinstance(blocks, list):
        thoughts = [b for b in as_objects(blocks) if b.get("type") == "reasoning"]
        if thought := "\n".join(as_str(b.get("reasoning")) for b in thoughts):
            raw["reasoning_content"] = thought
        blocks = [_block(b, attachments) for b in blocks if b not in thoughts]
    raw["content"] = blocks
    if calls := as_objects(message.get("tool_calls")):
        raw["tool_calls"] = [_call(call) for call in calls]
    if name := message.get("function"):
        raw["name"] = name
    return raw


def _block(block: object, attachments: JsonObject) -> object:
    if not isinstance(block, dict) or block.get("type") != "image":
        return block
    url = as_str(block.get("image"))
    stored = attachments.get(url.removeprefix("attachment://"))
    return {"type": "image_url", "image_url": {"url": stored or url}}


def _call(call: JsonObject) -> JsonObject:
    return chat_call(call.get("id"), call.get("function"), as_text(call.get("arguments")))


FORMAT = LogFormat(
    NAME,
    detect,
    read,
    split,
    endings=(".eval",),
    unpack=unpack,
)
