"""The wires of all providers, by name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from thalweg.engine.wires.base import Wire
from thalweg.errors import ConfigError

_WIRE_CLASS_PATHS = {
    "openai-chat": "thalweg.engine.wires.openai_chat:OpenAIChatWire",
    "openai-responses": "thalweg.engine.wires.openai_responses:OpenAIResponsesWire",
    "anthropic": "thalweg.engine.wires.anthropic:AnthropicWire",
    "gemini": "thalweg.engine.wires.gemini:GeminiWire",
    "langchain": "thalweg.engine.wires.langchain:LangChainWire",
}


class UnknownWireError(ConfigError, KeyError):
    """Raised for a name without a wire; also a `KeyError`, as of any mapping."""


class _Wires(Mapping[str, Wire]):
    """A mapping that imports a wire at its first lookup."""

    def __init__(self, class_paths: Mapping[str, str]) -> None:
        self._class_paths = class_paths

    def __getitem__(self, name: str) -> Wire:
        if name not in self._class_paths:
            raise UnknownWireError(
                repr(name), "there is no such wire", f"known are {self._known_names}"
            )
        module, _, kind = self._class_paths[name].partition(":")
        wire_class: Callable[[], Wire] = getattr(import_module(module), kind)
        return wire_class()

    @property
    def _known_names(self) -> str:
        return ", ".join(self._class_paths)

    def __iter__(self) -> Iterator[str]:
        return iter(self._class_paths)

    def __len__(self) -> int:
        return len(self._class_paths)


WIRES: Mapping[str, Wire] = _Wires(_WIRE_CLASS_PATHS)
"""Name to wire; a wire is imported at its first lookup.

An unregistered name raises a `ConfigError` that lists the names."""

_SYSTEM_SPLITTERS = {
    "anthropic": "thalweg.engine.wires.anthropic",
    "gemini": "thalweg.engine.wires.gemini",
}


def split_system(wire: str, items: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Split the output of a wire into the system prompt and the messages of a request.

    Args:
        wire: Name of the wire that wrote the items.
        items: The items.

    Returns:
        Anthropic's `system` and `messages`, Gemini's `systemInstruction` and `contents`. The
        prompt is `None` if there is none, and for every wire that has it among its messages.

    Raises:
        ConfigError: There is no such wire.

    Example:
        >>> items = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
        >>> split_system("anthropic", items)
        ('Be brief.', [{'role': 'user', 'content': 'hi'}])
    """
    WIRES[wire]  # raises for an unregistered name
    if (module := _SYSTEM_SPLITTERS.get(wire)) is None:
        return None, list(items)
    system_and_messages: tuple[Any, list[Any]] = import_module(module).split_system(items)
    return system_and_messages
