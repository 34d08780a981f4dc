"""Anthropic's refusals of `POST /v1/messages`.

Neighbouring messages of one role are one turn, as they are to Anthropic. A system message among the
others is refused by models without support for it, and in invalid places (platform.claude.com,
"Mid-conversation system messages", read 2026-11-23).
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from types import NoneType
from typing import Any

from strict_llm.exchange import Object, RequestProblem
from strict_llm.rules.anthropic_blocks import (
    Block,
    block_problems,
    blocks_of,
    cache_control,
    content_blocks,
    name_problems,
)
from strict_llm.rules.anthropic_compaction import stands_for_the_rest
from strict_llm.rules.anthropic_deferral import deferral_problems

MOST_BREAKPOINTS = 4
MOST_MEDIA = 100
_TOOL_NAME_CHARS = 128
_KINDS: dict[str, tuple[type, ...]] = {
    "thinking": (dict,),
    "cache_control": (dict,),
    "tools": (list,),
    "system": (str, list),
}


def problems(body: Object, *, takes_system: bool = False) -> Iterator[RequestProblem]:
    """List the problems of a request; of its order only if each block is well formed."""
    malformed = [*_parameters(body), *_messages(body, takes_system=takes_system)]
    blocks = [] if malformed else blocks_of(body)
    malformed += [problem for block in blocks for problem in block_problems(block)]
    yield from malformed
    if not malformed:
        yield from _order(body["messages"])
        yield from _placed(body["messages"])
        yield from _turns([block for block in blocks if block.at >= 0 and not block.nested])
        yield from _reasoned(body, blocks)
        yield from _media(blocks)
        yield from _breakpoints(body, blocks)
        yield from deferral_problems(body)


def _parameters(body: Object) -> Iterator[RequestProblem]:
    if not isinstance(body.get("model"), str):
        yield RequestProblem("model: Field required")
    most = body.get("max_tokens")
    if most is None:
        yield RequestProblem("max_tokens: Field required")
    elif not isinstance(most, int):
        yield RequestProblem("max_tokens: Input should be a valid integer")
    elif most < 1:
        yield RequestProblem("max_tokens: must be greater than or equal to 1")
    for name, kind in _KINDS.items():
        if not isinstance(body.get(name), (*kind, NoneType)):
            names = " or ".join(each.__name__ for each in kind)
            yield RequestProblem(f"{name}: Input should be a valid {names}")
            return
    thinking = body.get("thinking") or {}
    budget = thinking.get("budget_tokens")
    if thinking.get("type") != "enabled":
        pass
    elif not isinstance(budget, int):
        yield RequestProblem("thinking.enabled.budget_tokens: Field required")
    elif isinstance(most, int) and most <= budget:
        yield RequestProblem(
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our "
            "documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
        )
    yield from _tools(body.get("tools") or ())
    yield from cache_control("", body)


def _tools(tools: Sequence[Any]) -> Iterator[RequestProblem]:
    names = [str(tool.get("name")) for tool in tools if isinstance(tool, dict)]
    for n, tool in enumerate(tools):
        if not isinstance(tool, dict):
            yield RequestProblem(f"tools.{n}: Input should be an object")
            continue
        yield from cache_control(f"tools.{n}", tool)
        yield from name_problems(f"tools.{n}.custom.name", tool.get("name"), _TOOL_NAME_CHARS)
        if tool.get("type", "custom") == "custom" and not isinstance(
            tool.get("input_schema"), dict
        ):
            yield RequestProblem(f"tools.{n}.custom.input_schema: Field required")
    if len(set(names)) < len(names):
        yield RequestProblem("tools: Tool names must be unique.")


def _messages(body: Object, *, takes_system: bool) -> Iterator[RequestProblem]:
    messages = body.get("messages")
    if messages is None:
        yield RequestProblem("messages: Field required")
    elif not isinstance(messages, list):
        yield RequestProblem("messages: Input should be a valid list")
    elif not messages:
        yield RequestProblem("messages: at least one message is required")
    else:
        for n, message in enumerate(messages):
            yield from _message(f"messages.{n}", message, takes_system=takes_system)


def _message(path: str, message: object, *, takes_system: bool) -> Iterator[RequestProblem]:
    if not isinstance(message, dict):
        yield RequestProblem(f"{path}: Input should be an object")
        return
    role = message.get("role")
    if role == "system" and not takes_system:
        yield RequestProblem(
            'messages: Unexpected role "system". The Messages API accepts a top-level `system` '
            'parameter, not "system" as an input message role.'
        )
    elif role not in ("user", "assistant", "system"):
        yield RequestProblem(f"{path}.role: Input should be 'user' or 'assistant'")
    for name in sorted(message.keys() - {"role", "content"}):
        yield RequestProblem(f"{path}.{name}: Extra inputs are not permitted")
    if message.get("content") is None:
        yield RequestProblem(f"{path}.content: Field required")
    elif not isinstance(message["content"], str | list):
        yield RequestProblem(f"{path}.content: Input should be a valid string or list")


def _order(messages: list[Object]) -> Iterator[RequestProblem]:
    begins = content_blocks(messages[0]["content"])[:1]
    if messages[0]["role"] != "user" and not any(map(stands_for_the_rest, begins)):
        yield RequestProblem('messages: first message must use the "user" role')
    last = len(messages) - 1
    for n, message in enumerate(messages):
        if not message["content"] and (n < last or message["role"] != "assistant"):
            yield RequestProblem(
                f"messages.{n}: all messages must have non-empty content except for the optional "
                "final assistant message"
            )
    final = content_blocks(messages[-1]["content"])
    if messages[-1]["role"] == "assistant" and final:
        text = final[-1].get("text")
        if isinstance(text, str) and text != text.rstrip():
            yield RequestProblem(
                "messages: final assistant content cannot end with trailing whitespace"
            )


def _placed(messages: list[Object]) -> Iterator[RequestProblem]:
    """Yield a problem for a system message outside of its place between the user and the model."""
    roles = [message["role"] for message in messages]
    for n, role in enumerate(roles):
        if role != "system":
            continue
        before = roles[n - 1] if n else ""
        blocks = content_blocks(messages[n - 1]["content"]) if before == "assistant" else []
        by_server = bool(blocks) and str(blocks[-1].get("type")).endswith("server_tool_use")
        if before != "user" and not by_server:
            yield RequestProblem(
                f"messages.{n}: a `system` message must immediately follow a `user` message or an "
                "`assistant` message that ends in a server tool use"
            )
        elif n + 1 < len(roles) and roles[n + 1] != "assistant":
            yield RequestProblem(
                f"messages.{n}: a `system` message must be the last message or be followed by an "
                "`assistant` message"
            )


def _turns(blocks: list[Block]) -> Iterator[RequestProblem]:
    """Every use has its result at the start of the next turn, every result its use before."""
    uses: list[Block] = []
    seen: set[str] = set()
    for role, run in groupby(blocks, key=lambda block: block.role):
        turn = list(run)
        yield from _answers(uses, turn)
        uses = [block for block in turn if block.kind == "tool_use"]
        for use in uses:
            if use.body["id"] in seen:
                yield RequestProblem(f"{use.path}: `tool_use` ids must be unique")
            seen.add(use.body["id"])
        if role == "assistant" and turn[-1].kind in {"thinking", "redacted_thinking"}:
            yield RequestProblem(
                f"messages.{turn[-1].at}: The final block in an assistant message cannot be "
                f"`{turn[-1].kind}`."
            )
    yield from _answers(uses, [])


def _answers(uses: list[Block], turn: list[Block]) -> Iterator[RequestProblem]:
    use_ids = {use.body["id"] for use in uses}
    given: set[str] = set()
    leading: set[str] = set()
    at_start = True
    for block in turn:
        if block.kind != "tool_result":
            at_start = False
            continue
        answers = block.body["tool_use_id"]
        if answers not in use_ids:
            yield RequestProblem(
                f"{block.path}: unexpected `tool_use_id` found in `tool_result` blocks: "
                f"{answers}. Each `tool_result` block must have a corresponding `tool_use` block "
                "in the previous message."
            )
        elif answers in given:
            yield RequestProblem(
                f"{block.path}: each tool_use must have a single result. Found multiple "
                f"`tool_result` blocks with id: {answers}"
            )
        given.add(answers)
        if at_start:
            leading.add(answers)
    if left := [use.body["id"] for use in uses if use.body["id"] not in leading]:
        yield RequestProblem(
            f"messages.{uses[-1].at}: `tool_use` ids were found without `tool_result` blocks "
            f"immediately after: {', '.join(left)}. Each `tool_use` block must have a "
            "corresponding `tool_result` block in the next message."
        )


def _reasoned(body: Object, blocks: list[Block]) -> Iterator[RequestProblem]:
    """Demand, where thinking is on, that the turn in progress began with it."""
    if (body.get("thinking") or {}).get("type") != "enabled":
        return
    own = [block for block in blocks if block.at >= 0 and not block.nested]
    requests = [
        n for n, block in enumerate(own) if block.role == "user" and block.kind != "tool_result"
    ]
    current = own[requests[-1] + 1 :] if requests else own
    first = next((block for block in current if block.role == "assistant"), None)
    if first is not None and first.kind not in {"thinking", "redacted_thinking"}:
        yield RequestProblem(
            f"{first.path}.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{first.kind}`. When `thinking` is enabled, a final `assistant` message must start "
            "with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` "
            "blocks). We recommend you include thinking blocks from previous turns. To avoid this "
            "requirement, disable `thinking`. Please consult our documentation at "
            "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
        )


def _media(blocks: list[Block]) -> Iterator[RequestProblem]:
    images = sum(block.kind == "image" for block in blocks)
    documents = sum(block.kind == "document" for block in blocks)
    if images + documents > MOST_MEDIA:
        yield RequestProblem(
            f"too many images and documents: {images} + {documents} > {MOST_MEDIA}"
        )


def _breakpoints(body: Object, blocks: list[Block]) -> Iterator[RequestProblem]:
    marked = [
        (f"tools.{n}", tool["cache_control"])
        for n, tool in enumerate(body.get("tools") or ())
        if tool.get("cache_control")
    ] + [
        (block.path, block.body["cache_control"])
        for block in blocks
        if block.body.get("cache_control")
    ]
    if body.get("cache_control"):
        marked.append(("", body["cache_control"]))
    if len(marked) > MOST_BREAKPOINTS:
        yield RequestProblem(
            f"A maximum of {MOST_BREAKPOINTS} blocks with cache_control may be provided. "
            f"Found {len(marked)}."
        )
    short = False
    for path, mark in marked:
        ttl = mark.get("ttl") or "5m"
        if short and ttl == "1h":
            yield RequestProblem(
                f"{path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a "
                "ttl='5m' cache_control block. Note that blocks are processed in the following "
                "order: `tools`, `system`, `messages`.".lstrip(".")
            )
        short = short or ttl == "5m"
