"""Later uses of earlier content, found in the recording itself, without a model.

A tool result is *used* by a later model turn if the turn contains an identifier that only the
result (and at most a few other earlier messages) had contained, or repeats the same read although
nothing was written in between. Both are signs that the content mattered at that point; content that
a view no longer shows then is a *fault*.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from thalweg.engine.compaction.structured_summary import identifiers
from thalweg.engine.entries import Entry
from thalweg.engine.transcript import as_text

RARE = 3
"""An identifier that more earlier messages than this contain is too common."""
WEIGHT = 3
"""Least weight of an identifier that counts (see `identifiers`)."""
LENGTH = 6
"""Least length of an identifier that counts."""


@dataclass(frozen=True, slots=True)
class LaterUse:
    """One later use of a tool result."""

    turn: int
    """Position of the assistant message that uses it."""
    source: int
    """Position of the tool result."""
    identifier: str
    """The repeated identifier; empty for a repeated read."""
    occurrences: tuple[int, ...]
    """Every position before the turn that contains it."""


def find_uses(entries: Sequence[Entry]) -> Iterator[LaterUse]:
    """Find every use of a tool result by a later assistant message, in order.

    Args:
        entries: All entries of a thread, by position.
    """
    occurrences: dict[str, list[int]] = {}
    reads: dict[tuple[str, str, str], int] = {}
    for entry in entries:
        names = distinctive_names(entry)
        if entry.message.role == "assistant":
            yield from _identifier_uses(entry, names, occurrences, entries)
            for use in entry.uses:
                key = (use.name, use.target, use.scope)
                if use.action == "read" and use.target and key in reads:
                    yield LaterUse(entry.position, reads[key], "", (reads[key],))
        if (call := entry.answers) is not None and not entry.message.is_error:
            if call.action == "write":
                for key in [k for k in reads if k[1] == call.target]:
                    del reads[key]
            elif call.action == "read" and call.target:
                reads[call.name, call.target, call.scope] = entry.position
        for name in names:
            occurrences.setdefault(name, []).append(entry.position)


def distinctive_names(entry: Entry) -> set[str]:
    """Return the identifiers in a message that are specific enough to show a use of it."""
    found = identifiers(as_text(entry.message))
    return {name for weight, name in found if weight >= WEIGHT and len(name) >= LENGTH}


def _identifier_uses(
    entry: Entry, names: set[str], occurrences: dict[str, list[int]], entries: Sequence[Entry]
) -> Iterator[LaterUse]:
    found: dict[int, LaterUse] = {}
    for name in sorted(names):
        before = occurrences.get(name, [])
        if 0 < len(before) <= RARE and entries[source := before[0]].message.role == "tool":
            found.setdefault(source, LaterUse(entry.position, source, name, tuple(before)))
    yield from (found[source] for source in sorted(found))
