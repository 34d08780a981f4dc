"""Between LangChain's messages and ours, for one thread."""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress, count, pairwise
from operator import is_not, ne, or_

from langchain_core.messages import AnyMessage, BaseMessage

from thalweg.context.request.message_adaptation import TargetModel, adapt_message, aside, is_own
from thalweg.engine.entries import RECALL, Media, Message, Text, Thinking
from thalweg.engine.media.cost import cost_of
from thalweg.engine.prompts import prompt
from thalweg.engine.window.items import WindowItem, is_compaction, without_prompts
from thalweg.engine.window.references import message_for_tool
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
        unchanged = common_prefix(self.sources, sources)
        unchanged += _equal_prefix(self.sources[unchanged:], sources[unchanged:])
        rest = zip(self.sources[unchanged:], self.messages[unchanged:], strict=True)
        known_by_id = {source.id: (source, message) for source, message in rest}
        parsed = self.messages[:unchanged]
        for source in sources[unchanged:]:
            known = known_by_id.get(source.id)
            if known is not None and _is_equal(known[0], source):
                parsed.append(known[1])
            else:
                parsed += read_state([source])
        return ParsedMessages(sources, parsed)


def common_prefix(old: Sequence[BaseMessage], new: Sequence[BaseMessage]) -> int:
    """Count the leading messages that are the same objects in both."""
    return next(compress(count(), map(is_not, old, new)), min(len(old), len(new)))


def _equal_prefix(old: Sequence[BaseMessage], new: Sequence[BaseMessage]) -> int:
    differences = map(
        or_, map(ne, map(vars, old), map(vars, new)), map(is_not, map(type, old), map(type, new))
    )
    return next(compress(count(), differences), min(len(old), len(new)))


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
    _target: TargetModel = field(default_factory=TargetModel)
    _rows: list[_SentItem] = field(default_factory=list)
    _media_positions: list[tuple[AnyMessage, int]] = field(default_factory=list)
    """Messages after results that may not hold their content; the position of the first result."""

    def speak_to(self, target: TargetModel, recall: str = RECALL) -> None:
        """Set the target model of the messages written from now on, and how references name a tool.

        Args:
            target: The target model.
            recall: The name of the tool that reads references; empty if the request has none.
        """
        if (target, recall) != (self._target, self.recall):
            self._target, self.recall, self._rows = target, recall, []

    def write(self, items: Sequence[WindowItem], edited: Container[int] = ()) -> list[AnyMessage]:
        """Write a view; two answers in a row are written as they are.

        Args:
            items: The view.
            edited: Positions of messages that are shown in another form, which has references.
        """
        items = without_prompts(items)
        items, kept_roles = (
            _place_system_messages(items)
            if self._target.takes_system
            else (items, frozenset[int]())
        )
        rows: list[_SentItem] = []
        for start, end in _loop_ranges(items):
            own_flags = [self._owns(index, items[index]) for index in range(start, end)]
            sends_reasoning = all(own_flags)
            rows += [
                self._row(
                    index,
                    items[index],
                    edited,
                    is_own=is_own_item,
                    sends_reasoning=sends_reasoning,
                    stays=index in kept_roles,
                )
                for index, is_own_item in zip(range(start, end), own_flags, strict=True)
            ]
            first = next(
                (item for item in items[start:end] if item.message.role == "assistant"), None
            )
            self.lacks_thinking = first is not None and not (
                sends_reasoning and _begins_with_reasoning(first.message)
            )
        self._rows = rows
        return self._written_messages()

    def _owns(self, index: int, item: WindowItem) -> bool:
        if item.message.role != "assistant":
            return True
        old_row = self._rows[index] if index < len(self._rows) else None
        if old_row is not None and old_row.item is item:
            return old_row.is_own
        requested_model = partial(self.requested_model, item.position, item.message)
        return is_own(item.message, self._target, requested_model)

    def _row(
        self,
        index: int,
        item: WindowItem,
        edited: Container[int],
        *,
        is_own: bool,
        sends_reasoning: bool,
        stays: bool,
    ) -> _SentItem:
        old_row = self._rows[index] if index < len(self._rows) else None
        if (
            old_row
            and old_row.item is item
            and (old_row.thinks, old_row.stays) == (sends_reasoning, stays)
        ):
            return old_row
        message, target = item.message, self._target
        if item.section == "summary" or item.position in edited:
            message = message_for_tool(message, self.recall)
        is_late = message.role == "system" and item.section != "system" and not stays
        if is_late and target.client == "anthropic":
            text = prompt("moved_system").render(text=message.text)
            message = Message("user", (Text(text),), kind="injected", uid=message.uid)
        is_read_back = self._is_read_back(item)
        message = adapt_message(
            message,
            target,
            is_own_answer=is_own,
            sends_reasoning=sends_reasoning,
            is_read_back=is_read_back,
        )
        written = tuple(_WIRE.write([message]))
        media_below = tuple(aside(item.message, target, is_read_back=is_read_back))
        return _SentItem(item, is_own, sends_reasoning, stays, written, media_below)

    def _is_read_back(self, item: WindowItem) -> bool:
        return item.message.role == "tool" and item.message.name in {RECALL, self.recall or RECALL}

    def _written_messages(self) -> list[AnyMessage]:
        messages: list[AnyMessage] = []
        media_positions: list[tuple[AnyMessage, int]] = []
        media_below: list[Media] = []
        position = -1
        for row in self._rows:
            if media_below and row.item.message.role != "tool":
                media_positions += ((message, position) for message in _media_messages(media_below))
                messages.append(media_positions[-1][0])
                media_below = []
            messages += row.written
            if row.aside and not media_below:  # what was read back has its reference already
                position = -1 if self._is_read_back(row.item) else row.item.position
            media_below += row.aside
        if media_below:
            media_positions += ((message, position) for message in _media_messages(media_below))
            messages.append(media_positions[-1][0])
        self._media_positions = media_positions
        return messages

    def places(self) -> Iterator[tuple[AnyMessage, int]]:
        """Yield the messages last written, each with its source's position; -1 if it has none."""
        yield from ((message, row.item.position) for row in self._rows for message in row.written)
        yield from self._media_positions

    def sent(self, model: str = "") -> list[tuple[AnyMessage, int]]:
        """List the messages last written, each with its tokens.

        Args:
            model: The model whose price media have; see `cost_of`.
        """
        counted: list[tuple[AnyMessage, int]] = []
        media_tokens = 0
        for row in self._rows:
            moved_tokens = sum(cost_of(media, model).tokens for media in row.aside)
            tokens = max(0, row.item.tokens - moved_tokens)
            media_tokens += row.item.tokens - tokens
            counted += [
                (message, 0 if index else tokens) for index, message in enumerate(row.written)
            ]
        media_messages = [message for message, _ in self._media_positions]
        return counted + [
            (message, 0 if index else media_tokens) for index, message in enumerate(media_messages)
        ]


