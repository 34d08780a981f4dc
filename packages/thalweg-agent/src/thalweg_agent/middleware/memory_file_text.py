"""Memory files as the model sees them: without their comments, fenced, within a budget."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from thalweg.engine.tokens import Counter
from thalweg_agent.prompts import prompt

LONGEST_TOKEN = 16
"""More characters than this per token are not expected of text: so much of it is looked at."""
NOTE_TOKENS = 60
"""Tokens for the line that explains how to read the rest of a file, without its path."""
STEP = 64
"""Characters by which a line is cut that does not fit whole."""


def write_memory(
    contents: Mapping[str, str], sources: Sequence[str], budget: int, count: Counter
) -> str:
    """Render files one after the other, each after its path, in the order of the sources.

    If they do not fit, the longest are truncated at the ends of lines to equal shares; each
    truncated file ends with how to read on. HTML comments are removed, and what would end the fence
    around the files is escaped.

    Returns:
        The text; empty if there is nothing to show.
    """
    files = {path: File(contents[path]) for path in sources if contents.get(path)}
    shown = {path: file for path, file in files.items() if file.text.strip()}
    frame = sum(count(f"{path}\n\n\n\n") + 2 for path in shown)
    whole = {path: file.text.rstrip() for path, file in shown.items()}
    tokens = {path: _count_upto(text, budget, count) for path, text in whole.items()}
    rooms = share(tokens, budget - frame)
    parts = [
        whole[path] if tokens[path] <= rooms[path] else _cut(path, file, rooms[path], count)
        for path, file in shown.items()
    ]
    return "\n\n".join(f"{path}\n\n{part}" for path, part in zip(shown, parts, strict=True))


def share(needs: Mapping[str, int], room: int) -> dict[str, int]:
    """Share tokens fairly: the unused rest of one file's equal part is split among the others.

    Example:
        >>> share({"a": 10, "b": 500, "c": 900}, 300)
        {'a': 10, 'b': 145, 'c': 145}
    """
    given: dict[str, int] = {}
    left = max(0, room)
    for k, (name, need) in enumerate(sorted(needs.items(), key=lambda pair: pair[1])):
        given[name] = min(need, left // (len(needs) - k))
        left -= given[name]
    return {name: given[name] for name in needs}


def fenced(text: str) -> str:
    """Escape text that looks like the fence of memory."""
    return re.sub(r"<(?=\s*/?\s*agent_memory)", r"<\\", text, flags=re.IGNORECASE)


class File:
    r"""The shown form of a file, without comments and fenced, with the lines of the original.

    Example:
        >>> File("one <!-- not\\nthis -->two").text
        'one two'
    """

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self._kept = list(_between_comments(raw))
        self.text = self.upto(len(raw))

    def upto(self, end: int) -> str:
        """Return the shown text of the file's first characters."""
        kept = (self.raw[start : min(stop, end)] for start, stop in self._kept if start < end)
        return fenced("".join(kept))


def _between_comments(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while (opened := text.find("<!--", at)) >= 0 and (closed := text.find("-->", opened + 4)) >= 0:
        yield at, opened
        at = closed + 3
    yield at, len(text)


def _count_upto(text: str, most: int, count: Counter) -> int:
    """Count tokens; a text that is far too long is not looked at, and has one too many."""
    return most + 1 if len(text) > (most + 1) * LONGEST_TOKEN else count(text)


def _cut(path: str, file: File, room: int, count: Counter) -> str:
    """Keep the head of a file: whole lines, or the beginning of the first one."""
    room = max(0, room - NOTE_TOKENS - count(path))

    def fits(end: int) -> bool:
        return _count_upto(file.upto(end).rstrip(), room, count) <= room

    ends = [0, *(match.end() for match in re.finditer("\n", file.raw))]
    lines = _last(ends, fits)
    end = ends[lines]
    if not lines:
        chars = range(0, min(len(file.raw), room * LONGEST_TOKEN) + 1, STEP)
        end = chars[_last(chars, fits)]
    total = file.raw.count("\n") + (not file.raw.endswith("\n"))
    note = prompt("memory_cut").render(shown=lines, total=total, path=path)
    head = file.upto(end).rstrip()
    return f"{head}\n{note}" if head else note


def _last(ends: Sequence[int], fits: Callable[[int], bool]) -> int:
    """Find the last of some ends that fits; the first always does."""
    at = max(0, bisect_right(ends, 0, key=lambda end: int(not fits(end))) - 1)
    while at and not fits(ends[at]):
        at -= 1
    return at


def is_explained(before: str, after: str, edits: Iterable[tuple[str, str, bool]]) -> bool:
    """Return whether edits, in their order, turn one text into another.

    Args:
        before: The old text.
        after: The new text.
        edits: Old text, new text, and whether all occurrences are replaced; an empty old text means
            the whole file.
    """
    text = before
    for old, new, everywhere in edits:
        if not old:
            text = new
        elif old in text:
            text = text.replace(old, new, -1 if everywhere else 1)
    return text == after
