"""Every wire of a provider, by name."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module

from thalweg.wires.base import Wire

_PLACES = {
    "openai-chat": "thalweg.wires.openai_chat:OpenAIChatWire",
    "openai-responses": "thalweg.wires.openai_responses:OpenAIResponsesWire",
    "anthropic": "thalweg.wires.anthropic:AnthropicWire",
    "gemini": "thalweg.wires.gemini:GeminiWire",
    "langchain": "thalweg.wires.langchain:LangChainWire",
}


class _Wires(Mapping[str, Wire]):
    """Wires that are imported when they are asked for."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> Wire:
        module, _, kind = self._places[name].partition(":")
        make: Callable[[], Wire] = getattr(import_module(module), kind)
        return make()

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


WIRES: Mapping[str, Wire] = _Wires(_PLACES)
"""Name to wire; a wire is imported when it is asked for."""
