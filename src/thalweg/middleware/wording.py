"""Between LangChain's messages and ours, for one thread."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage

from thalweg.context.window import Item
from thalweg.entries import Message
from thalweg.wires.langchain import LangChainWire

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


@dataclass(slots=True)
class Wording:
    """The items of a view as LangChain's messages; what did not change is not built again."""

    _items: list[Item] = field(default_factory=list)
    _written: list[list[Any]] = field(default_factory=list)

    def write(self, items: Sequence[Item]) -> list[AnyMessage]:
        """Write a view."""
        same = 0
        for had, has in zip(self._items, items, strict=False):
            if had is not has:
                break
            same += 1
        del self._items[same:], self._written[same:]
        for item in items[same:]:
            self._items.append(item)
            self._written.append(_WIRE.write([item.message]))
        return [message for written in self._written for message in written]

    def tokens(self) -> dict[int, int]:
        """Tokens of the messages last written, by the identity of their objects."""
        return {
            id(message): item.tokens if k == 0 else 0
            for item, written in zip(self._items, self._written, strict=True)
            for k, message in enumerate(written)
        }
