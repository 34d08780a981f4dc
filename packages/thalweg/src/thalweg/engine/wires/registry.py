"""The wires of all providers, by name."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TypeVar

from thalweg.engine.wires.base import Wire, WireReader
from thalweg.errors import ConfigError

_WIRE_CLASS_PATHS = {
    "openai-chat": "thalweg.engine.wires.openai_chat:OpenAIChatWire",
    "openai-responses": "thalweg.engine.wires.openai_responses:OpenAIResponsesWire",
    "langchain": "thalweg.engine.wires.langchain:LangChainWire",
}
_READER_CLASS_PATHS = {
    **_WIRE_CLASS_PATHS,
    "anthropic": "thalweg.engine.wires.anthropic:AnthropicReader",
    "gemini": "thalweg.engine.wires.gemini:GeminiReader",
}
R = TypeVar("R", bound=WireReader)


class UnknownWireError(ConfigError, KeyError):
    """Raised for a name without a wire; also a `KeyError`, as of any mapping."""


class _Wires(Mapping[str, R]):
    """A mapping that imports a wire at its first lookup."""

    def __init__(self, class_paths: Mapping[str, str]) -> None:
        self._class_paths = class_paths

    def __getitem__(self, name: str) -> R:
        if name not in self._class_paths:
            raise UnknownWireError(
                repr(name), "there is no such wire", f"known are {self._known_names}"
            )
        module, _, kind = self._class_paths[name].partition(":")
        wire_class: Callable[[], R] = getattr(import_module(module), kind)
        return wire_class()

    @property
    def _known_names(self) -> str:
        return ", ".join(self._class_paths)

    def __iter__(self) -> Iterator[str]:
        return iter(self._class_paths)

    def __len__(self) -> int:
        return len(self._class_paths)


READERS: Mapping[str, WireReader] = _Wires(_READER_CLASS_PATHS)
"""Dialects that are read, by name: those of `WIRES`, Anthropic's and Gemini's."""
WIRES: Mapping[str, Wire] = _Wires(_WIRE_CLASS_PATHS)
"""Name to wire, of dialects that are read and written; a wire is imported at its first lookup.

An unregistered name raises a `ConfigError` that lists the names."""
