"""Search for the needles of a recording at its end: in the context or through recall."""

from collections.abc import Sequence

from thalweg.engine.entries import Entry
from thalweg.engine.tokens import Counter
from thalweg.engine.transcript import as_text
from thalweg.engine.window.items import WindowItem
from thalweg.lab.replay.contestants.base import Contestant
from thalweg.lab.replay.questions import NeedleQuestion
from thalweg.lab.replay.results import NeedleRecall


def ask(
    needles: Sequence[NeedleQuestion],
    contestant: Contestant,
    entries: Sequence[Entry],
    items: Sequence[WindowItem],
    count: Counter,
) -> NeedleRecall:
    """Look for each needle: in the context, by one recall with the question's words, by more."""
    context = "\n".join(as_text(item.message) for item in items)
    inline = search = lost = tokens = 0
    steps: list[int] = []
    for needle in needles:
        if needle.answer in context:
            inline += 1
            continue
        brought = contestant.recall(needle.question)
        tokens += count(brought)
        if needle.answer in brought:
            search += 1
            continue
        lost += 1
        at = next((e.position for e in entries if e.message.line == needle.line), -1)
        steps.append(contestant.steps(needle, at, f"{context}\n{brought}"))
    return NeedleRecall(inline, search, lost, tuple(steps), tokens)
