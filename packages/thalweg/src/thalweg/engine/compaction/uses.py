"""Uses of results that a request shows: an answer repeats identifiers that hardly any other has."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from thalweg.engine.compaction import texts
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.entries import Entry
from thalweg.engine.transcript import as_text

RARE = 3
"""An identifier that more earlier messages than this contain is too common to show a use."""
WEIGHT = 3
"""Least weight of an identifier that counts (see `structured_summary.identifiers`)."""
LENGTH = 6
"""Least length of an identifier that counts."""
STEPS_PER_USE = 0.5
"""Expected steps for a use of a removed result. On 74 recorded threads 0.44 uses of one needed a
step; the others were shown by a summary or by another message."""


def distinctive_names(text: str) -> frozenset[str]:
    """Return the identifiers in a text that are specific enough to show a use of it.

    Example:
        >>> sorted(distinctive_names("load_rows_fast read INC-1042 in 3.25 s, not in 3 s"))
        ['3.25 s', 'INC-1042']
    """
    return frozenset(
        name for weight, name in texts.identifiers(text) if weight >= WEIGHT and len(name) >= LENGTH
    )


FEW = 8
"""Most identifiers that are searched for in a text that was not read for its own."""


@dataclass(slots=True)
class NameIndex:
    """The identifiers of live messages; a message is read once, if it may have a wanted one."""

    names: dict[int, frozenset[str] | str] = field(default_factory=dict)
    """By position; the text of a message that was not read yet. Messages of the log never change.
    """

    def positions(
        self, wanted: frozenset[str], entries: Mapping[int, Entry]
    ) -> dict[str, list[int]]:
        """Return the positions of the live messages that have each wanted identifier, ascending."""
        found: dict[str, list[int]] = {}
        if len(self.names) > len(entries):
            self.names = {p: names for p, names in self.names.items() if p in entries}
        for position, entry in entries.items() if wanted else ():
            if (names := self.names.get(position)) is None:
                names = self.names[position] = as_text(entry.message)
            if isinstance(names, str):
                if len(wanted) <= FEW and not any(map(names.__contains__, wanted)):
                    continue
                names = self.names[position] = distinctive_names(names)
            for name in wanted & names:
                found.setdefault(name, []).append(position)
        return found


def used_results(
    context: PlanningContext, answer: Entry, tail_tokens: int, names: NameIndex
) -> list[Entry]:
    """Return the old results that an answer uses, which its request has shown whole.

    A result is old if it was before the newest `tail_tokens` tokens of that request, and before
    its newest exchange: a compaction would have removed it.

    Args:
        context: The planning context.
        answer: A message of the model.
        tail_tokens: Tokens of the newest messages that a compaction keeps.
        names: The identifiers of live messages.
    """
    entries, used = context.window.entries, dict[int, Entry]()
    wanted = distinctive_names(as_text(answer.message))
    last_old = _last_old(context, answer, tail_tokens) if wanted else -1
    if last_old < 0:
        return []
    for positions in names.positions(wanted, entries).values():
        found = [position for position in positions if position < answer.position]
        old = [p for p in found if p <= last_old and entries[p].message.role == "tool"]
        whole = [p for p in old if p not in context.window.rewrites]
        if whole and len(found) <= RARE:
            used[whole[0]] = entries[whole[0]]
    return [*used.values()]


def _last_old(context: PlanningContext, answer: Entry, tail_tokens: int) -> int:
    """Return the position of the newest message before the tail and the newest exchange, or -1."""
    window, has_exchange = context.window, False
    for position, entry in reversed(window.entries.items()):
        if position >= answer.position:
            continue
        is_edited = position in window.rewrites or position in window.stripped
        tail_tokens -= context.shown_tokens(entry) if is_edited else entry.tokens
        if tail_tokens < 0 and has_exchange:
            return position
        has_exchange |= entry.message.role == "assistant"
    return -1
