"""The rungs of the ladder, least loss first, as pure decisions about a window.

Each function looks at the window as it stands and returns edits; none changes anything.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from thalweg.context.budget import Budget
from thalweg.context.edits import Elide, Evict, Fold, Reason, Rewrite, Supersede
from thalweg.context.fold import absorb
from thalweg.context.pins import excerpt
from thalweg.context.preview import preview
from thalweg.context.record import render
from thalweg.context.window import Window, is_blank, record_message
from thalweg.entries import Entry, Text, Thinking, ToolCall, ToolUse
from thalweg.prompts import prompt
from thalweg.tokens import measure
from thalweg.transcript import as_text

NameSpan = Callable[[int, int], str]
"""The handle of the messages from one position to another, both included."""


@dataclass(frozen=True, slots=True)
class Scene:
    """All that a decision may look at."""

    window: Window
    budget: Budget
    name_span: NameSpan
    turn: int
    """The model call that is being prepared, from 1."""

    @property
    def newest(self) -> int:
        """Position of the newest message."""
        return next(reversed(self.window.entries), self.window.record.last)

    @property
    def fixed(self) -> int:
        """Tokens that no edit can free: the system prompt."""
        return self.window.ledger.tokens["system"]

    def pointer(self, position: int) -> str:
        """Say how the model reads one message in full."""
        return prompt("pointer").render(handle=self.name_span(position, position))


RECALL = "recall"
"""The tool that reads back what left the context. What it brings is bounded already."""


def plan_arrivals(scene: Scene) -> list[Rewrite]:
    """Bound the tool results that came since the last call. They were never sent: it is free.

    What was read back stays as it is, else reading would be a loop (I27).
    """
    budget = scene.budget
    return [
        evict(scene, entry, budget.preview, "arrived too large")
        for entry in scene.window.open_entries
        if entry.message.role == "tool"
        and entry.tokens > budget.result
        and not (entry.answers and entry.answers.name == RECALL)
        and _unedited(scene, entry)
    ]


def plan_fold(scene: Scene, *, tail: int, record: int, reason: Reason) -> Fold | None:
    """Plan to fold all but the newest `tail` tokens into a record of at most `record` tokens.

    The latest request stays the message it is, wherever it stands, unless it alone is more
    than a quarter of the limit.

    Returns:
        `None` when there is nothing to fold.
    """
    window = scene.window
    cut = window.cut_for_tail(tail)
    tail_positions = {item.position for item in window.items[cut:]}
    spoken = (e for e in reversed(window.entries.values()) if e.is_request)
    latest = next((e for e in spoken if not is_blank(e.message)), None)
    kept: set[int] = set()
    if latest and latest.position not in tail_positions:
        kept |= {latest.position} if latest.tokens <= scene.budget.limit // 4 else set()
    folded = window.folded_by(cut, kept)
    if not folded and window.fold is None:
        return None
    last = max((e.position for e in folded), default=window.record.last)
    last = max(last, window.record.last)
    text = render(
        absorb(window.record, folded),
        handle=scene.name_span(0, scene.newest),
        budget=record,
        count=window.count,
        pins=window.pins,
    )
    kept |= {p for p in tail_positions if 0 <= p <= last}
    gone = {e.position for e in folded}
    replaced = [i for i in window.items[:cut] if i.section != "system"]
    return Fold(
        reason=reason,
        turn=scene.turn,
        tokens_before=sum(i.tokens for i in replaced if i.position in gone or i.position < 0),
        tokens_after=measure(record_message(text), window.count).tokens,
        last=last,
        kept=tuple(sorted(kept)),
        record=text,
    )


STALE_TOKENS = 150
"""A stale read smaller than this is not worth a line that says so."""


def plan_tail(scene: Scene, fold: Fold) -> Iterator[Rewrite]:
    """Tidy what stays behind a fold: it is written to the cache again anyway."""
    yield from plan_supersede(scene, fold.last)
    yield from plan_unthink(scene, fold.last)


def plan_supersede(scene: Scene, after: int) -> Iterator[Supersede]:
    """Find reads behind position `after` that a newer read or a whole write made stale."""
    newest: dict[tuple[str, str], int] = {}
    for entry in reversed(scene.window.entries.values()):
        use = entry.answers
        if use is None or not use.target or entry.position <= after or entry.message.is_error:
            continue
        if use.action == "write" and _writes_whole(use):
            newest.setdefault((use.target, ""), entry.position)
        elif use.action == "read":
            by = newest.get((use.target, use.scope), newest.get((use.target, "")))
            if by is None:
                newest[use.target, use.scope] = entry.position
            elif entry.tokens > STALE_TOKENS and _unedited(scene, entry):
                pointer = scene.pointer(entry.position)
                line = prompt("stale").render(target=use.target[:200], by=by, pointer=pointer)
                parts = (Text(line),)
                shown = measure(replace(entry.message, parts=parts), scene.window.count)
                yield Supersede(
                    reason="a newer read or write made it stale",
                    turn=scene.turn,
                    tokens_before=entry.tokens,
                    tokens_after=shown.tokens,
                    position=entry.position,
                    parts=parts,
                    by=by,
                )


def plan_unthink(scene: Scene, after: int) -> Iterator[Elide]:
    """Leave out the reasoning of finished tool loops behind position `after`.

    A loop is finished when a person spoke after it. Reasoning goes by whole loops, or not at
    all: what is left is as it was signed (I5).
    """
    entries = [e for p, e in scene.window.entries.items() if p > after]
    spoken = max((e.position for e in entries if e.is_request), default=-1)
    for entry in entries:
        shown = entry.position < spoken and not is_blank(entry.message)
        if shown and entry.thinking and _unedited(scene, entry):
            parts = tuple(p for p in entry.message.parts if not isinstance(p, Thinking))
            yield Elide(
                reason="reasoning of a finished tool loop",
                turn=scene.turn,
                tokens_before=entry.tokens,
                tokens_after=measure(
                    replace(entry.message, parts=parts), scene.window.count
                ).tokens,
                position=entry.position,
                parts=parts,
            )


def _unedited(scene: Scene, entry: Entry) -> bool:
    return entry.position not in scene.window.rewrites


def _writes_whole(use: ToolUse) -> bool:
    return any(word in use.name.lower() for word in ("write", "create"))


def evict(scene: Scene, entry: Entry, tokens: int, reason: Reason) -> Evict:
    """Show a preview of at most `tokens` tokens instead of a message. Calls and thinking stay."""
    window, message = scene.window, entry.message
    pointer = scene.pointer(entry.position)
    goes = [k for k, p in enumerate(message.parts) if not isinstance(p, ToolCall | Thinking)]
    text = as_text(replace(message, parts=tuple(message.parts[k] for k in goes)))
    if entry.is_request:
        quotes = tuple(pin.text for pin in window.pins if pin.position == entry.position)
        shown = excerpt(text, tokens * 2, tokens // 2, quotes, pointer)
        if window.count(shown) > tokens and quotes:
            shown = excerpt(text, tokens // 2, 0, quotes, pointer, constraints=0)
        elif window.count(shown) > tokens:
            shown = preview(text, tokens, window.count, pointer)
        if pointer not in shown:
            shown = f"{shown}\n[in full: {pointer}]"
    else:
        shown = preview(text, tokens, window.count, pointer)
    now = window.rewrites.get(entry.position)
    parts = tuple(
        Text(shown) if k in goes else part
        for k, part in enumerate(message.parts)
        if k not in goes[1:]
    )
    return Evict(
        reason=reason,
        turn=scene.turn,
        tokens_before=entry.tokens if now is None else now.tokens_after,
        tokens_after=measure(replace(message, parts=parts), window.count).tokens,
        position=entry.position,
        parts=parts,
    )


def elide(scene: Scene, entry: Entry, reason: Reason) -> Elide:
    """Replace the arguments of an assistant's large calls by what they act on and a handle."""
    pointer = scene.pointer(entry.position)
    uses = iter(entry.uses)
    parts = tuple(
        _elided(part, next(uses), pointer) if isinstance(part, ToolCall) else part
        for part in entry.message.parts
    )
    return Elide(
        reason=reason,
        turn=scene.turn,
        tokens_before=entry.tokens,
        tokens_after=measure(replace(entry.message, parts=parts), scene.window.count).tokens,
        position=entry.position,
        parts=parts,
    )


ELIDED_CHARS = 400
"""Arguments up to this length are left as they are."""


def _elided(call: ToolCall, use: ToolUse, pointer: str) -> ToolCall:
    if len(call.arguments) <= ELIDED_CHARS:
        return call
    said = prompt("elided").render(brief=use.brief, chars=len(call.arguments), pointer=pointer)
    brief = json.dumps(
        {"_elided": said},
        ensure_ascii=False,
    )
    return replace(call, arguments=brief)
