"""Edits of one message. Each starts from the current view, so they accumulate."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypedDict

from thalweg.engine.compaction import texts
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.edits import Elide, Evict, Reason, Supersede
from thalweg.engine.entries import Entry, Media, Message, Part, Text, Thinking, ToolCall, ToolUse
from thalweg.engine.media.labels import media_line
from thalweg.engine.prompts import prompt
from thalweg.engine.transcript import as_text
from thalweg.engine.window.items import is_blank


class EditFields(TypedDict):
    """The fields that every edit of one message has."""

    reason: Reason
    turn: int
    tokens_before: int
    tokens_after: int
    position: int
    parts: tuple[Part, ...]


def showing(
    scene: PlanningContext, entry: Entry, parts: tuple[Part, ...], reason: Reason
) -> EditFields:
    """Return the common fields of an edit, with tokens before and after."""
    return {
        "reason": reason,
        "turn": scene.turn,
        "tokens_before": scene.shown_tokens(entry),
        "tokens_after": scene.tokens(replace(entry.message, parts=parts)),
        "position": entry.position,
        "parts": parts,
    }


def evict(
    scene: PlanningContext,
    entry: Entry,
    tokens: int,
    reason: Reason,
    *,
    with_ends: bool = False,
    keeps_media: bool = False,
) -> Evict:
    """Replace a message by a preview of at most `tokens` tokens. Calls and thinking are kept.

    The preview is made from the original, even if another preview is shown now.

    Args:
        scene: The planning context.
        entry: The message.
        tokens: Most tokens of the preview.
        reason: Reason of the edit.
        with_ends: Show its beginning and its end as running text, if they fit.
        keeps_media: Keep its images, documents, sounds and films, too: the preview is of its text.
    """
    kept = (ToolCall, Thinking, Media) if keeps_media else (ToolCall, Thinking)
    goes_out = tuple(p for p in entry.message.parts if not isinstance(p, kept))
    text = Text(_without(scene, entry, goes_out, tokens, with_ends=with_ends))
    shown = scene.shown(entry).parts
    goes = [k for k, p in enumerate(shown) if not isinstance(p, kept)]
    first = goes[0] if goes else 0
    parts = (
        *(p for k, p in enumerate(shown) if k < first),
        text,
        *(p for k, p in enumerate(shown) if k >= first and k not in goes),
    )
    return Evict(**showing(scene, entry, parts, reason))


def _without(
    scene: PlanningContext, entry: Entry, parts: Sequence[Part], tokens: int, *, with_ends: bool
) -> str:
    """Write what replaces parts of a message: a preview of their text, and the names of media."""
    media = media_line(replace(entry.message, parts=tuple(parts)))
    words = tuple(p for p in parts if not isinstance(p, Media))
    whole = as_text(replace(entry.message, parts=words))
    if not media:
        return _shortened(scene, entry, whole, tokens, with_ends=with_ends)
    line = prompt("media_moved").render(listed=media, pointer=scene.pointer(entry.position))
    if not whole.strip():
        return line
    room = tokens - scene.window.count(line)
    if scene.window.count(whole) <= room:
        return f"{whole}\n{line}"
    return f"{_shortened(scene, entry, whole, max(1, room), with_ends=with_ends)}\n{line}"


def _shortened(
    scene: PlanningContext, entry: Entry, text: str, tokens: int, *, with_ends: bool
) -> str:
    count, pointer = scene.window.count, scene.pointer(entry.position)
    lines = scene.budget.preview_lines
    latest = scene.latest_request
    request = latest.message.text if latest else ""
    if not entry.is_request and not with_ends:
        return texts.preview(text, tokens, count, pointer, lines, request)
    quotes = tuple(pin.text for pin in scene.window.pins if pin.position == entry.position)
    constraints = None if entry.is_request else 0
    shown = texts.excerpt(text, tokens * 2, tokens // 2, quotes, pointer, constraints=constraints)
    if count(shown) > tokens and quotes:
        shown = texts.excerpt(text, tokens // 2, 0, quotes, pointer, constraints=0)
    elif count(shown) > tokens:
        shown = texts.preview(text, tokens, count, pointer, lines, request)
    return shown if pointer in shown else f"{shown}\n[in full: {pointer}]"


ELIDED_CHARS = 400
"""Arguments up to this length are unchanged."""


def elide(scene: PlanningContext, entry: Entry, reason: Reason) -> Elide:
    """Replace the arguments of an assistant's large calls by their target and a reference."""
    pointer = scene.pointer(entry.position)
    uses = iter(entry.uses)
    parts = tuple(
        _elided(part, next(uses), pointer) if isinstance(part, ToolCall) else part
        for part in scene.shown(entry).parts
    )
    return Elide(**showing(scene, entry, parts, reason))


