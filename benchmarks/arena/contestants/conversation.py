"""The messages of a clean conversation as LangChain's, and what was sent of them, read back."""

import json
import re
from dataclasses import dataclass, field, replace

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.utils import get_buffer_string

from thalweg.engine.entries import Media, Message, Part, Text, Thinking, ToolCall
from thalweg.engine.tokens import Counter, measure
from thalweg.engine.transcript import as_text
from thalweg.engine.window.items import WindowItem
from thalweg.engine.wires.langchain import LangChainWire

_HOME = json.dumps({"langchain": {}})
_TOOL_USE = json.dumps({"langchain": {"block": {"type": "tool_use"}}})
_RANDOM = re.compile(r"(?<=/conversation_history/)(?:session_)?[0-9a-f-]{32,36}(?=\.md)")
"""Random names of files, replaced so that a replay is deterministic."""


@dataclass(slots=True)
class Conversation:
    """Pairs of our items and LangChain's messages. Each is converted and counted once."""

    count: Counter
    _wire: LangChainWire = field(default_factory=LangChainWire)
    _given: dict[str, tuple[AnyMessage, WindowItem]] = field(default_factory=dict)
    """Messages passed to the agent, by the message's id."""
    _other: dict[str, tuple[BaseMessage, WindowItem]] = field(default_factory=dict)
    """Sent messages that were not passed to the agent, by id or text."""
    _blocks: dict[str, set[int]] = field(default_factory=dict)
    _transcribed: int = 0

    def written(self, item: WindowItem) -> AnyMessage:
        """Write an item as a message of LangChain's."""
        uid = f"m{item.position}" if item.position >= 0 else f"n{len(self._given)}"
        clean = replace(
            item.message,
            parts=_at_home(item.message.parts),
            origin=None,
            uid=uid,
            extra="",
            usage=None,
            name=item.message.name if item.message.role == "tool" else "",
        )
        built = self._wire.write([clean])
        message: AnyMessage = built[0] if built else _plain(clean)
        self._given[uid] = (message, item)
        return message

    def item(self, message: BaseMessage) -> WindowItem:
        """Find the item that a message of a request shows, or make one of it."""
        uid = message.id or ""
        given = self._given.get(uid)
        if given is not None and _same(message, given[0]):
            return given[1]
        key = uid or str(message.content)
        other = self._other.get(key)
        if other is None or not _same(message, other[0]):
            position = given[1].position if given else -1
            self._other[key] = other = (message, self._read(message, position))
        return other[1]

    def _read(self, message: BaseMessage, position: int) -> WindowItem:
        (read,), _ = self._wire.read([message])
        parts = tuple(
            replace(part, text=without_chance(part.text)) if isinstance(part, Text) else part
            for part in read.parts
        )
        read = replace(read, parts=parts, origin=None, uid="", extra="", line=-1, usage=None)
        size = measure(read, self.count)
        summary = message.additional_kwargs.get("lc_source") == "summarization"
        section = "summary" if summary else "history"
        return WindowItem(read, position, size.tokens, size.bytes, size.media, section)

    def is_given(self, item: WindowItem) -> bool:
        """Return whether an item is an unchanged message of the recording."""
        given = self._given.get(f"m{item.position}")
        return given is not None and given[1] is item

    def words(self, position: int) -> tuple[str, str]:
        """Return a message in a transcript's form, and its plain text; empty if unknown."""
        given = self._given.get(f"m{position}")
        if given is None:
            return "", ""
        blocks = blocks_of(get_buffer_string([given[0]], format="xml"))
        return (blocks[0] if blocks else ""), given[1].message.text

    def blocks(self) -> dict[str, set[int]]:
        """Return the positions of all passed messages, by their form in a transcript.

        Each is rendered once, at its first use.
        """
        for message, item in [*self._given.values()][self._transcribed :]:
            if item.position >= 0:
                for block in blocks_of(get_buffer_string([message], format="xml")):
                    self._blocks.setdefault(block, set()).add(item.position)
        self._transcribed = len(self._given)
        return self._blocks


def blocks_of(transcript: str) -> list[str]:
    """Split a transcript as LangChain writes them (XML) into its messages.

    Their text is escaped, so that a tag of the transcript is never part of a message.
    """
    pieces = transcript.split(_BEGIN)[1:]
    return [piece[: piece.rfind(_END)].strip() for piece in pieces if _END in piece]


_BEGIN, _END = "<message type=", "</message>"


def _at_home(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Convert parts of any wire to the form of LangChain's models.

    Reasoning is part of the content, as for Claude, and then so are the calls.
    """
    thinks = any(isinstance(part, Thinking) for part in parts)
    return tuple(_part_at_home(part, thinks=thinks) for part in parts)


def _part_at_home(part: Part, *, thinks: bool) -> Part:
    match part:
        case Thinking():
            return replace(part, extra=_HOME)
        case ToolCall():
            return replace(part, extra=_TOOL_USE if thinks else "")
        case Text() | Media():
            return replace(part, extra="")
        case _:
            return Text(part.json)


def without_chance(text: str) -> str:
    """Replace random names of files by fixed ones."""
    return _RANDOM.sub("session_" + "0" * 32, text)


def _plain(message: Message) -> AnyMessage:
    text = as_text(message)
    if message.role == "assistant":
        return AIMessage(text, id=message.uid)
    return HumanMessage(text, id=message.uid)


def _same(a: BaseMessage, b: BaseMessage) -> bool:
    if a is b:
        return True
    if a.type != b.type or a.content != b.content:
        return False
    if isinstance(a, AIMessage) and isinstance(b, AIMessage):
        return a.tool_calls == b.tool_calls
    if isinstance(a, ToolMessage) and isinstance(b, ToolMessage):
        return a.tool_call_id == b.tool_call_id
    return True
