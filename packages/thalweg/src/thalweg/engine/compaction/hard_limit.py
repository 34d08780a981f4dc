"""Hard-limit fallback: reduce a request until it fits, at any cost.

The steps go from little loss to much and end in a typed error. No step needs a model, and each is
strictly smaller than the previous one, so the sequence ends (I19).
"""

from collections.abc import Iterator, Sequence

from thalweg.engine.compaction.media import exceeds, plan_smaller, plan_within_limits
from thalweg.engine.compaction.plan import plan_fold, plan_tail
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.compaction.rewrites import elide, evict, has_long_arguments
from thalweg.engine.edits import Edit, Reason
from thalweg.engine.entries import Entry
from thalweg.errors import WindowExceededError

WHY: Reason = "the request would not fit"


def excess(scene: PlanningContext) -> bool:
    """Return whether the next request would exceed a limit: tokens, bytes or media."""
    window, budget = scene.window, scene.budget
    window.settle()
    return (
        scene.tokens_to_fit > budget.limit or scene.body_bytes > budget.max_bytes or exceeds(scene)
    )


def squeeze(scene: PlanningContext) -> Iterator[Sequence[Edit]]:
    """Yield edits until the request fits.

    Raises:
        WindowExceededError: All possible reductions were made, and it does not fit.
    """
    if not excess(scene):
        return
    for rung in (_within_limits, _folds, _without_inserts, _rewrites, _smaller_records):
        for edits in rung(scene):
            yield edits
            if not excess(scene):
                return
    raise _irreducible(scene)


def _within_limits(scene: PlanningContext) -> Iterator[Sequence[Edit]]:
    """Replace media that are too many or too large together; those of older messages first."""
    if edits := plan_within_limits(scene):
        yield edits


def _folds(scene: PlanningContext) -> Iterator[Sequence[Edit]]:
    """Compact, keeping a smaller and smaller tail."""
    tail, record = scene.budget.tail(scene.fixed), scene.budget.record(scene.fixed)
    skills = scene.budget.skills(scene.fixed)
    for divisor in (1, 2, 4, max(1, tail)):
        fold = plan_fold(
            scene, tail=tail // divisor, record=record, reason=WHY, skills=skills // divisor
        )
        if fold is not None and fold.freed > 0:
            yield (fold, *plan_tail(scene, fold.last))


def _without_inserts(scene: PlanningContext) -> Iterator[Sequence[Edit]]:
    """Remove the inserts between messages: they are not part of the thread, so nothing is lost."""
    if scene.window.inserts:
        scene.window.set_inserts({})
        yield ()


def _rewrites(scene: PlanningContext) -> Iterator[Sequence[Edit]]:
    """Shorten the remaining messages one by one: results, arguments, texts, requests, media."""
    for step in (_results, _arguments, _words, _requests):
        for tokens in (scene.budget.preview, scene.budget.preview // 3):
            yield from _batches(scene, step(scene, tokens))
    for edit in plan_smaller(scene, WHY):
        yield (edit,)


def _batches(scene: PlanningContext, edits: Iterator[Edit]) -> Iterator[Sequence[Edit]]:
    """Yield batches of edits that free the excess tokens: each batch is laid out once."""
    batch: list[Edit] = []
    over = scene.tokens_to_fit - scene.budget.limit
    for edit in edits:
        batch.append(edit)
        over -= edit.freed
        if over <= 0:
            yield batch
            batch = []
    if batch:
        yield batch


def _smaller_records(scene: PlanningContext) -> Iterator[Sequence[Edit]]:
    record = scene.budget.record(scene.fixed)
    for divisor in (2, 4, 8):
        fold = plan_fold(scene, tail=1, record=record // divisor, reason=WHY, skills=0)
        if fold is not None and fold.freed > 0:
            yield (fold,)


def _largest(scene: PlanningContext, *roles: str) -> list[Entry]:
    shown = {i.position: i.tokens for i in scene.window.items}
    entries = [e for e in scene.window.entries.values() if e.message.role in roles]
    return sorted(entries, key=lambda e: (-shown.get(e.position, 0), e.position))


def _shrunk(scene: PlanningContext, entries: Sequence[Entry], tokens: int) -> Iterator[Edit]:
    for entry in entries:
        shown = scene.shown_tokens(entry) - scene.shown_media_tokens(entry)
        if shown > tokens * 3 // 2:
            edit = evict(scene, entry, tokens, WHY, keeps_media=True)
            if edit.freed > 0:
                yield edit


def _results(scene: PlanningContext, tokens: int) -> Iterator[Edit]:
    return _shrunk(scene, _largest(scene, "tool"), tokens)


def _arguments(scene: PlanningContext, tokens: int) -> Iterator[Edit]:
    for entry in _largest(scene, "assistant"):
        if has_long_arguments(scene.shown(entry)) and scene.shown_tokens(entry) > tokens:
            edit = elide(scene, entry, WHY)
            if edit.freed > 0:
                yield edit


def _words(scene: PlanningContext, tokens: int) -> Iterator[Edit]:
    entries = [e for e in _largest(scene, "assistant", "user", "system") if not e.is_request]
    yield from _shrunk(scene, entries, tokens)


def _requests(scene: PlanningContext, tokens: int) -> Iterator[Edit]:
    entries = [e for e in _largest(scene, "user") if e.is_request]
    yield from _shrunk(scene, entries, tokens)


def _irreducible(scene: PlanningContext) -> WindowExceededError:
    sections = {k: v for k, v in scene.window.ledger.tokens.items() if v}
    largest = sorted(sections.items(), key=lambda pair: -pair[1])
    window, budget = scene.window, scene.budget
    needed, limit, unit = window.tokens, budget.limit, "tokens"
    if needed <= limit:
        needed, limit, unit = window.ledger.bytes, budget.max_bytes, "bytes"
    if needed <= limit:
        needed, limit, unit = window.ledger.media, budget.max_media, "images and documents"
    return WindowExceededError(
        needed=needed,
        window=limit,
        irreducible=tuple(f"{name} {tokens} tokens" for name, tokens in largest),
        unit=unit,
    )
