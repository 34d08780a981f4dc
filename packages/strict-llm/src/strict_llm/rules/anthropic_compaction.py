"""Compaction at a token threshold: the server summarizes within an ordinary request.

Source: platform.claude.com, "Compaction at a token threshold" (read 2026-11-23), and the types of
the package anthropic 2.12 (`BetaCompact20260112EditParam`, `BetaCompactionBlockParam`). The answer
begins with the block; in later requests the server drops what precedes the newest block.
"""

from collections.abc import Container, Iterator, Mapping

from strict_llm.exchange import Object, RequestProblem
from strict_llm.rules.anthropic_blocks import content_blocks

COMPACTION_BETA = "compact-2026-01-12"
"""The value of the header `anthropic-beta` that admits the edit and its blocks."""
COMPACT = "compact_20260112"
DEFAULT_TRIGGER, LEAST_TRIGGER = 150_000, 50_000
"""Input tokens: of an edit without a trigger, and the fewest that a trigger may have."""
_FIELDS = {"type", "trigger", "instructions", "pause_after_compaction"}


def stands_for_the_rest(block: object) -> bool:
    """Return whether a block is of a compaction that succeeded."""
    if not isinstance(block, Mapping):
        return False
    return block.get("type") == "compaction" and block.get("content") is not None


def visible(body: Object) -> Object:
    """Return a body from the newest compaction on: what precedes it is dropped."""
    messages = body["messages"]
    for n in range(len(messages) - 1, -1, -1):
        blocks = content_blocks(messages[n]["content"])
        for k in range(len(blocks) - 1, -1, -1):
            if stands_for_the_rest(blocks[k]):
                first = {**messages[n], "content": blocks[k:]}
                return {**body, "messages": [first, *messages[n + 1 :]]}
    return body


def compaction_problems(body: Object, betas: Container[str]) -> Iterator[RequestProblem]:
    """Refuse the blocks of earlier compactions without the beta header."""
    for n, message in enumerate(body["messages"]):
        for k, block in enumerate(content_blocks(message["content"])):
            if block.get("type") == "compaction" and COMPACTION_BETA not in betas:
                yield RequestProblem(
                    f"messages.{n}.content.{k}: Input tag 'compaction' found using 'type' does "
                    f"not match any of the expected tags; it requires the `{COMPACTION_BETA}` "
                    "value in the `anthropic-beta` header"
                )


def compact_problems(path: str, edit: Object) -> Iterator[RequestProblem]:
    """Refuse an edit `compact_20260112` with invalid settings."""
    for name in sorted(edit.keys() - _FIELDS):
        yield RequestProblem(f"{path}.{name}: Extra inputs are not permitted")
    trigger = edit.get("trigger")
    if trigger is not None:
        value = trigger.get("value") if isinstance(trigger, Mapping) else None
        if not isinstance(trigger, Mapping) or trigger.get("type") != "input_tokens":
            yield RequestProblem(f"{path}.trigger: Input should be a number of input_tokens")
        elif not isinstance(value, int) or value < LEAST_TRIGGER:
            yield RequestProblem(
                f"{path}.trigger.value: Input should be greater than or equal to {LEAST_TRIGGER}"
            )
    if not isinstance(edit.get("pause_after_compaction", False), bool):
        yield RequestProblem(f"{path}.pause_after_compaction: Input should be a valid boolean")
    if not isinstance(edit.get("instructions"), str | None):
        yield RequestProblem(f"{path}.instructions: Input should be a valid string")


def is_triggered(body: Object, tokens: int) -> bool:
    """Return whether a valid body of so many tokens is compacted."""
    edits = (body.get("context_management") or {}).get("edits") or ()
    edit = next((one for one in edits if one["type"] == COMPACT), None)
    if edit is None:
        return False
    least: int = (edit.get("trigger") or {"value": DEFAULT_TRIGGER})["value"]
    return tokens >= least
