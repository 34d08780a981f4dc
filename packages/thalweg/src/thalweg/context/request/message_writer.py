"""Between LangChain's messages and ours, for one thread."""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress, count, pairwise
from operator import is_not, ne, or_

from langchain_core.messages import AnyMessage, BaseMessage

from thalweg.context.request.message_adaptation import TargetModel, aside, fitted, is_own
from thalweg.engine.entries import RECALL, Media, Message, Text, Thinking
from thalweg.engine.media.cost import cost_of
from thalweg.engine.prompts import prompt
from thalweg.engine.window.items import WindowItem, is_compaction, without_prompts
from thalweg.engine.window.references import referring
from thalweg.engine.wires.langchain import LangChainWire

_WIRE = LangChainWire()


def read_state(messages: Sequence[BaseMessage]) -> list[Message]:
    """Read the messages of a state; each keeps the object it came from."""
    read, _ = _WIRE.read(messages)
    return [
        replace(
            message,
            line=-1,
            kind="injected" if source.additional_kwargs.get("lc_source") else "said",
        )
        for message, source in zip(read, messages, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class ParsedMessages:
    """The messages of a state, and the messages parsed from them."""

    sources: Sequence[BaseMessage] = ()
    messages: list[Message] = field(default_factory=list)

    def of(self, sources: Sequence[BaseMessage]) -> "ParsedMessages":
        """Convert the messages of a later state; those in both are not converted again.

        Between two steps of a run they are the same objects. Between runs a checkpointer creates
        new ones, and comparing them takes a twentieth of the time of converting them.
        """
        same = common_prefix(self.sources, sources)
        same += _equal_prefix(self.sources[same:], sources[same:])
        rest = zip(self.sources[same:], self.messages[same:], strict=True)
        later = {source.id: (source, message) for source, message in rest}
        read = self.messages[:same]
        for source in sources[same:]:
            known = later.get(source.id)
            if known is not None and _is_equal(known[0], source):
                read.append(known[1])
            else:
                read += read_state([source])
        return ParsedMessages(sources, read)


def common_prefix(old: Sequence[BaseMessage], new: Sequence[BaseMessage]) -> int:
    """Count the leading messages that are the same objects in both."""
    return next(compress(count(), map(is_not, old, new)), min(len(old), len(new)))


def _equal_prefix(old: Sequence[BaseMessage], new: Sequence[BaseMessage]) -> int:
    differ = map(
        or_, map(ne, map(vars, old), map(vars, new)), map(is_not, map(type, old), map(type, new))
    )
    return next(compress(count(), differ), min(len(old), len(new)))


def _is_equal(one: BaseMessage, other: BaseMessage) -> bool:
    """Compare messages by their fields, as pydantic does, without its checks of the model."""
    return one is other or (type(one) is type(other) and vars(one) == vars(other))


@dataclass(frozen=True, slots=True)
class _SentItem:
    item: WindowItem
    is_own: bool
    """Whether the target model itself wrote it."""
    thinks: bool
    stays: bool
    """Whether a system message among the others keeps its role."""
    written: tuple[AnyMessage, ...]
    aside: tuple[Media, ...]


@dataclass(slots=True)
class MessageWriter:
    """The items of a view as LangChain's messages; what did not change is not built again."""

    recall: str = RECALL
    """The name of the tool in references; empty if they are notes."""
    requested_model: Callable[[int, Message], str] = lambda _, __: ""
    """Returns the model that was asked for an answer at a position; empty if it is unknown."""
    lacks_thinking: bool = False
    """Whether the newest loop begins without reasoning of the listener."""
    _listener: TargetModel = field(default_factory=TargetModel)
    _rows: list[_SentItem] = field(default_factory=list)
    _shown: list[tuple[AnyMessage, int]] = field(default_factory=list)
    """Messages after results that may not hold their content; the position of the first result."""

    def speak_to(self, listener: TargetModel, recall: str = RECALL) -> None:
        """Set the target model of the messages written from now on, and how references name a tool.

        Args:
            listener: The target model.
            recall: The name of the tool that reads references; empty if the request has none.
        """
        if (listener, recall) != (self._listener, self.recall):
            self._listener, self.recall, self._rows = listener, recall, []

    def write(self, items: Sequence[WindowItem], edited: Container[int] = ()) -> list[AnyMessage]:
        """Write a view; two answers in a row are written as they are.

        Args:
            items: The view.
            edited: Positions of messages that are shown in another form, which has references.
        """
        items = without_prompts(items)
        items, stay = _placed(items) if self._listener.takes_system else (items, frozenset[int]())
        rows: list[_SentItem] = []
        for start, end in _loops(items):
            owned = [self._owns(k, items[k]) for k in range(start, end)]
            thinks = all(owned)
            rows += [
                self._row(k, items[k], edited, is_own=own, thinks=thinks, stays=k in stay)
                for k, own in zip(range(start, end), owned, strict=True)
            ]
            first = next((i for i in items[start:end] if i.message.role == "assistant"), None)
            self.lacks_thinking = first is not None and not (thinks and _thinks(first.message))
        self._rows = rows
        return self._joined()

    def _owns(self, k: int, item: WindowItem) -> bool:
        if item.message.role != "assistant":
            return True
        known = self._rows[k] if k < len(self._rows) else None
        if known is not None and known.item is item:
            return known.is_own
        requested_model = partial(self.requested_model, item.position, item.message)
        return is_own(item.message, self._listener, requested_model)

    def _row(
        self,
        k: int,
        item: WindowItem,
        edited: Container[int],
        *,
        is_own: bool,
        thinks: bool,
        stays: bool,
    ) -> _SentItem:
        known = self._rows[k] if k < len(self._rows) else None
        if known and known.item is item and (known.thinks, known.stays) == (thinks, stays):
            return known
        message, to = item.message, self._listener
        if item.section == "summary" or item.position in edited:
            message = referring(message, self.recall)
        is_late = message.role == "system" and item.section != "system" and not stays
        if is_late and to.client == "anthropic":
            text = prompt("moved_system").render(text=message.text)
            message = Message("user", (Text(text),), kind="injected", uid=message.uid)
        back = self._is_read_back(item)
        message = fitted(message, to, own=is_own, thinks=thinks, read_back=back)
        written = tuple(_WIRE.write([message]))
        below = tuple(aside(item.message, to, read_back=back))
        return _SentItem(item, is_own, thinks, stays, written, below)

    def _is_read_back(self, item: WindowItem) -> bool:
        return item.message.role == "tool" and item.message.name in {RECALL, self.recall or RECALL}

    def _joined(self) -> list[AnyMessage]:
        messages: list[AnyMessage] = []
        shown: list[tuple[AnyMessage, int]] = []
        below: list[Media] = []
        position = -1
        for row in self._rows:
            if below and row.item.message.role != "tool":
                shown += ((message, position) for message in _behind(below))
                messages.append(shown[-1][0])
                below = []
            messages += row.written
            if row.aside and not below:  # what was read back has its reference already
                position = -1 if self._is_read_back(row.item) else row.item.position
            below += row.aside
        if below:
            shown += ((message, position) for message in _behind(below))
            messages.append(shown[-1][0])
        self._shown = shown
        return messages

    def places(self) -> Iterator[tuple[AnyMessage, int]]:
        """Yield the messages last written, each with its source's position; -1 if it has none."""
        yield from ((message, row.item.position) for row in self._rows for message in row.written)
        yield from self._shown

    def sent(self, model: str = "") -> list[tuple[AnyMessage, int]]:
        """List the messages last written, each with its tokens.

        Args:
            model: The model whose price media have; see `cost_of`.
        """
        found: list[tuple[AnyMessage, int]] = []
        below = 0
        for row in self._rows:
            moved = sum(cost_of(media, model).tokens for media in row.aside)
            tokens = max(0, row.item.tokens - moved)
            below += row.item.tokens - tokens
            found += [(message, 0 if k else tokens) for k, message in enumerate(row.written)]
        shown = [message for message, _ in self._shown]
        return found + [(message, 0 if k else below) for k, message in enumerate(shown)]


def _placed(items: Sequence[WindowItem]) -> tuple[Sequence[WindowItem], frozenset[int]]:
    """Move system messages where Anthropic accepts them: between the user's turn and the model's.

    Returns:
        The items, and the indices of the system messages that keep their role: those at a valid
        place, one at each. Source: platform.claude.com, "Mid-conversation system messages", read
        2026-11-23.
    """
    placed: list[WindowItem] = []
    waiting: list[WindowItem] = []
    stay: set[int] = set()

    def settle() -> None:
        placed.extend(waiting)
        before = placed[-len(waiting) - 1].message.role if len(placed) > len(waiting) else ""
        if waiting and before in {"user", "tool"}:
            stay.add(len(placed) - 1)
        waiting.clear()

    for item in items:
        if item.message.role == "system" and item.section != "system":
            waiting.append(item)
            continue
        if item.message.role not in {"user", "tool"}:
            settle()
        placed.append(item)
    settle()
    return placed, frozenset(stay)


def _loops(items: Sequence[WindowItem]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a view between messages of others than the model and its tools."""
    starts = [k for k, item in enumerate(items) if item.message.role in {"user", "system"}]
    bounds = [0, *starts, len(items)]
    return ((a, b) for a, b in pairwise(bounds) if a < b)


def _thinks(message: Message) -> bool:
    first = next((part for part in message.parts if not is_compaction(part)), None)
    return isinstance(first, Thinking)


def _behind(below: Sequence[Media]) -> list[AnyMessage]:
    heading = Text(prompt("media_behind").text)
    return _WIRE.write([Message("user", (heading, *below), kind="injected")])
