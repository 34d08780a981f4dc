"""The frozen values of all packages: messages with their parts, and entries.

A *message* is content, in one form for every provider; its identity is its id and content, as a
caller or a checkpointer returns them. An *entry* is the planner's metadata of a message: small,
built once when the message arrives, never changed.

Two rules: nothing here is ever mutated; a part unknown to a wire is passed on as `Opaque`, never
dropped.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import compress, count
from operator import attrgetter, is_not
from typing import Any, Literal

from thalweg.engine.pricing.usage import Usage

Role = Literal["system", "user", "assistant", "tool"]
Kind = Literal["said", "injected"]
"""The author of a message: the speaker of its role, or the harness around the agent."""


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text."""

    text: str
    extra: str = ""
    """Provider fields in addition to the text (`cache_control`, citations), as a JSON object or
    empty."""


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning of the model. Signed or encrypted reasoning is kept to the byte."""

    text: str
    signature: str = ""
    """The provider's signature of the text, or the encrypted reasoning itself."""
    extra: str = ""
    """Other provider fields, as a JSON object or empty."""


_LARGE_FIELDS = 1_000
"""Characters of other fields that hold content, too: a block with several files."""


@dataclass(frozen=True, slots=True)
class Media:
    """An image, a document, a sound or a film: by value, by address, or stored by a provider."""

    mime: str
    """Its media type, or the part of it that is certain (`image/*`); empty if none is."""
    data: str = ""
    """Base64, or empty when the content is elsewhere."""
    url: str = ""
    extra: str = ""
    """Other provider fields (detail, title, size), as a JSON object or empty."""

    @property
    def size_bytes(self) -> int:
        """Bytes this part adds to a request body."""
        return (len(self.data) or len(self.url)) + (
            len(self.extra) if len(self.extra) > _LARGE_FIELDS else 0
        )


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's request to run a tool."""

    id: str
    """As recorded: may be empty or reused. The engine assigns unique ids in the view."""
    name: str
    arguments: str
    """As it was recorded: JSON in the good case, any text in the bad one."""
    extra: str = ""
    """Other provider fields (a thought signature, an item id), as a JSON object or empty."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A part that a wire passed through without understanding it."""

    wire: str
    """Name of the wire it came from.

    Others send it as text if it is all of a message, and else not at all."""
    json: str


