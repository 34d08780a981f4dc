"""Edits for a thread whose request the provider refused for its content.

They show messages in forms that every provider accepts. Omitted content remains in the log
and can be read by its reference.
"""

from collections.abc import Callable, Iterator

from thalweg.engine.compaction.plan import plan_fold
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.compaction.rewrites import showing
from thalweg.engine.edits import Edit, Elide, Reason
from thalweg.engine.entries import Media, Opaque, Part, Text, Thinking
from thalweg.engine.prompts import prompt
from thalweg.engine.window.items import is_compaction

REFUSED: Reason = "the provider refused the request"
"""Reason of these edits."""


def plan_without_reasoning(scene: PlanningContext) -> list[Edit]:
    """Plan to drop all reasoning of live messages."""
    return [*_rewritten(scene, lambda part, _: () if isinstance(part, Thinking) else (part,))]


def plan_without_compactions(scene: PlanningContext) -> list[Edit]:
    """Plan to drop the blocks of a provider's compactions: our structured summary is sent."""
    return [*_rewritten(scene, lambda part, _: () if is_compaction(part) else (part,))]


def plan_without_media(scene: PlanningContext) -> list[Edit]:
    """Plan to replace every live image, document and sound by a notice with a reference."""
    return [*_rewritten(scene, _without_media)]


def plan_plain(scene: PlanningContext) -> list[Edit]:
    """Plan to show only plain text and calls, with all but the newest exchange compacted.

    Returns:
        Edits; empty if the newest exchange is the only one, and plain.
    """
    room = scene.budget.record(scene.fixed)
    fold = plan_fold(scene, tail=0, record=room, reason=REFUSED, skills=0)
    is_new = fold is not None and fold.last > scene.window.record.last
    plain = _rewritten(scene, _plain)
    if fold is None or not is_new:
        return [*plain]
    live = (edit for edit in plain if edit.position > fold.last or edit.position in fold.kept)
    return [fold, *live]


def _rewritten(
    scene: PlanningContext, show: Callable[[Part, str], tuple[Part, ...]]
) -> Iterator[Elide]:
    for entry in scene.window.entries.values():
        shown, pointer = scene.shown(entry).parts, scene.pointer(entry.position)
        parts = tuple(one for part in shown for one in show(part, pointer))
        if parts != shown:
            yield Elide(**showing(scene, entry, parts, REFUSED))


def _without_media(part: Part, pointer: str) -> tuple[Part, ...]:
    if not isinstance(part, Media):
        return (part,)
    what = part.mime or "media"
    return (Text(prompt("media_removed").render(what=what, pointer=pointer)),)


def _plain(part: Part, pointer: str) -> tuple[Part, ...]:
    return () if isinstance(part, Thinking | Opaque) else _without_media(part, pointer)
