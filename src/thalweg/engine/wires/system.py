"""The system prompt of a request, for providers that take it as a parameter of its own."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from thalweg.engine.wires.registry import WIRES

_BESIDE = {"anthropic": "thalweg.engine.wires.anthropic", "gemini": "thalweg.engine.wires.gemini"}


def split_system(wire: str, items: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Split what a wire wrote into the system prompt and the messages of a request.

    Args:
        wire: Name of the wire that wrote the items.
        items: What it wrote.

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
    if (place := _BESIDE.get(wire)) is None:
        return None, list(items)
    parted: tuple[Any, list[Any]] = import_module(place).split_system(items)
    return parted