def _place_system_messages(
    items: Sequence[WindowItem],
) -> tuple[Sequence[WindowItem], frozenset[int]]:
    """Move system messages where Anthropic accepts them: between the user's turn and the model's.

    Returns:
        The items, and the indices of the system messages that keep their role: those at a valid
        place, one at each. Source: platform.claude.com, "Mid-conversation system messages", read
        2026-11-23.
    """
    placed: list[WindowItem] = []
    waiting: list[WindowItem] = []
    kept_roles: set[int] = set()

    def settle() -> None:
        placed.extend(waiting)
        preceding_role = (
            placed[-len(waiting) - 1].message.role if len(placed) > len(waiting) else ""
        )
        if waiting and preceding_role in {"user", "tool"}:
            kept_roles.add(len(placed) - 1)
        waiting.clear()

    for item in items:
        if item.message.role == "system" and item.section != "system":
            waiting.append(item)
            continue
        if item.message.role not in {"user", "tool"}:
            settle()
        placed.append(item)
    settle()
    return placed, frozenset(kept_roles)


def _loop_ranges(items: Sequence[WindowItem]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a view between messages of others than the model and its tools."""
    starts = [index for index, item in enumerate(items) if item.message.role in {"user", "system"}]
    bounds = [0, *starts, len(items)]
    return ((start, end) for start, end in pairwise(bounds) if start < end)


def _begins_with_reasoning(message: Message) -> bool:
    first = next((part for part in message.parts if not is_compaction(part)), None)
    return isinstance(first, Thinking)


def _media_messages(media: Sequence[Media]) -> list[AnyMessage]:
    heading = Text(prompt("media_behind").text)
    return _WIRE.write([Message("user", (heading, *media), kind="injected")])