Part = Text | Thinking | Media | ToolCall | Opaque


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The wire objects that a message was parsed from, so that it is sent unchanged.

    `raws` are the provider's own objects. When one raw object holds several messages (an Anthropic
    user message with two tool results), each of them has the same `raws` and its `share` is `(k,
    n)`: the k-th of n.
    """

    wire: str
    raws: tuple[object, ...]
    share: tuple[int, int] = (0, 1)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a thread."""

    role: Role
    parts: tuple[Part, ...]
    answers: str = ""
    """Of a tool result: the id of the call it answers, as recorded; may be empty."""
    name: str = ""
    """Of a tool result: the tool. Of another message: who wrote it, if named."""
    is_error: bool = False
    kind: Kind = "said"
    uid: str = ""
    """The message's own id on its wire (a uuid, an item id), or empty."""
    at: str = ""
    """The time of the message, ISO 8601, or empty."""
    line: int = -1
    """Line (JSON Lines) or index (list) in the recording, from 0; -1 when not recorded."""
    usage: Usage | None = None
    extra: str = ""
    """Other provider fields of the message, as a JSON object or empty."""
    origin: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def text(self) -> str:
        """All plain text of the message, parts joined by a newline."""
        texts = [part.text for part in self.parts if isinstance(part, Text)]
        return texts[0] if len(texts) == 1 else "\n".join(texts)

    @property
    def is_request(self) -> bool:
        """Whether a person wrote this: not a tool, not the harness, and no command to it alone."""
        is_said = self.role == "user" and self.kind == "said"
        return is_said and not is_harness_command(self.text)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the message, in order."""
        if len(self.parts) == 1 and isinstance(self.parts[0], Text):
            return ()
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


_COMMAND = re.compile(
    r"\s*(?:(?:<command-name>(?P<name>[^<]*)</command-name>|<command-message>[^<]*</command-message>"
    r"|<command-args>(?P<arguments>.*?)</command-args>)\s*)+",
    re.DOTALL,
)
"""A slash command as Claude Code logs it."""


def is_harness_command(text: str) -> bool:
    r"""Return whether a user message is a command to the harness, without a request as argument.

    Example:
        >>> exit_row = "<command-name>/exit</command-name>\n<command-args></command-args>"
        >>> is_harness_command(exit_row), is_harness_command("/exit is broken")
        (True, False)
    """
    command = _COMMAND.fullmatch(text)
    return command is not None and not (command["arguments"] or "").strip()


def request_text(text: str) -> str:
    r"""Return a request as its user typed it: a slash command without the harness's tags.

    Example:
        >>> review = "<command-name>/review</command-name>\n<command-args>the API</command-args>"
        >>> request_text(review), request_text("fix it")
        ('/review the API', 'fix it')
    """
    command = _COMMAND.fullmatch(text)
    return f"{command['name'] or ''} {command['arguments'] or ''}".strip() if command else text


_PART_TYPES: dict[str, type[Part]] = {
    "text": Text,
    "thinking": Thinking,
    "media": Media,
    "call": ToolCall,
    "opaque": Opaque,
}
_PART_KINDS = {part: name for name, part in _PART_TYPES.items()}


def message_to_json(message: Message) -> str:
    """Return a message as one line of canonical JSON; `message_from_json` parses it.

    The origin is omitted: it holds live objects of the wire. Equal messages have equal text, to the
    byte.

    Example:
        >>> message_to_json(Message("user", (Text("hi"),)))
        '{"parts":[{"kind":"text","text":"hi"}],"role":"user"}'
    """
    body: dict[str, Any] = {
        "role": message.role,
        "parts": parts_to_plain(message.parts),
    }
    for name in ("answers", "name", "uid", "at", "extra"):
        if value := getattr(message, name):
            body[name] = value
    if message.is_error:
        body["is_error"] = True
    if message.kind != "said":
        body["kind"] = message.kind
    if message.line >= 0:
        body["line"] = message.line
    if (usage := message.usage) is not None:
        body["usage"] = _usage_to_plain(usage)
    return json.dumps(body, ensure_ascii=True, sort_keys=True, separators=(",", ":"))


def _usage_to_plain(usage: Usage) -> list[int] | dict[str, int | str]:
    """Return the four counts that every answer has, or all fields if others are set."""
    if usage == Usage(usage.input, usage.cached, usage.written, usage.output):
        return [usage.input, usage.cached, usage.written, usage.output]
    return {f.name: v for f in fields(usage) if (v := getattr(usage, f.name)) != f.default}


def _usage_of(plain: list[int] | dict[str, Any]) -> Usage:
    return (
        Usage(**plain) if isinstance(plain, dict) else Usage(plain[0], plain[1], plain[2], plain[3])
    )


def parts_to_plain(parts: Iterable[Part]) -> list[dict[str, str]]:
    """Turn parts into plain values that JSON can hold; `parts_from_plain` reads them back."""
    plain_parts: list[dict[str, str]] = []
    for part in parts:
        plain_parts.append({"kind": _PART_KINDS[type(part)]})
        for f in fields(part):
            if (value := getattr(part, f.name)) != f.default:
                plain_parts[-1][f.name] = value
    return plain_parts


def parts_from_plain(plain: Iterable[dict[str, str]]) -> tuple[Part, ...]:
    """Read what `parts_to_plain` wrote.

    Raises:
        KeyError: There is no such kind of part.
        TypeError: A part has other fields.
    """
    return tuple(_PART_TYPES[part.pop("kind")](**part) for part in plain)


def message_from_json(text: str) -> Message:
    """Read what `message_to_json` wrote.

    Raises:
        ValueError: The text is not such a line.

    Example:
        >>> message_from_json('{"parts":[{"kind":"text","text":"hi"}],"role":"user"}').text
        'hi'
    """
    try:
        body = json.loads(text)
        parts = parts_from_plain(body.pop("parts"))
        usage = body.pop("usage", None)
        return Message(parts=parts, usage=None if usage is None else _usage_of(usage), **body)
    except (AttributeError, KeyError, TypeError) as error:
        msg = f"not a message written by message_to_json: {error}"
        raise ValueError(msg) from error


SKILL_FILE = "SKILL.md"
RECALL = "recall"
"""The tool that reads removed content. Its results are already bounded."""
Action = Literal["read", "write", "run", "search", "delegate", "plan", "other"]
"""The effect of a tool call, as far as its name and arguments show."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The planner's metadata of one tool call."""

    id: str
    """Unique in the thread. The recorded id where that is possible, else one made from the
    call's position."""
    name: str
    action: Action
    target: str
    """The object of the call: a path, a command, a query, an address; empty if unknown."""
    scope: str
    """The other arguments, as JSON: which part of the target, and how; empty for all of it."""
    brief: str
    """The call on one line: its name and its arguments, shortened."""
    position: int
    """Position of the message that holds the call."""
    is_recall: bool = False
    """Whether the tool is `recall` by another name."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The planner's metadata of one message, built once, when the message arrives."""

    position: int
    """Index in the thread's log, from 0."""
    message: Message
    tokens: int
    """Of the whole message, framing included."""
    thinking: int
    """The part of `tokens` that is reasoning."""
    size_bytes: int
    media: int
    """Images, documents, sounds and films."""
    uses: tuple[ToolUse, ...] = ()
    """The tool calls of an assistant message, in order."""
    answers: ToolUse | None = None
    """Of a tool result: the call it answers; `None` for an orphan."""
    media_tokens: int = 0
    """The part of `tokens` that is media."""
    slack: int = 0
    """How much less than `media_tokens` the provider may charge, if a price is not exact."""

    is_fetched: bool = field(init=False, compare=False)
    """Whether this is content of the thread that `recall` read back."""
    is_request: bool = field(init=False, compare=False)
    """Whether a person wrote this: not a tool, not the harness."""
    may_be_skill: bool = field(init=False, compare=False)
    """Whether it may hold a skill: a file of that name that was read, or the harness's message."""

    def __post_init__(self) -> None:
        use = self.answers
        is_skill_file = use is not None and use.target.endswith(SKILL_FILE)
        object.__setattr__(self, "may_be_skill", is_skill_file or self.message.kind == "injected")
        is_fetched = use is not None and (use.is_recall or use.name == RECALL)
        object.__setattr__(self, "is_fetched", is_fetched)
        object.__setattr__(self, "is_request", self.message.is_request)