def has_long_arguments(message: Message) -> bool:
    """Return whether `elide` would omit anything."""
    return any(
        isinstance(part, ToolCall) and len(part.arguments) > ELIDED_CHARS for part in message.parts
    )


def _elided(call: ToolCall, use: ToolUse, pointer: str) -> ToolCall:
    if len(call.arguments) <= ELIDED_CHARS:
        return call
    notice = prompt("elided").render(brief=use.brief, chars=len(call.arguments), pointer=pointer)
    return replace(call, arguments=json.dumps({"_elided": notice}, ensure_ascii=False))


STALE_TOKENS = 150
"""A smaller stale read is not worth a line that replaces it."""


def supersede(scene: PlanningContext, after: int) -> Iterator[Supersede]:
    """Yield edits of reads after position `after` that a newer read or a whole write made stale.

    Reads are the same if every argument is. One whose result is much smaller than before
    ("unchanged since the last read") makes nothing stale.
    """
    newest: dict[tuple[str, str], Entry] = {}
    for entry in reversed(scene.window.entries.values()):
        use = entry.answers
        if use is None or not use.target or entry.position <= after or entry.message.is_error:
            continue
        if use.action == "write" and _writes_whole(use):
            newest.setdefault((use.target, ""), entry)
        elif use.action == "read":
            by = newest.get((use.target, use.scope), newest.get((use.target, "")))
            if by is None:
                newest[use.target, use.scope] = entry
            elif _is_stale(scene, entry, by):
                pointer = scene.pointer(entry.position)
                line = prompt("stale").render(
                    target=use.target[:200], by=by.position, pointer=pointer
                )
                reason: Reason = "a newer read or write made it stale"
                common = showing(scene, entry, (Text(line),), reason)
                yield Supersede(**common, by=by.position)


def _is_stale(scene: PlanningContext, entry: Entry, by: Entry) -> bool:
    written = by.answers is not None and by.answers.action == "write"
    as_much = written or by.tokens * 2 > entry.tokens
    return as_much and entry.tokens > STALE_TOKENS and not _edited(scene, entry)


def _writes_whole(use: ToolUse) -> bool:
    return any(word in use.name.lower() for word in ("write", "create"))


def unthink(scene: PlanningContext, after: int) -> Iterator[Elide]:
    """Yield edits that drop the reasoning of finished tool loops after position `after`.

    A loop is finished when a message of a person follows it. Reasoning is dropped by whole loops
    or not at all: the rest is as it was signed (I5).
    """
    latest = scene.latest_request
    for entry in scene.window.entries.values():
        finished = latest is not None and after < entry.position < latest.position
        if finished and entry.thinking and not is_blank(entry.message):
            if _edited(scene, entry) or entry.position in scene.window.stripped:
                continue
            parts = tuple(p for p in entry.message.parts if not isinstance(p, Thinking))
            yield Elide(**showing(scene, entry, parts, "reasoning of a finished tool loop"))


def _edited(scene: PlanningContext, entry: Entry) -> bool:
    return entry.position in scene.window.rewrites
