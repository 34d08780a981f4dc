"""Preserved thinking: signed reasoning is bound to everything that was sent before it.

Source: platform.claude.com, "Preserved thinking", "Prefix checks on thinking blocks" and "What's
new in Claude Fable 5.1"; docs.aws.amazon.com, "Preserved thinking" (all read 2026-11-23). A
signature here carries digests of the content it is bound to, so a thread may move between
providers.
"""

import json
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from strict_llm.exchange import Object, RequestProblem
from strict_llm.rules.anthropic_blocks import content_blocks
from strict_llm.rules.anthropic_compaction import stands_for_the_rest
from strict_llm.sealing import bonds, bound

BETA = "thinking-binding-controls-2026-08-01"
"""The value of the header `anthropic-beta` that admits `thinking.block_binding`."""
_KINDS = frozenset({"thinking", "redacted_thinking"})
_REFUSED = (
    "{path}: Invalid `signature` in `thinking` block. The block is bound to a different "
    "conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "
    f'"drop_block". That setting requires the `{BETA}` value in the `anthropic-beta` header. '
    "{why}"
)
_CHANGED = "The `system` prompt, `tools` or a message before the block changed."
_MISSING = (
    "The `thinking` block that preceded this one when it was created is missing from this request."
)


@dataclass(frozen=True, slots=True)
class UnboundReasoning:
    """A block of reasoning that is not in its original place."""

    path: str
    why: str

    @property
    def problem(self) -> RequestProblem:
        """How it is refused."""
        return RequestProblem(_REFUSED.format(path=self.path, why=self.why))

    @property
    def dropped(self) -> Object:
        """The report on it if it was dropped instead."""
        reason = "prefix_binding_mismatch"
        return {"type": "thinking_dropped", "path": self.path, "reason": reason}


BINDING_MODELS = (
    "claude-fable-5-1",
    "claude-fable-5-2",
    "claude-mythos-5-1",
    "claude-mythos-5-2",
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
)


def binds_thinking(model: str) -> bool:
    """Return whether a model binds reasoning; `model` may include a provider.

    Example:
        >>> binds_thinking("us.anthropic.claude-opus-5-5-v1:0"), binds_thinking("claude-opus-5")
        (True, False)
    """
    named = re.sub(r"[._]", "-", model.lower())
    return any(re.search(rf"{name}(?!-?\d{{1,2}}(?!\d))", named) for name in BINDING_MODELS)


def bound_signature(text: str, body: Object) -> str:
    """Sign reasoning that answers a body, bound to the body and the reasoning kept in it."""
    walk = _Walk.over(body)
    return bound(text, walk.digest, walk.previous)


def unbound(body: Object) -> list[UnboundReasoning]:
    """List the blocks of a well-formed body that are bound to another conversation."""
    return _Walk.over(body).found


def drops(body: Object) -> bool:
    """Return whether a body requests that such blocks are dropped, not refused."""
    return _binding(body).get("prefix_mismatch_behavior") == "drop_block"


def binding_problems(body: Object, betas: Container[str]) -> Iterator[RequestProblem]:
    """Refuse the setting `thinking.block_binding` without its beta header, or with odd values."""
    binding = _binding(body)
    if not binding:
        return
    if BETA not in betas:
        yield RequestProblem("thinking.block_binding: Extra inputs are not permitted")
    elif binding.get("prefix_mismatch_behavior") not in ("error", "drop_block"):
        yield RequestProblem(
            "thinking.block_binding.prefix_mismatch_behavior: Input should be 'error' or "
            "'drop_block'"
        )


def forced_problems(body: Object) -> Iterator[RequestProblem]:
    """Refuse a forced tool: these models choose for themselves."""
    choice = body.get("tool_choice")
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind in ("any", "tool"):
        yield RequestProblem(
            f'tool_choice: forcing tool use (`tool_choice` "{kind}") is not supported on this model'
        )


def _binding(body: Object) -> Mapping[str, Any]:
    thinking = body.get("thinking")
    binding = thinking.get("block_binding") if isinstance(thinking, dict) else None
    return binding if isinstance(binding, dict) else {}


def _short(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class _Walk:
    """One pass over a body: the digest of the prefix of each block, and the chain."""

    def __init__(self, body: Object) -> None:
        self._preamble = content_blocks(body.get("system")), body.get("tools") or []
        self._begin()

    def _begin(self) -> None:
        self._hash = sha256()
        self._role = ""
        self.previous = "0"
        self.found: list[UnboundReasoning] = []
        for each in self._preamble:
            self._put(each)

    @classmethod
    def over(cls, body: Object) -> "_Walk":
        walk = cls(body)
        for n, message in enumerate(body["messages"]):
            walk._message(n, message)
        return walk

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()[:32]

    def _message(self, n: int, message: Object) -> None:
        blocks = content_blocks(message["content"])
        for k, block in enumerate(blocks):
            if block.get("type") in _KINDS:
                self._thinking(f"messages.{n}.content.{k}", block)
            else:
                self._block(message["role"], block)

    def _block(self, role: str, block: Object) -> None:
        if stands_for_the_rest(block):
            self._begin()  # what precedes it is dropped
            block = {name: value for name, value in block.items() if value is not None}
        if role != self._role:  # neighbours of one role are one turn
            self._hash.update(f"\n{role}\n".encode())
            self._role = role
        self._put(block)

    def _put(self, value: object) -> None:
        text = json.dumps(_unmarked(value), sort_keys=True)
        self._hash.update(text.encode("utf-8", "surrogatepass"))

    def _thinking(self, path: str, block: Object) -> None:
        signed = str(block.get("signature") or block.get("data") or "")
        prefix, previous = bonds(signed)
        if prefix != self.digest:
            self.found.append(UnboundReasoning(path, _CHANGED))
        elif self.previous not in ("0", previous):
            self.found.append(UnboundReasoning(path, _MISSING))
        else:
            self.previous = _short(signed)
            return
        if self.previous == "0":
            self.previous = "-"  # what follows an invalid block is invalid, too


def _unmarked(value: object) -> object:
    """Remove what may change freely: cache breakpoints, reasoning inside of results."""
    match value:
        case dict():
            return {k: _unmarked(v) for k, v in value.items() if k != "cache_control"}
        case list():
            return [_unmarked(one) for one in value]
        case _:
            return value
