"""Edits for a thread whose request the provider refused for its content.

They show messages in forms that every provider accepts. Omitted content remains in the log
and can be read by its reference.
"""

from collections.abc import Callable, Iterator

from thalweg.engine.compaction.plan import plan_fold
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.compaction.rewrites import edit_fields
from thalweg.engine.edits import Edit, Elide, Reason
from thalweg.engine.entries import Media, Opaque, Part, Text, Thinking
from thalweg.engine.prompts import prompt
from thalweg.engine.window.items import is_compaction

REFUSED: Reason = "the provider refused the request"
"""Reason of these edits."""


def plan_without_reasoning(context: PlanningContext) -> list[Edit]:
    """Plan to drop all reasoning of live messages."""
    return [*_elisions(context, lambda part, _: () if isinstance(part, Thinking) else (part,))]


def plan_without_compactions(context: PlanningContext) -> list[Edit]:
    """Plan to drop the blocks of a provider's compactions: our structured summary is sent."""
    return [*_elisions(context, lambda part, _: () if is_compaction(part) else (part,))]


def plan_without_media(context: PlanningContext) -> list[Edit]:
    """Plan to replace every live image, document and sound by a notice with a reference."""
    return [*_elisions(context, _without_media)]


def plan_plain(context: PlanningContext) -> list[Edit]:
    """Plan to show only plain text and calls, with all but the newest exchange compacted.

    Returns:
        Edits; empty if the newest exchange is the only one, and plain.
    """
    record_tokens = context.budget.record(context.fixed)
    fold = plan_fold(
        context, tail_tokens=0, record_tokens=record_tokens, reason=REFUSED, skills_tokens=0
    )
    is_new = fold is not None and fold.last > context.window.record.last
    plain_edits = _elisions(context, _plain_part)
    if fold is None or not is_new:
        return [*plain_edits]
    live_edits = (
        edit for edit in plain_edits if edit.position > fold.last or edit.position in fold.kept
    )
    return [fold, *live_edits]


def _elisions(
    context: PlanningContext, replace_part: Callable[[Part, str], tuple[Part, ...]]
) -> Iterator[Elide]:
    for entry in context.window.entries.values():
        shown, pointer = context.shown(entry).parts, context.pointer(entry.position)
        parts = tuple(new_part for part in shown for new_part in replace_part(part, pointer))
        if parts != shown:
            yield Elide(**edit_fields(context, entry, parts, REFUSED))


def _without_media(part: Part, pointer: str) -> tuple[Part, ...]:
    if not isinstance(part, Media):
        return (part,)
    what = part.mime or "media"
    return (Text(prompt("media_removed").render(what=what, pointer=pointer)),)


def _plain_part(part: Part, pointer: str) -> tuple[Part, ...]:
    return () if isinstance(part, Thinking | Opaque) else _without_media(part, pointer)
