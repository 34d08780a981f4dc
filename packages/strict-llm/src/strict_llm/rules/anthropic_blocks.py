"""Content blocks of Anthropic: their places, and their allowed fields."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from strict_llm.exchange import Object, RequestProblem
from strict_llm.rules.openai_problems import is_base64
from strict_llm.sealing import is_genuine, opened
from strict_llm.tables import read_table

ID = re.compile(r"[a-zA-Z0-9_-]+")
MOST_IMAGE_BYTES = 5_242_880
_TABLE = read_table("rules/anthropic_blocks.toml")
_OWN: dict[str, list[str]] = _TABLE["own"]
_NEEDED: dict[str, list[str]] = _TABLE["needed"]
_OPTIONAL: dict[str, list[str]] = _TABLE["optional"]
_TEXTS = {"text", "thinking", "signature", "data", "id", "name", "tool_use_id"}
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")


@dataclass(frozen=True, slots=True)
class Block:
    """A content block and its place."""

    path: str
    """As an error names it: `messages.2.content.0`."""
    at: int
    """Position of its message; -1 in the system prompt."""
    role: str
    body: Any
    nested: bool = False
    """Whether it is inside a tool result."""

    @property
    def kind(self) -> str:
        """Its type, empty if it has none."""
        return str(self.body.get("type", "")) if isinstance(self.body, dict) else ""


def content_blocks(content: object) -> list[Any]:
    """Return content as blocks; a text is one block, the empty text none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content if isinstance(content, list) else []


def blocks_of(body: Object) -> list[Block]:
    """List all blocks of a body in order, those in tool results after their result."""
    system = [
        Block(f"system.{k}", -1, "system", block)
        for k, block in enumerate(content_blocks(body.get("system")))
    ]
    return system + [
        block
        for n, message in enumerate(body["messages"])
        for k, raw in enumerate(content_blocks(message.get("content")))
        for block in _with_nested(f"messages.{n}.content.{k}", n, message.get("role"), raw)
    ]


def _with_nested(path: str, at: int, role: str, raw: object) -> Iterator[Block]:
    block = Block(path, at, role, raw)
    yield block
    if block.kind == "tool_result":
        for k, inner in enumerate(content_blocks(block.body.get("content"))):
            yield Block(f"{path}.tool_result.content.{k}", at, role, inner, nested=True)


def block_problems(block: Block) -> Iterator[RequestProblem]:
    """List the problems of one block by itself."""
    kind, own = block.kind, _OWN["tool_result" if block.nested else block.role]
    if not isinstance(block.body, dict):
        yield RequestProblem(f"{block.path}: Input should be an object")
    elif not kind:
        yield RequestProblem(f"{block.path}.type: Field required")
    elif kind in own and kind in _NEEDED:
        yield from _shape(block)
    elif kind not in own and not _of_server(kind):
        tags = ", ".join(f"'{name}'" for name in own)
        yield RequestProblem(
            f"{block.path}: Input tag '{kind}' found using 'type' does not match any of the "
            f"expected tags: {tags}"
        )


def _of_server(kind: str) -> bool:
    return kind.endswith(("server_tool_use", "_tool_result", "mcp_tool_use"))


def _shape(block: Block) -> Iterator[RequestProblem]:
    kind, path = block.kind, f"{block.path}.{block.kind}"
    lacking = [name for name in _NEEDED[kind] if block.body.get(name) is None]
    yield from (RequestProblem(f"{path}.{name}: Field required") for name in lacking)
    for name in sorted(block.body.keys() - {"type", *_NEEDED[kind], *_OPTIONAL[kind]}):
        yield RequestProblem(f"{path}.{name}: Extra inputs are not permitted")
    for name in (name for name in _NEEDED[kind] if name in _TEXTS):
        if not isinstance(block.body.get(name), str | None):
            yield RequestProblem(f"{path}.{name}: Input should be a valid string")
            return
    yield from cache_control(path, block.body)
    if not lacking:
        yield from _RULES[kind](block, path) if kind in _RULES else ()


