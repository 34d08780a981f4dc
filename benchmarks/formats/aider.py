"""Chat histories of aider: `.aider.chat.history.md`.

Lines after `####` are the user's, lines after `>` the program's, all others the model's.
"""

import re
from collections.abc import Iterator
from itertools import groupby

from thalweg.engine.wires.openai_chat import OpenAIChatWire
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.recordings.rows import LogFormat, Recorded, SessionRows
from thalweg_recorder.recordings.source import RecordedFile
from thalweg_recorder.recordings.times import iso_time

NAME = "aider"

_STARTED = re.compile(r"# aider chat started at (.+)")


def detect(source: RecordedFile) -> bool:
    """Return whether the text has the line that begins every chat of aider."""
    return any(_STARTED.match(line) for line in source.text.split("\n"))


def read(source: RecordedFile) -> Recording:
    """Return the recording; consecutive lines of one speaker become one message."""
    rows = SessionRows(source.name, [*source.file_notes], [*_items(source.text)])
    return rows.recording(NAME, OpenAIChatWire().read)


_MARKS = {"user": "####", "aider": ">"}


def _items(text: str) -> Iterator[Recorded]:
    started = ""
    lines = enumerate(text.split("\n"))
    for speaker, spoken in groupby(_spoken(lines), key=lambda line: line[1]):
        run = list(spoken)
        kept = (line for _, _, line in run if line.strip() or speaker == "model")
        said = "\n".join(_bare(speaker, line) for line in kept).strip("\n")
        if speaker == "start":
            times = [found[1] for *_, line in run if (found := _STARTED.match(line))]
            started = iso_time(times[-1])
        elif said.strip() and speaker == "model":
            yield Recorded(run[0][0], {"role": "assistant", "content": said})
        elif said.strip() and speaker == "user":
            yield Recorded(run[0][0], {"role": "user", "content": said}, at=started)
        elif said.strip():
            raw = {"role": "user", "name": speaker, "content": said}
            yield Recorded(run[0][0], raw, kind="injected")


def _spoken(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    """Yield number, speaker and text of each line; an empty one keeps the last speaker."""
    speaker = "model"
    for number, line in lines:
        if _STARTED.match(line):
            speaker = "start"
        elif line.strip():
            marked = (who for who, mark in _MARKS.items() if f"{line} ".startswith(f"{mark} "))
            speaker = next(marked, "model")
        yield number, speaker, line


def _bare(speaker: str, line: str) -> str:
    mark = _MARKS.get(speaker)
    return line.removeprefix(mark).removeprefix(" ").rstrip() if mark else line


FORMAT = LogFormat(NAME, detect, read, endings=(".md",))
