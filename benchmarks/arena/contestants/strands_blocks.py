"""Conversion of items to messages of Strands Agents and, after changes by its managers, back.

Its managers remove or replace content blocks, and keep all others as the same objects: the identity
of a block determines its item, and that it is unchanged.
"""

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, assert_never

from thalweg.engine.entries import Media, Message, Opaque, Part, Text, Thinking, ToolCall
from thalweg.engine.tokens import MESSAGE_OVERHEAD, Counter, measure
from thalweg.engine.window.items import WindowItem
from thalweg.engine.wires.fields import arguments_object

Block = dict[str, Any]
"""A content block of Strands: a mapping whose one key is its kind."""
StrandsMessage = dict[str, Any]
"""A message of Strands: `role` (user or assistant) and `content`, a list of blocks."""


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A block that was written, or one inside a tool result."""

    block: Block
    """Kept here, so that nothing else can be at its address."""
    item: int
    part: Part


@dataclass(frozen=True, slots=True)
class _ShownMessage:
    """What one message shows, as long as it has these blocks."""

    message: StrandsMessage
    """Kept here for its identity, as the blocks are."""
    blocks: list[Block]
    items: list[WindowItem]
    whole: set[int]


@dataclass(slots=True)
class BlockMap:
    """Maps blocks to items. A message is parsed again only if it has changed."""

    count: Counter
    _items: list[WindowItem] = field(default_factory=list)
    _written: list[list[Block]] = field(default_factory=list)
    """By item: its blocks."""
    _leaves: dict[int, _Leaf] = field(default_factory=dict)
    """By the identity of a block."""
    _results: dict[str, int] = field(default_factory=dict)
    """Items of tool results, by the id of the call."""
    _counted: dict[int, tuple[Block, int]] = field(default_factory=dict)
    """By the identity of a block: it, and its tokens."""
    _read: dict[int, _ShownMessage] = field(default_factory=dict)
    """By the identity of a message."""

    def written(self, items: Sequence[WindowItem]) -> Iterator[StrandsMessage]:
        """Write items as messages; neighbouring results share one, as they do in Strands."""
        for is_result, run in groupby(items, lambda item: item.message.role == "tool"):
            if is_result:
                yield {"role": "user", "content": [b for item in run for b in self._write(item)]}
                continue
            for item in run:
                role = "assistant" if item.message.role == "assistant" else "user"
                yield {"role": role, "content": self._write(item)}

    def _write(self, item: WindowItem) -> list[Block]:
        message = item.message
        if message.role == "system":  # in the middle of a thread, where Strands has no such role
            item = replace(item, message=replace(message, role="user", kind="injected"))
        index = len(self._items)
        leaves = [_Leaf(_block(part), index, part) for part in message.parts]
        written = [leaf.block for leaf in leaves]
        if message.role == "tool":
            leaves = leaves or [_Leaf({"text": ""}, index, Text(""))]
            written = [_result(message, [leaf.block for leaf in leaves])]
            leaves.append(_Leaf(written[0], index, Text("")))
            self._results[message.answers] = index
        self._items.append(item)
        self._written.append(written)
        self._leaves |= {id(leaf.block): leaf for leaf in leaves}
        return [*written]

    def shown(self, messages: Iterable[StrandsMessage]) -> list[WindowItem]:
        """Return the items that messages show: the same objects if nothing changed."""
        return [item for message in messages for item in self._shown(message).items]

    def whole(self, messages: Iterable[StrandsMessage]) -> frozenset[int]:
        """Find the positions of the items that messages show word for word."""
        return frozenset().union(*(self._shown(message).whole for message in messages))

    def tokens(self, messages: Iterable[StrandsMessage]) -> int:
        """Count messages, put together of any blocks; a block is counted once."""
        return sum(
            MESSAGE_OVERHEAD + sum(map(self._tokens, message["content"])) for message in messages
        )

    def _tokens(self, block: Block) -> int:
        known = self._counted.get(id(block))
        if known is None:
            message = Message("user", tuple(map(self._part, _inner(block))))
            tokens = measure(message, self.count).tokens - MESSAGE_OVERHEAD
            self._counted[id(block)] = known = (block, tokens)
        return known[1]

    def answered(self, call: str) -> WindowItem | None:
        """Find the item of the result of a call."""
        index = self._results.get(call)
        return None if index is None else self._items[index]

    def _shown(self, message: StrandsMessage) -> _ShownMessage:
        blocks: list[Block] = message["content"]
        known = self._read.get(id(message))
        if known and [*map(id, known.blocks)] == [*map(id, blocks)]:
            return known
        whole: set[int] = set()
        items: list[WindowItem] = []
        for index, run in self._runs(message):
            items.append(self._item(index, run, message["role"]))
            at = {id(block) for block in run}
            if index is not None and all(id(block) in at for block in self._written[index]):
                whole.add(self._items[index].position)
        self._read[id(message)] = read = _ShownMessage(message, [*blocks], items, whole - {-1})
        return read

    def _runs(self, message: StrandsMessage) -> list[tuple[int | None, list[Block]]]:
        """Split a message by the items that its blocks show.

        A manager's addition to an assistant message belongs to that message: as a separate one it
        would divide calls from their results.
        """
        runs = [(index, [*run]) for index, run in groupby(message["content"], self._index)]
        if message["role"] == "user":
            return runs
        joined: list[tuple[int | None, list[Block]]] = []
        for index, run in runs:
            before = joined[-1] if joined else None
            if before and (index is None or before[0] is None):
                joined[-1] = (index if before[0] is None else before[0], [*before[1], *run])
            else:
                joined.append((index, run))
        return joined

    def _index(self, block: Block) -> int | None:
        if leaf := self._leaves.get(id(block)):
            return leaf.item
        result = block.get("toolResult")
        return self._results.get(result["toolUseId"]) if result else None

    def _item(self, index: int | None, blocks: Sequence[Block], role: str) -> WindowItem:
        """Make the item of neighbouring blocks of one message, or find it."""
        if index is None:
            said = Message("user" if role == "user" else "assistant", (), kind="injected")
            section = "summary"
        else:
            item, written = self._items[index], self._written[index]
            if [*map(id, blocks)] == [*map(id, written)]:
                return item
            said, section = item.message, "history"
        parts = tuple(self._part(inner) for block in blocks for inner in _inner(block))
        message = replace(said, parts=parts, origin=None)
        size = measure(message, self.count)
        position = -1 if index is None else self._items[index].position
        return WindowItem(message, position, size.tokens, size.bytes, size.media, section)

    def _part(self, block: Block) -> Part:
        if leaf := self._leaves.get(id(block)):
            return leaf.part
        if "text" in block:
            return Text(block["text"])
        return Opaque("strands", json.dumps(block, default=repr))

    def read_in(self, messages: Iterable[StrandsMessage]) -> frozenset[int]:
        """Return the positions of the items whose complete text is in messages to a summarizer.

        Reasoning may be missing, and a call may be written as text.
        """
        blocks = [b for m in messages for block in m["content"] for b in _inner(block)]
        brought = {id(block) for block in blocks}
        told = {block["text"].partition("] ")[2] for block in blocks if "text" in block}
        met = [self._leaves[block].item for block in brought if block in self._leaves]
        return frozenset(
            item.position
            for index in range(max(met, default=-1) + 1)
            if (item := self._items[index]).position >= 0
            and all(
                id(inner) in brought or _is_told(inner, told)
                for block in self._written[index]
                for inner in _inner(block)
            )
        )


def _inner(block: Block) -> list[Block]:
    """Return a block, or the blocks in a tool result."""
    result = block.get("toolResult")
    return [block] if result is None else result["content"]


def _is_told(block: Block, told: set[str]) -> bool:
    if "reasoningContent" in block:
        return True
    if call := block.get("toolUse"):
        said = json.dumps(call["input"], separators=(",", ":"), ensure_ascii=False)
        return said in told
    return False


def _result(message: Message, content: list[Block]) -> Block:
    status = "error" if message.is_error else "success"
    return {"toolResult": {"toolUseId": message.answers, "status": status, "content": content}}


def _block(part: Part) -> Block:
    match part:
        case Text(text):
            return {"text": text}
        case Thinking(text, signature):
            return {"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}}
        case ToolCall(call_id, name, arguments):
            asked = arguments_object(arguments)
            return {"toolUse": {"toolUseId": call_id, "name": name, "input": asked}}
        case Media():
            return _media(part)
        case Opaque(json=raw):
            return {"text": raw}
        case _:
            assert_never(part)


def _media(media: Media) -> Block:
    try:
        content = base64.b64decode(media.data)
    except binascii.Error:
        content = b""
    kind, _, form = media.mime.partition("/")
    if kind == "image" and content:
        return {"image": {"format": form, "source": {"bytes": content}}}
    if content:
        return {"document": {"format": form, "name": "document", "source": {"bytes": content}}}
    return {"text": f"[{media.mime}: {media.url}]"}