def _text(block: Block, path: str) -> Iterator[RequestProblem]:  # noqa: ARG001 (named by its place)
    where = "system" if block.at < 0 else "messages"
    if not block.body["text"]:
        yield RequestProblem(f"{where}: text content blocks must be non-empty")
    elif not block.body["text"].strip():
        yield RequestProblem(f"{where}: text content blocks must contain non-whitespace text")


def _thinking(block: Block, path: str) -> Iterator[RequestProblem]:  # noqa: ARG001 (named by the block)
    if not is_genuine(block.body["thinking"], block.body["signature"]):
        yield RequestProblem(f"{block.path}: Invalid `signature` in `thinking` block")


def _redacted(block: Block, path: str) -> Iterator[RequestProblem]:  # noqa: ARG001 (named by the block)
    if opened(block.body["data"]) is None:
        yield RequestProblem(f"{block.path}: Invalid `data` in `redacted_thinking` block")


def _compaction(block: Block, path: str) -> Iterator[RequestProblem]:
    if not isinstance(content := block.body.get("content"), str | None):
        yield RequestProblem(f"{path}.content: Input should be a valid string")
    elif content == "":
        yield RequestProblem(f"{path}.content: String should have at least 1 character")


def _tool_use(block: Block, path: str) -> Iterator[RequestProblem]:
    yield from _id(f"{path}.id", block.body["id"])
    if not isinstance(block.body["input"], dict):
        yield RequestProblem(f"{path}.input: Input should be a valid dictionary")
    yield from name_problems(f"{path}.name", block.body["name"], most=200)


def _tool_result(block: Block, path: str) -> Iterator[RequestProblem]:
    yield from _id(f"{path}.tool_use_id", block.body["tool_use_id"])
    if not isinstance(block.body.get("content", ""), str | list):
        yield RequestProblem(f"{path}.content: Input should be a valid string or list")


def _id(path: str, value: str) -> Iterator[RequestProblem]:
    if not ID.fullmatch(value):
        yield RequestProblem(f"{path}: String should match pattern '^[a-zA-Z0-9_-]+$'")


def cache_control(path: str, holder: Object) -> Iterator[RequestProblem]:
    """Check the cache breakpoint of a tool, a block or a request."""
    mark = holder.get("cache_control")
    if mark is not None and (
        not isinstance(mark, dict)
        or mark.get("type") != "ephemeral"
        or mark.get("ttl") not in (None, "5m", "1h")
    ):
        yield RequestProblem(
            f"{path}.cache_control: Input should be ephemeral, ttl '5m' or '1h'".lstrip(".")
        )


def name_problems(path: str, name: object, most: int) -> Iterator[RequestProblem]:
    """Check the name of a tool."""
    if not isinstance(name, str) or not name:
        yield RequestProblem(f"{path}: String should have at least 1 character")
    elif len(name) > most:
        yield RequestProblem(f"{path}: String should have at most {most} characters")
    elif not ID.fullmatch(name):
        yield RequestProblem(f"{path}: String should match pattern '^[a-zA-Z0-9_-]{{1,{most}}}$'")


def _image(block: Block, path: str) -> Iterator[RequestProblem]:
    source = block.body["source"]
    if not isinstance(source, dict) or source.get("type") not in ("base64", "url", "file"):
        yield RequestProblem(f"{path}.source: Input tag does not match any of the expected tags")
        return
    if source["type"] != "base64":
        return
    data = source.get("data")
    if source.get("media_type") not in _IMAGES:
        yield RequestProblem(
            f"{path}.source.base64.media_type: Input should be 'image/jpeg', 'image/png', "
            "'image/gif' or 'image/webp'"
        )
    if not isinstance(data, str) or not data or not _is_data(data):
        yield RequestProblem(f"{path}.source.base64: invalid base64 data")
    elif len(data) > MOST_IMAGE_BYTES:
        yield RequestProblem(
            f"{path}.source.base64: image exceeds 5 MB maximum: "
            f"{len(data)} bytes > {MOST_IMAGE_BYTES} bytes"
        )


_is_data = lru_cache(maxsize=1_024)(is_base64)

_RULES = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "image": _image,
    "compaction": _compaction,
}
