"""The windows of models whose client does not report one, from the table `windows.toml`.

LangChain's clients have profiles of most models. A model newer than its client has none, nor has
any model of a gateway. `thalweg.engine.pricing.matching` finds a model's row, as for prices.
"""

from collections.abc import Mapping
from typing import Final

from thalweg.engine.data_files import read_table
from thalweg.engine.pricing.matching import matching_row_name

WINDOWS: Final[Mapping[str, Mapping[str, int]]] = read_table(__package__, "windows.toml")
"""Input and output tokens together, by provider, as `provider_of` names it, and by model."""


def window_of_model(model: str) -> int | None:
    """Return the window of a model whose provider is not named, as in a log.

    Example:
        >>> window_of_model("claude-opus-4-5-20251101")
        200000
    """
    windows = (window_for(provider, model) for provider in WINDOWS)
    return next(filter(None, windows), None)


def window_for(provider: str, model: str) -> int | None:
    """Return the window of a model, or `None` if the table does not have it.

    Args:
        provider: As `provider_of` names it, or empty.
        model: Its name, which may include a gateway's prefix.

    Example:
        >>> window_for("anthropic", "us.anthropic.claude-fable-5-2-v1:0")
        1000000
        >>> window_for("anthropic", "claude-fable-9")
    """
    rows = WINDOWS.get(provider, {})
    name = matching_row_name(rows, model)
    return rows[name] if name else None
