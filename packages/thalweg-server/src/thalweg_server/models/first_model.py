"""Help for people who have no model yet."""

from collections.abc import Sequence

from thalweg.engine.extras import install_command
from thalweg_server.models.discovery import AvailableModel
from thalweg_server.prompts import prompt

_SHOWN = 6
"""Offers that fit on a screen with the rest of the text."""


def how_to_answer(offers: Sequence[AvailableModel] = ()) -> str:
    """Return, for one screen, how to get a model, and which were found.

    Args:
        offers: The result of `find_models`.

    Example:
        >>> found = AvailableModel("ollama:qwen3:4b", "Ollama at http://127.0.0.1:11434")
        >>> print(how_to_answer([found]).splitlines()[-1])
          thalweg chat --model ollama:qwen3:4b  (Ollama at http://127.0.0.1:11434)
    """
    if not offers:
        found = "Not found: a key in the environment, a server that listens."
        return _render(found)
    lines = [
        f"  thalweg chat --model {offer.name}  ({_describe(offer)})" for offer in offers[:_SHOWN]
    ]
    more = len(offers) - _SHOWN
    if more > 0:
        lines.append(f"  and {more} more: thalweg doctor")
    return _render("\n".join(["Found here:", *lines]))


def _render(found: str) -> str:
    commands = {extra: install_command(extra) for extra in ("anthropic", "ollama", "openai")}
    return prompt("how_to_answer").render(found=found, **commands)


def _describe(offer: AvailableModel) -> str:
    return offer.what if offer.is_ready else f"{offer.what}; first: {offer.missing}"
