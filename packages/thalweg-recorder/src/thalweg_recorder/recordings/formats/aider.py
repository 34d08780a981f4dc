"""Chat histories of aider: `.aider.chat.history.md` in the folder that it works in.

A line after `####` is the user's, one after `>` the program's; both end with two spaces, which no
heading and no quotation of the model does. The program's text may have further lines without a
mark, up to one that ends with two spaces, if it follows a start or such a line: after an answer it
could be a quotation of the model. Every start begins a chat, if the user wrote in it.
"""

import re
from collections.abc import Iterator
from itertools import chain, zip_longest

from thalweg.engine.wires.openai_chat import OpenAIChatWire
from thalweg_recorder.recordings.base import Recording, SessionInfo
from thalweg_recorder.recordings.rows import LogFormat, Recorded, SessionRows, as_str
from thalweg_recorder.recordings.source import RecordedFile
from thalweg_recorder.recordings.times import iso_time

NAME = "aider"
HISTORY = ".aider.chat.history.md"

_STARTED = re.compile(r"^# aider chat started at (.+)$", re.MULTILINE)
_FOLLOWS = r"(?:(?<=  \n)|(?<=  \r\n)|(?<=started at .{19}\n\n)|(?<=started at .{19}\r\n\r\n))"
_BLOCK = re.compile(
    r"^# aider chat started at (?P<start>.+)$"
    r"|(?P<user>(?:^####(?: .*)?  \r?$\n?)+)"
    r"|(?P<aider>(?:^>(?: .*)?  \r?$\n?|" + _FOLLOWS + r"> (?:.*\n(?!> |#### ))+?.*  \r?$\n?)+)",
    re.MULTILINE,
)
_MARK = re.compile(r"^(?:####|>) | *\r?$", re.MULTILINE)
_TRIMMED = re.compile(r"^((?:####|>) .*?) *$", re.MULTILINE)
_MODEL = re.compile(r"^(?:Main m|M)odels?: (\S+)", re.MULTILINE)


def detect(source: RecordedFile) -> bool:
    """Return whether the text begins with the line that begins every chat of aider."""
    return _STARTED.match(_text(source).lstrip()) is not None


def _text(source: RecordedFile) -> str:
    """Return the text; spaces at the ends of lines that an editor removed are there again."""
    text = source.text or as_str(source.document)
    return text if re.search(r"  \r?\n", text) else _TRIMMED.sub(r"\1  ", text)


def _split(source: RecordedFile) -> Iterator[tuple[str, str]]:
    """Yield the chats of a history by the time of their start.

    One without a request of the user is part of the next chat.
    """
    text = _text(source)
    starts, begin, end = [*_STARTED.finditer(text)], None, 0
    for start, following in zip_longest(starts, starts[1:]):
        begin, first = begin or start, end
        stop = following.start() if following else len(text)
        if following is None or any(one["user"] for one in _BLOCK.finditer(text, first, stop)):
            yield begin[1].strip(), text[first:stop]
            begin, end = None, stop


def read(source: RecordedFile) -> Recording:
    """Return a chat; every message has the time of its start, as no other is logged."""
    text, path = _text(source), source.path
    rows = SessionRows(source.name, [*source.file_notes], [*_items(text)])
    folder = path.absolute().parent if path else None
    models = [one[1] for one in _MODEL.finditer(_MARK.sub("", text))]
    times = [iso_time(one[1]) for one in _STARTED.finditer(text)]
    rows.info = SessionInfo(
        id=f"{times[0]}.{folder.name}" if folder and times[0] else "",
        project=str(folder) if path and path.name == HISTORY else "",
        model=models[-1] if models else "",
    )
    return rows.recording(NAME, OpenAIChatWire().read)


def _items(text: str) -> Iterator[Recorded]:
    at, line, end = "", 0, 0
    for block in chain(_BLOCK.finditer(text), [None]):
        start = block.start() if block else len(text)
        if answer := text[end:start].strip("\r\n"):
            yield Recorded(line, {"role": "assistant", "content": answer}, at=at)
        line += text.count("\n", end, start)
        if block is None:
            return
        end, content = block.end(), _MARK.sub("", block[0]).strip("\n")
        if block["start"]:
            at = iso_time(block["start"])
        elif content and block["user"]:
            yield Recorded(line, {"role": "user", "content": content}, at=at)
        elif content:
            raw = {"role": "user", "name": NAME, "content": content}
            yield Recorded(line, raw, at=at, kind="injected")
        line += text.count("\n", start, end)


FORMAT = LogFormat(NAME, detect, read, _split, endings=(".md",))
