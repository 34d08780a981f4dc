"""The system prompt of a request, where a provider wants it beside the messages."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from thalweg.wires.registry import WIRES

_BESIDE = {"anthropic": "thalweg.wires.anthropic", "gemini": "thalweg.wires.gemini"}


def split_system(wire: str, items: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Part what a wire wrote into the system prompt and the messages of a request.

    Args:
        wire: Name of the wire that wrote them.
        items: What it wrote.

    Returns:
        Anthropic's `system` and `messages`, Gemini's `systemInstruction` and `contents`. The
        prompt is `None` where there is none, and for every wire that has it among its messages.

    Raises:
        ConfigError: There is no such wire.

    Example:
        >>> items = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
        >>> split_system("anthropic", items)
        ('Be brief.', [{'role': 'user', 'content': 'hi'}])
    """
    WIRES[wire]  # says what is wrong with the name
    if (place := _BESIDE.get(wire)) is None:
        return None, list(items)
    parted: tuple[Any, list[Any]] = import_module(place).split_system(items)
    return parted
