"""Edits of one message. Each starts from the current view, so they accumulate."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypedDict

from thalweg.engine.compaction import texts
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.edits import Elide, Evict, Reason
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


def edit_fields(
    context: PlanningContext, entry: Entry, parts: tuple[Part, ...], reason: Reason
) -> EditFields:
    """Return the common fields of an edit, with tokens before and after."""
    return {
        "reason": reason,
        "turn": context.turn,
        "tokens_before": context.shown_tokens(entry),
        "tokens_after": context.tokens(replace(entry.message, parts=parts)),
        "position": entry.position,
        "parts": parts,
    }


def evict(
    context: PlanningContext,
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
        context: The planning context.
        entry: The message.
        tokens: Most tokens of the preview.
        reason: Reason of the edit.
        with_ends: Show its beginning and its end as running text, if they fit.
        keeps_media: Keep its images, documents, sounds and films, too: the preview is of its text.
    """
    kept_types = (ToolCall, Thinking, Media) if keeps_media else (ToolCall, Thinking)
    replaced_parts = tuple(p for p in entry.message.parts if not isinstance(p, kept_types))
    text = Text(_replacement_text(context, entry, replaced_parts, tokens, with_ends=with_ends))
    shown = context.shown(entry).parts
    replaced_indices = [k for k, p in enumerate(shown) if not isinstance(p, kept_types)]
    first_replaced = replaced_indices[0] if replaced_indices else 0
    parts = (
        *(p for k, p in enumerate(shown) if k < first_replaced),
        text,
        *(p for k, p in enumerate(shown) if k >= first_replaced and k not in replaced_indices),
    )
    return Evict(**edit_fields(context, entry, parts, reason))


def _replacement_text(
    context: PlanningContext, entry: Entry, parts: Sequence[Part], tokens: int, *, with_ends: bool
) -> str:
    """Write what replaces parts of a message: a preview of their text, and the names of media."""
    media = media_line(replace(entry.message, parts=tuple(parts)))
    text_parts = tuple(p for p in parts if not isinstance(p, Media))
    text = as_text(replace(entry.message, parts=text_parts))
    if not media:
        return _shortened(context, entry, text, tokens, with_ends=with_ends)
    media_note = prompt("media_moved").render(listed=media, pointer=context.pointer(entry.position))
    if not text.strip():
        return media_note
    room = tokens - context.window.count(media_note)
    if context.window.count(text) <= room:
        return f"{text}\n{media_note}"
    return f"{_shortened(context, entry, text, max(1, room), with_ends=with_ends)}\n{media_note}"


def _shortened(
    context: PlanningContext, entry: Entry, text: str, tokens: int, *, with_ends: bool
) -> str:
    count, pointer = context.window.count, context.pointer(entry.position)
    lines = context.budget.preview_lines
    latest = context.latest_request
    use = entry.answers
    values = re.sub(r"(^|, )\w+=", r"\1", use.brief.removeprefix(use.name)) if use else ""
    request = f"{latest.message.text if latest else ''}\n{values}"
    if not entry.is_request and not with_ends:
        return texts.preview(text, tokens, count, pointer, lines, request)
    quotes = tuple(pin.text for pin in context.window.pins if pin.position == entry.position)
    constraints = None if entry.is_request else 0
    shown = texts.excerpt(
        text, tokens * 2, tokens // 2, quotes, pointer, max_constraint_chars=constraints
    )
    if count(shown) > tokens and quotes:
        shown = texts.excerpt(text, tokens // 2, 0, quotes, pointer, max_constraint_chars=0)
    elif count(shown) > tokens:
        shown = texts.preview(text, tokens, count, pointer, lines, request)
    return shown if pointer in shown else f"{shown}\n[in full: {pointer}]"


ELIDED_CHARS = 400
"""Arguments up to this length are unchanged."""


def elide(context: PlanningContext, entry: Entry, reason: Reason) -> Elide:
    """Replace the arguments of an assistant's large calls by their target and a reference."""
    pointer = context.pointer(entry.position)
    uses = iter(entry.uses)
    parts = tuple(
        _elided(part, next(uses), pointer) if isinstance(part, ToolCall) else part
        for part in context.shown(entry).parts
    )
    return Elide(**edit_fields(context, entry, parts, reason))


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


def drop_reasoning(context: PlanningContext, after_position: int) -> Iterator[Elide]:
    """Yield edits that drop the reasoning of finished tool loops after position `after_position`.

    A loop is finished when a message of a person follows it. Reasoning is dropped by whole loops
    or not at all: the rest is as it was signed (I5).
    """
    latest = context.latest_request
    for entry in context.window.entries.values():
        is_finished = latest is not None and after_position < entry.position < latest.position
        if is_finished and entry.thinking and not is_blank(entry.message):
            window = context.window
            if entry.position in window.rewrites or entry.position in window.stripped:
                continue
            parts = tuple(p for p in entry.message.parts if not isinstance(p, Thinking))
            yield Elide(**edit_fields(context, entry, parts, "reasoning of a finished tool loop"))
