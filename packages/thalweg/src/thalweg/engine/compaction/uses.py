"""Uses of results that a request shows: an answer repeats identifiers that hardly any other has."""

from collections.abc import Sequence

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
NamesByPosition = dict[int, frozenset[str]]


def distinctive_names(text: str) -> frozenset[str]:
    """Return the identifiers in a text that are specific enough to show a use of it."""
    return frozenset(
        name for weight, name in texts.identifiers(text) if weight >= WEIGHT and len(name) >= LENGTH
    )


def used_results(
    context: PlanningContext, answer: Entry, tail_tokens: int, names: NamesByPosition
) -> list[Entry]:
    """Return the old results that an answer uses, which its request has shown whole.

    A result is old if it was before the newest `tail_tokens` tokens of that request, and before
    its newest exchange: a compaction would have removed it.

    Args:
        context: The planning context.
        answer: A message of the model.
        tail_tokens: Tokens of the newest messages that a compaction keeps.
        names: The identifiers of live messages that were read before; updated.
    """
    entries = context.window.entries
    earlier = [e for position, e in entries.items() if position < answer.position]
    last_old = _last_old(context, earlier, tail_tokens)
    if last_old < 0:
        return []
    for position in names.keys() - entries.keys():
        del names[position]
    for position in entries.keys() - names.keys():
        names[position] = distinctive_names(as_text(entries[position].message))
    used = dict[int, Entry]()
    for name in names[answer.position]:
        found = [e for e in earlier if name in names[e.position]]
        old = [e for e in found if e.message.role == "tool" and e.position <= last_old]
        whole = [e for e in old if e.position not in context.window.rewrites]
        if whole and len(found) <= RARE:
            used[whole[0].position] = whole[0]
    return [*used.values()]


def _last_old(context: PlanningContext, earlier: Sequence[Entry], tail_tokens: int) -> int:
    """Return the position of the newest message before the tail and the newest exchange, or -1."""
    has_exchange = False
    for entry in reversed(earlier):
        tail_tokens -= context.shown_tokens(entry)
        if tail_tokens < 0 and has_exchange:
            return entry.position
        has_exchange |= entry.message.role == "assistant"
    return -1
