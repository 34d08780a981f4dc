"""The tool that reads a file: text in pages, images and documents as content blocks."""

import asyncio
import mimetypes
from pathlib import PurePosixPath
from typing import Any

from thalweg_agent.backends.file_data import (
    MAX_MEDIA_BYTES,
    create_file_data,
    file_data_to_bytes,
    file_type,
    read_file_type,
)
from thalweg_agent.backends.protocol import FileData, FileDownloadResponse, ReadResult
from thalweg_agent.backends.text import (
    EMPTY_CONTENT_WARNING,
    check_empty_content,
    slice_read_response,
)
from thalweg_agent.prompts import prompt
from thalweg_agent.tools.answers import ToolAnswer, refuse
from thalweg_agent.tools.asking import BackendRequest, Steps, ask
from thalweg_agent.tools.files import FileToolContext
from thalweg_agent.tools.reading import FilePage, from_char, page_of, rendered, within
from thalweg_agent.tools.schemas import DEFAULT_READ_LIMIT, DEFAULT_READ_OFFSET
from thalweg_agent.tools.video import FRAMES_PER_SECOND, sample_frames

NO_LINES_REQUESTED_WARNING = prompt("no_lines").text

_TRUNCATION_NOTE = "\n\n[Output was truncated due to size limits."
"""The note with which sandboxes end a line that exceeds their response size."""
_NOTE_TAIL_CHARS = 500
_UNDECODABLE = "codec can't decode"
"""Text in backends' errors about a file that is not text, from Python's own message."""
_UNKNOWN_MIME = "application/octet-stream"


def read_file(
    context: FileToolContext,
    file_path: str,
    offset: int = DEFAULT_READ_OFFSET,
    limit: int = DEFAULT_READ_LIMIT,
    char_offset: int = 0,
    char_limit: int | None = None,
) -> Steps[ToolAnswer]:
    """Read a page of a file."""
    path = context.access.checked("read", file_path)
    if char_limit is not None and char_limit < 1:
        return refuse(prompt("too_few_chars").render(char_limit=char_limit))
    read = yield from _read(path, offset, limit)
    if read.error or read.file_data is None:
        return _read_error(path, read.error)
    content = read.file_data["content"]
    if _is_whole(read) and (check_empty_content(content) or content == EMPTY_CONTENT_WARNING):
        return ToolAnswer(_empty_answer(read, content, limit))
    if context.samples_video and read_file_type(path) == "video":
        return (yield from _video(path, read.file_data, offset, limit))
    kind = file_type(path)
    if kind != "text" or read.file_data.get("encoding", "utf-8") == "base64":
        return _media_answer(path, kind if kind != "text" else "file", content)
    return _text_answer(
        context, path, page_of(read, content, offset), offset, char_offset, char_limit
    )


def _read_error(path: str, error: str | None) -> ToolAnswer:
    if error is None:
        return refuse(f"Error: no data returned for '{path}'")
    is_text = _UNDECODABLE not in error
    return refuse(f"Error: {error}" if is_text else prompt("not_text").render(problem=error))


def _video(path: str, file_data: FileData, offset: int, limit: int) -> Steps[ToolAnswer]:
    """Return frames of a video; `offset` and `limit` are seconds."""
    if limit < 1:
        return refuse(prompt("video_no_seconds").render(path=path, limit=limit))
    content = file_data_to_bytes(file_data)
    window = {"offset_seconds": float(offset), "duration_seconds": float(limit)}
    named: dict[str, object] = {**window, "sampling_rate": FRAMES_PER_SECOND}
    blocks: list[str | dict[Any, Any]] = yield BackendRequest(
        "sample", (content,), named, of=_SAMPLER
    )
    header = prompt("video_window").render(path=path, first=offset, last=offset + limit)
    count = sum(isinstance(one, dict) and one["type"] == "image" for one in blocks)
    notes = {"read_file_path": path, "read_file_frame_count": count}
    return ToolAnswer([{"type": "text", "text": header}, *blocks], notes=notes)


class _Sampler:
    sample = staticmethod(sample_frames)
    asample = staticmethod(
        lambda content, **window: asyncio.to_thread(sample_frames, content, **window)
    )


_SAMPLER = _Sampler()


def _read(path: str, offset: int, limit: int) -> Steps[ReadResult]:
    """Read lines; if a line exceeds the response size of a sandbox, read the file as bytes."""
    read = yield from ask(ReadResult, "read", path, offset=offset, limit=limit)
    content = read.file_data["content"] if read.file_data else ""
    if read.start_line is None or _TRUNCATION_NOTE not in content[-_NOTE_TAIL_CHARS:]:
        return read
    try:
        got = yield from ask(list[FileDownloadResponse], "download_files", [path])
        text = (got[0].content or b"").decode()
    except (NotImplementedError, UnicodeDecodeError):
        return read
    whole = slice_read_response(create_file_data(text), offset, limit)
    return read if whole.error or whole.start_line is None else whole


def _text_answer(
    context: FileToolContext,
    path: str,
    page: FilePage,
    offset: int,
    char_offset: int,
    char_limit: int | None,
) -> ToolAnswer:
    chars = len(page.lines[0])
    if char_offset > chars:
        past = prompt("past_line")
        return refuse(past.render(char_offset=char_offset, line=page.first, chars=chars))
    if char_offset > 0:
        page = from_char(page, char_offset)
    if char_limit is not None:
        page = within(page, char_limit)
    notices = [prompt("before_start").render(offset=offset)] if offset < 0 else []
    return ToolAnswer(rendered(page, path, context.read_chars, notices))


def _is_whole(read: ReadResult) -> bool:
    """Return whether a window is the whole file; false if its length was not reported."""
    return read.start_line is None or (read.start_line == 1 and read.total_lines == read.end_line)


def _empty_answer(read: ReadResult, content: str, limit: int) -> str:
    # Some backends return the warning itself, which must not follow a status line.
    if read.no_lines_requested and not content:
        return prompt("no_lines").render(limit=limit)
    return EMPTY_CONTENT_WARNING


def _media_answer(path: str, kind: str, content: str) -> ToolAnswer:
    mime_type = mimetypes.guess_type(f"file{PurePosixPath(path).suffix}")[0] or _UNKNOWN_MIME
    size = len(content) * 3 // 4
    if size > MAX_MEDIA_BYTES:
        refusal = prompt("media_too_large")
        return refuse(refusal.render(path=path, size=size, most=MAX_MEDIA_BYTES))
    if mime_type == _UNKNOWN_MIME:
        return ToolAnswer(prompt("binary_file").render(path=path, size=size))
    return ToolAnswer(
        [{"type": kind, "base64": content, "mime_type": mime_type}],
        notes={"read_file_path": path, "read_file_media_type": mime_type},
    )
