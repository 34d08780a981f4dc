"""Headroom, as installed: its `compress()` over the whole conversation before each request.

What it keeps of what it takes out (its CCR store) is its own. What reaches for a network is
switched off by its own switches: with them its text model (Kompress, fetched from Hugging Face)
does not run, nor does the ranking by embeddings; all else does, with its defaults.
"""

import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from benchmarks.arena.contestants.layout import PeerContestant
from benchmarks.arena.contestants.shelf import ReferenceArchive
from thalweg.engine.entries import Media, Message, Opaque, Part, Text, Thinking, ToolCall
from thalweg.engine.tokens import count_json, measure
from thalweg.engine.window.items import WindowItem
from thalweg.engine.wires.fields import arguments_object
from thalweg_recorder.replay.contestant import PeerRequest

SWITCHES: Mapping[str, str] = {
    "HEADROOM_OFFLINE": "1",
    "HEADROOM_STATELESS": "1",
    "HEADROOM_TOIN_BACKEND": "none",
}
"""Its documented switches: no connection anywhere, no file, nothing learned from other runs."""
os.environ.update(SWITCHES)  # read while it is imported

import headroom.compress  # noqa: E402 (behind its switches; the function has the module's name)
from headroom.cache.compression_store import (  # noqa: E402
    CompressionStore,
    clear_request_compression_store,
    set_request_compression_store,
)
from headroom.ccr import CCRToolInjector, create_ccr_tool_definition  # noqa: E402
from headroom.telemetry.toin import reset_toin  # noqa: E402
from headroom.transforms import TransformPipeline  # noqa: E402

logging.getLogger("headroom").addHandler(logging.NullHandler())

MODEL = "claude-sonnet-4-5-20250929"
"""The default of its `compress()`; messages have that model's form."""
Block = dict[str, Any]
"""A content block in Anthropic's form."""
_MODULE = sys.modules["headroom.compress"]
_WORD = re.compile(r"\w+")
_ESCAPE = re.compile(r"\\+(?:u[0-9a-fA-F]{4}|[nrtbf\"/])?")
"""What JSON writes for a character, however often it was written as JSON."""


