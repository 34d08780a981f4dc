"""The wires of all providers, by name."""

from collections.abc import Mapping

from thalweg.engine.wires.anthropic import AnthropicReader
from thalweg.engine.wires.base import Wire, WireReader
from thalweg.engine.wires.gemini import GeminiReader
from thalweg.engine.wires.langchain import LangChainWire
from thalweg.engine.wires.openai_chat import OpenAIChatWire
from thalweg.engine.wires.openai_responses import OpenAIResponsesWire

WIRES: Mapping[str, Wire] = {
    wire.name: wire for wire in (OpenAIChatWire(), OpenAIResponsesWire(), LangChainWire())
}
"""Dialects that are read and written, by name."""
READERS: Mapping[str, WireReader] = {
    **WIRES,
    **{reader.name: reader for reader in (AnthropicReader(), GeminiReader())},
}
"""Dialects that are read, by name: those of `WIRES`, Anthropic's and Gemini's."""