def stored_text(text: str) -> str:
    r"""Return a text as it is read back from UTF-8: each lone surrogate is a question mark.

    LangGraph's serializer writes it so (`OPT_REPLACE_SURROGATES` in `JsonPlusSerializer`, read
    2026-11-28), and `str.encode("utf-8", "replace")` does.

    Example:
        >>> stored_text("caf\udce9")
        'caf?'
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def stored_form(message: Message) -> Message:
    """Return a message with all its texts as they are read back from UTF-8; see `stored_text`."""
    return _with_texts(message, stored_text)


def is_same(first: Message, second: Message) -> bool:
    """Return whether two messages are one: the same id, and the same content.

    The same id with other content is an edit. Texts are compared as they are read back from UTF-8,
    so a checkpointer that cannot store half of a character edits nothing. Two halves in a row
    are a character in the log and two question marks in a checkpoint; those count as the same, too.
    """
    if first is second:
        return True
    if first.uid != second.uid and stored_text(first.uid) != stored_text(second.uid):
        return False
    if _content(first) == _content(second):
        return True
    comparable_contents = (
        _content(_with_texts(message, _comparable)) for message in (first, second)
    )
    return next(comparable_contents) == next(comparable_contents)


def _with_texts(message: Message, change: Callable[[str], str]) -> Message:
    """Return a message with each of its texts changed."""
    return replace(
        message,
        parts=tuple(_part_with_texts(part, change) for part in message.parts),
        answers=change(message.answers),
        name=change(message.name),
        uid=change(message.uid),
        extra=change(message.extra),
    )


def _part_with_texts(part: Part, change: Callable[[str], str]) -> Part:
    texts: dict[str, Any] = {f.name: change(getattr(part, f.name)) for f in fields(part)}
    return replace(part, **texts)


_ASTRAL_CHARACTER = re.compile("[\U00010000-\U0010ffff]")
"""A character of two halves in UTF-16."""


def _comparable(text: str) -> str:
    return text if text.isascii() else stored_text(_ASTRAL_CHARACTER.sub("??", text))


def _content(message: Message) -> tuple[str, str, str, bool, tuple[Part, ...]]:
    return message.role, message.answers, message.name, message.is_error, message.parts


_PART_FIELDS = {part: attrgetter(*(f.name for f in fields(part))) for part in _PART_KINDS}


def content_bytes(messages: Iterable[Message]) -> bytes:
    r"""Return bytes that differ if `is_same` finds a difference, for a digest.

    The bytes of messages that follow each other are those of all of them, unless a text has a NUL.

    Example:
        >>> content_bytes([Message("user", (Text("hi"),), uid="m1")])
        b'user\x00\x00\x00\x00m1\x00text\x00hi\x00\x00'
    """
    texts: list[str] = []
    for message in messages:
        status = "error" if message.is_error else ""
        texts += (message.role, message.answers, message.name, status, message.uid)
        for part in message.parts:
            texts.append(_PART_KINDS[part.__class__])
            texts += _PART_FIELDS[part.__class__](part)
    joined = "\0".join((*texts, ""))
    if joined.count("\0") > len(texts):
        joined = f"{json.dumps(texts)}\0"
    return joined.encode("utf-8", "surrogatepass")


def common_prefix_length(stored: Sequence[Message], messages: Sequence[Message]) -> int:
    """Count the leading messages that both have in common."""
    if stored == messages[: len(stored)]:  # lists compare identities first
        return len(stored)
    compared_count = min(len(stored), len(messages))
    differing = compress(count(), map(is_not, stored, messages))  # most are the same objects
    return next((k for k in differing if not is_same(stored[k], messages[k])), compared_count)