@dataclass(slots=True)
class Headroom(PeerContestant):
    """One thread, compressed by Headroom before each request.

    It drops no message and has no limit: a request that is too large after compression is sent.
    """

    window: int
    """Tokens of the model's window, as passed to Headroom."""
    shelf: ReferenceArchive
    """Where the texts are searched that it keeps."""
    is_frozen: bool = False
    """Whether it continues with the messages as sent, marked as cached (`frozen_message_count`). By
    default it gets the whole conversation each time."""
    store: CompressionStore = field(default_factory=CompressionStore)
    _pipeline: TransformPipeline = field(default_factory=TransformPipeline)
    _items: list[WindowItem] = field(default_factory=list)
    _given: list[Block] = field(default_factory=list)
    """The original messages."""
    _runs: list[list[tuple[int, int]]] = field(default_factory=list)
    """By message: its items, and how many blocks each has."""
    _messages: list[Block] = field(default_factory=list)
    """Its next input."""
    _changed: dict[int, tuple[list[Block], WindowItem]] = field(default_factory=dict)
    """What the last request shows of an item that it changed."""
    _named: dict[int, dict[str, str]] | None = None
    """Originals by the hash in its text, by item, once requested."""
    _shelved: set[str] = field(default_factory=set)
    _beside: int = 0

    def __post_init__(self) -> None:
        self._beside = count_json(create_ccr_tool_definition("anthropic"), self.count)
        reset_toin()

    def request(self, *, cold: bool) -> PeerRequest:
        """Return the current request; called before each assistant message, and at the end.

        See `Contestant.request`.
        """
        del cold  # it knows of no cache
        items = [*self._systems, *self._read(self._compressed())]
        self._named = None
        changed = {self._items[index].position for index in self._changed}
        whole = frozenset(item.position for item in items) - changed - {-1}
        return self._sent(items, whole, self._beside)

    def _compressed(self) -> list[Block]:
        frozen = len(self._messages) if self.is_frozen else 0
        for item in self.layout.new():
            self._write(item, after=frozen)
        with self._at_work():
            sent: list[Block] = headroom.compress(
                self._messages,
                model=MODEL,
                model_limit=self.window,
                frozen_message_count=frozen,
            ).messages
        if self.is_frozen:
            self._messages = [*sent]
        return sent

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """Set a store and a cache of its own, as in a separate process."""
        set_request_compression_store(self.store)
        _MODULE._pipeline = self._pipeline  # type: ignore[attr-defined] # noqa: SLF001
        try:
            yield
        finally:
            clear_request_compression_store()

    def _write(self, item: WindowItem, *, after: int) -> None:
        """Add an item's blocks; adjacent ones of one role share a message after index `after`."""
        if item.section == "system":
            self._systems.append(item)
            return
        message = item.message
        role = "assistant" if message.role == "assistant" else "user"
        if message.role == "tool":
            blocks = [_result(message)]
        else:
            blocks = [_block(part) for part in message.parts]
        if len(self._messages) <= after or self._messages[-1]["role"] != role:
            for messages in (self._given, self._messages):
                messages.append({"role": role, "content": []})
            self._runs.append([])
        self._given[-1]["content"] += blocks
        if self._messages[-1] is not self._given[-1]:
            self._messages[-1]["content"] += blocks
        self._runs[-1].append((len(self._items), len(blocks)))
        self._items.append(item)

    def _read(self, sent: Sequence[Block]) -> Iterator[WindowItem]:
        """Return the items that a request shows: the same objects if nothing changed."""
        before, self._changed = self._changed, {}
        for was, now, runs in zip(self._given, sent, self._runs, strict=True):
            old: Sequence[Block] = was["content"]
            new: Sequence[Block] = now["content"]
            if old == new:
                yield from (self._items[index] for index, _ in runs)
                continue
            if len(old) != len(new):
                msg = f"{len(old)} blocks became {len(new)}"
                raise ValueError(msg)
            first = 0
            for index, length in runs:
                blocks = [*new[first : first + length]]
                if blocks == old[first : first + length]:
                    yield self._items[index]
                else:
                    known = before.get(index)
                    item = known[1] if known and known[0] == blocks else self._item(index, blocks)
                    self._changed[index] = (blocks, item)
                    yield item
                first += length

    def _item(self, index: int, blocks: Sequence[Block]) -> WindowItem:
        item = self._items[index]
        if item.message.role == "tool":
            content = blocks[0]["content"]
            blocks = [{"text": content}] if isinstance(content, str) else content
        was = item.message.parts  # as many, unless several texts became one
        parts = tuple(
            Text(block["text"]) if "text" in block else was[k] for k, block in enumerate(blocks)
        )
        message = replace(item.message, parts=parts, origin=None)
        size = measure(message, self.count)
        return replace(
            item, message=message, tokens=size.tokens, size_bytes=size.bytes, media=size.media
        )

    def recall(self, question: str) -> str:
        """See `Contestant.recall`: what is named is searched as ours is, not only by its hash."""
        for originals in self._names().values():
            for key, text in originals.items():
                if key not in self._shelved:
                    self._shelved.add(key)
                    self.shelf.put([text])
        return self.shelf.recall(question)

    def holds(self, position: int) -> bool:
        """See `Contestant.holds`: its words are in what is shown instead or in what that names."""
        for index, originals in self._names().items():
            item = self._items[index]
            if item.position == position:
                shown = self._changed[index][1].message.text
                return _words(item.message.text) <= _words("\n".join((shown, *originals.values())))
        return False

    def _names(self) -> Mapping[int, Mapping[str, str]]:
        """Find the markers in what was changed, as its own tool does, and read what they name."""
        if self._named is None:
            self._named = {}
            for index, (blocks, _) in self._changed.items():
                found = CCRToolInjector().scan_for_markers([{"role": "user", "content": blocks}])
                kept = {key: self.store.retrieve(key) for key in found}
                self._named[index] = {k: str(e.original_content) for k, e in kept.items() if e}
        return self._named

    def shown(self, item: WindowItem) -> tuple[str, str]:
        """Return how the last request shows a message, and the reference that reads it in full.

        See `Contestant.shown`.
        """
        if item.position < 0:
            return "note", ""
        for index, (_, changed) in self._changed.items():
            if changed is item:
                return "elide", next(iter(self._names()[index]), "")
        return "whole", ""


def _words(text: str) -> set[str]:
    return {*_WORD.findall(_ESCAPE.sub(" ", text))}


def _result(message: Message) -> Block:
    blocks = [_block(part) for part in message.parts]
    said = [part.text for part in message.parts if isinstance(part, Text)]
    one = len(said) == len(blocks) == 1
    block = {
        "type": "tool_result",
        "tool_use_id": message.answers,
        "content": said[0] if one else blocks,
    }
    return {**block, "is_error": True} if message.is_error else block


def _block(part: Part) -> Block:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case ToolCall(call_id, name, arguments):
            asked = arguments_object(arguments)
            return {"type": "tool_use", "id": call_id, "name": name, "input": asked}
        case Media(mime, data, url):
            inline = {"type": "base64", "media_type": mime, "data": data}
            kind = "image" if mime.startswith("image/") else "document"
            return {"type": kind, "source": inline if data else {"type": "url", "url": url}}
        case Opaque(json=raw):
            return {"type": "text", "text": raw}
        case _:
            assert_never(part)
