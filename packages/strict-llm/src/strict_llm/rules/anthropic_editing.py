"""Context editing: the content that the server removes before the model sees a request.

Source: platform.claude.com, "Context editing" (read 2026-11-23). The client sends its whole history
each time, unchanged, so reasoning that is bound to it remains valid. Each request is edited alone:
nothing is stored between requests.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strict_llm.exchange import Object, RequestProblem
from strict_llm.rules.anthropic_blocks import content_blocks
from strict_llm.rules.anthropic_compaction import (
    COMPACT,
    COMPACTION_BETA,
    compact_problems,
)

EDITING_BETA = "context-management-2025-06-27"
"""The value of the header `anthropic-beta` that admits `context_management`."""
TOOL_USES, THINKING = "clear_tool_uses_20250919", "clear_thinking_20251015"
PLACEHOLDER = "[Old tool result content cleared]"
_TRIGGER: Mapping[str, Any] = {"type": "input_tokens", "value": 100_000}
_KEEP: Mapping[str, Any] = {"type": "tool_uses", "value": 3}
_KEEP_TURNS: Mapping[str, Any] = {"type": "thinking_turns", "value": 1}
_AMOUNTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    TOOL_USES: {
        "trigger": ("input_tokens", "tool_uses"),
        "keep": ("tool_uses",),
        "clear_at_least": ("input_tokens",),
    },
    THINKING: {"keep": ("thinking_turns",)},
}
"""The units of each amount of an edit."""
_OTHERS: Mapping[str, Mapping[str, type]] = {
    TOOL_USES: {"exclude_tools": list, "clear_tool_inputs": bool},
    THINKING: {},
}
_REASONING = frozenset({"thinking", "redacted_thinking"})

Count = Callable[[Object], int]
"""Counts the tokens of a body."""


@dataclass(frozen=True, slots=True)
class EditedBody:
    """A body as the model sees it, and the report of the removed content."""

    body: Object
    applied: tuple[Object, ...] = ()
    """As `context_management.applied_edits` reports it."""


def editing_problems(body: Object, betas: frozenset[str]) -> Iterator[RequestProblem]:
    """Refuse context editing without its beta header, or with invalid settings."""
    settings = body.get("context_management")
    if settings is None:
        return
    if not betas & {EDITING_BETA, COMPACTION_BETA}:
        yield RequestProblem("context_management: Extra inputs are not permitted")
        return
    edits = settings.get("edits") if isinstance(settings, dict) else None
    if not isinstance(edits, list):
        yield RequestProblem("context_management.edits: Input should be a valid list")
        return
    for n, edit in enumerate(edits):
        path = f"context_management.edits.{n}"
        is_compact = isinstance(edit, dict) and edit.get("type") == COMPACT
        beta = COMPACTION_BETA if is_compact else EDITING_BETA
        if beta not in betas:
            yield RequestProblem(f"{path}: it requires the `{beta}` value in `anthropic-beta`")
        yield from compact_problems(path, edit) if is_compact else _edit_problems(path, edit)
    kinds = [edit.get("type") for edit in edits if isinstance(edit, dict)]
    if THINKING in kinds[1:]:
        yield RequestProblem(f"context_management.edits: `{THINKING}` must be the first edit")


def _edit_problems(path: str, edit: object) -> Iterator[RequestProblem]:
    kind = str(edit.get("type")) if isinstance(edit, dict) else ""
    if not isinstance(edit, dict) or kind not in _AMOUNTS:
        yield RequestProblem(f"{path}: Input should be `{TOOL_USES}` or `{THINKING}`")
        return
    for name, value in edit.items():
        if name in _AMOUNTS[kind]:
            is_all = kind == THINKING and value == "all"
            if value is not None and not is_all and not _is_amount(value, _AMOUNTS[kind][name]):
                units = " or ".join(_AMOUNTS[kind][name])
                yield RequestProblem(f"{path}.{name}: Input should be a number of {units}")
        elif name in _OTHERS[kind]:
            if not isinstance(value, (_OTHERS[kind][name], type(None))):
                yield RequestProblem(f"{path}.{name}: Input should be a valid value")
        elif name != "type":
            yield RequestProblem(f"{path}.{name}: Extra inputs are not permitted")


def _is_amount(value: object, units: Sequence[str]) -> bool:
    number = value.get("value") if isinstance(value, dict) else None
    return (
        isinstance(value, dict)
        and value.get("type") in units
        and isinstance(number, int)
        and number >= 0
    )


def edited(body: Object, count: Count) -> EditedBody:
    """Apply the edits that a valid body requests, in its order."""
    applied: list[Object] = []
    for edit in (body.get("context_management") or {}).get("edits") or ():
        if edit["type"] == COMPACT:
            continue
        change = _without_thinking if edit["type"] == THINKING else _without_results
        messages, cleared = change(body, edit, count)
        if not cleared:
            continue
        smaller = {**body, "messages": messages}
        tokens = count(body) - count(smaller)
        if tokens < (edit.get("clear_at_least") or {"value": 0})["value"]:
            continue
        name = "cleared_thinking_turns" if edit["type"] == THINKING else "cleared_tool_uses"
        applied.append({"type": edit["type"], name: cleared, "cleared_input_tokens": tokens})
        body = smaller
    return EditedBody(body, tuple(applied))


def _without_results(body: Object, edit: Object, count: Count) -> tuple[list[Any], int]:
    """Clear the oldest results; return the messages and how many were cleared."""
    uses = [
        (block["id"], block["name"])
        for message in body["messages"]
        for block in content_blocks(message["content"])
        if block["type"] == "tool_use"
    ]
    trigger = edit.get("trigger") or _TRIGGER
    size = len(uses) if trigger["type"] == "tool_uses" else count(body)
    kept = (edit.get("keep") or _KEEP)["value"]
    if size <= trigger["value"]:
        return body["messages"], 0
    excluded = edit.get("exclude_tools") or ()
    old = {uid for uid, name in uses[: max(0, len(uses) - kept)] if name not in excluded}
    inputs = bool(edit.get("clear_tool_inputs"))

    def clear(block: Object) -> Object:
        if block["type"] == "tool_result" and block["tool_use_id"] in old:
            return {**block, "content": PLACEHOLDER}
        return {**block, "input": {}} if inputs and block.get("id") in old else block

    messages = [
        {**message, "content": [clear(block) for block in content_blocks(message["content"])]}
        for message in body["messages"]
    ]
    return messages, len(old)


def _without_thinking(body: Object, edit: Object, count: Count) -> tuple[list[Any], int]:
    """Clear the reasoning of the oldest turns; a turn ends with a user's own message."""
    del count
    keep = edit.get("keep") or _KEEP_TURNS
    turns, turn = list[set[int]](), set[int]()
    for n, message in enumerate(body["messages"]):
        kinds = {block["type"] for block in content_blocks(message["content"])}
        if message["role"] == "user" and kinds - {"tool_result"}:
            turns, turn = [*turns, turn], set()
        elif message["role"] == "assistant" and kinds & _REASONING:
            turn.add(n)
    thought = [each for each in (*turns, turn) if each]
    old = [] if keep == "all" else thought[: max(0, len(thought) - keep["value"])]
    gone = set[int]().union(*old)
    messages = [
        {**message, "content": _unthought(message["content"])} if n in gone else message
        for n, message in enumerate(body["messages"])
    ]
    return messages, len(old)


def _unthought(content: object) -> list[Object]:
    return [block for block in content_blocks(content) if block["type"] not in _REASONING]
