"""Later uses of earlier content, found in the recording itself, without a model.

A turn *uses* an earlier message of any speaker in one of three ways: it replaces a line of text
that the message contains, repeats an identifier that only the message (and at most a few other
earlier ones) had contained, or repeats a read although nothing was written in between. Each is a
sign that the content mattered at that point. The price of a use of content that had left the
context by then is the steps to have it again, see `thalweg_recorder.replay.harm`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from thalweg.engine.compaction.uses import LENGTH, RARE, distinctive_names
from thalweg.engine.entries import Entry
from thalweg.engine.transcript import as_text

Way = Literal["edits", "mentions", "reads"]
"""How a later turn uses content: it replaces this very text in a file, repeats an identifier that
hardly any other message contains, or reads the same unchanged file again."""
Kind = Literal[
    "request", "own words", "own edit", "file", "listing", "command", "error", "page", "other"
]
"""The kind of the used message; `listing` includes searches, `page` is a file at an address."""
KINDS: tuple[Kind, ...] = (
    "request", "own words", "own edit", "file", "listing", "command", "error", "page", "other",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LaterUse:
    """One later use of a message's content."""

    turn: int
    """Position of the assistant message that uses it."""
    source: int
    """Position of the message used."""
    kind: Kind
    way: Way
    text: str
    """The text without which the turn cannot be written; empty for a repeated read."""
    occurrences: tuple[int, ...]
    """Every position before the turn that contains an identifier; the source in other ways."""


def find_uses(entries: Sequence[Entry]) -> Iterator[LaterUse]:
    """Find every use of an earlier message by a later assistant message, in order.

    Args:
        entries: All entries of a thread, by position.
    """
    occurrences: dict[str, list[int]] = {}
    reads: dict[tuple[str, str, str], int] = {}
    texts: list[str] = []
    for entry in entries:
        texts.append(as_text(entry.message))
        names = sorted(distinctive_names(texts[-1]))
        if entry.message.role == "assistant":
            yield from _mentions(entry, names, occurrences, entries)
            yield from _edits(entry, texts, entries)
            yield from _reads(entry, reads, entries)
        if (call := entry.answers) is not None and not entry.message.is_error:
            if call.action == "write":
                for key in [k for k in reads if k[1] == call.target]:
                    del reads[key]
            elif call.action == "read" and call.target:
                reads[call.name, call.target, call.scope] = entry.position
        for name in names:
            occurrences.setdefault(name, []).append(entry.position)


def kind_of(entry: Entry) -> Kind:
    """Return the kind of a message, as its agent sees it."""
    message, call = entry.message, entry.answers
    if message.role == "user":
        return "request"
    if message.role == "assistant":
        return "own edit" if any(use.action == "write" for use in entry.uses) else "own words"
    if message.is_error:
        return "error"
    if call is None:
        return "other"
    if call.action == "read":
        return "page" if "://" in call.target else "file"
    return _OF_ACTION.get(call.action, "other")


_OF_ACTION: dict[str, Kind] = {"search": "listing", "run": "command", "write": "own edit"}


def is_in(sought: str, text: str) -> bool:
    """Return whether a text contains another, also as arguments of a call have it."""
    return sought in text or _escaped(sought) in text


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _mentions(
    entry: Entry,
    names: Sequence[str],
    occurrences: Mapping[str, Sequence[int]],
    entries: Sequence[Entry],
) -> Iterator[LaterUse]:
    sources: set[int] = set()
    for name in names:
        before = occurrences.get(name, ())
        if not 0 < len(before) <= RARE or entries[source := before[0]].message.role == "system":
            continue
        if source not in sources:
            sources.add(source)
            kind = kind_of(entries[source])
            yield LaterUse(entry.position, source, kind, "mentions", name, tuple(before))


def _edits(entry: Entry, texts: Sequence[str], entries: Sequence[Entry]) -> Iterator[LaterUse]:
    """Yield the uses of a file's text by edits that have to repeat it exactly."""
    for call in entry.message.calls:
        line = max(_replaced(call.arguments), key=len, default="")
        if len(line) < LENGTH:
            continue
        escaped = _escaped(line)
        earlier = range(entry.position - 1, -1, -1)
        source = next((p for p in earlier if line in texts[p] or escaped in texts[p]), None)
        if source is not None:
            kind = kind_of(entries[source])
            yield LaterUse(entry.position, source, kind, "edits", line, (source,))


def _replaced(arguments: str) -> Iterator[str]:
    """Yield the lines that an edit replaces: those of its arguments named `old…`."""
    try:
        parsed = json.loads(arguments)
    except (ValueError, RecursionError):
        return
    for name, value in parsed.items() if isinstance(parsed, dict) else ():
        if name.startswith("old") and isinstance(value, str):
            yield from map(str.strip, value.splitlines())


def _reads(
    entry: Entry, reads: Mapping[tuple[str, str, str], int], entries: Sequence[Entry]
) -> Iterator[LaterUse]:
    for use in entry.uses:
        source = reads.get((use.name, use.target, use.scope))
        if use.action == "read" and use.target and source is not None:
            kind = kind_of(entries[source])
            yield LaterUse(entry.position, source, kind, "reads", "", (source,))
