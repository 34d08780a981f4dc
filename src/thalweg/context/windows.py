"""The windows of models whose client does not name one, from the table `windows.toml`.

LangChain's clients have profiles of most models. A model newer than its client has none, nor
has any model behind a gateway. `thalweg.context.matching` finds a model's row, as for prices.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from typing import Final

from thalweg.context.matching import row_of


@dataclass(frozen=True, slots=True)
class KnownWindow:
    """What a model accepts."""

    tokens: int
    """Of input and output together."""
    source: str
    dated: date


_TABLE: Final = tomllib.loads((files(__package__) / "windows.toml").read_text("utf-8"))
_SOURCE: Final[str] = _TABLE.pop("source")
_DATED: Final[date] = _TABLE.pop("dated")

WINDOWS: Final[Mapping[str, Mapping[str, KnownWindow]]] = {
    provider: {name: KnownWindow(tokens, _SOURCE, _DATED) for name, tokens in rows.items()}
    for provider, rows in _TABLE.items()
}
"""By provider, as `provider_of` names it, and by model."""


def window_for(provider: str, model: str) -> KnownWindow | None:
    """Find the window of a model, or `None` where the table does not have it.

    Args:
        provider: As `provider_of` names it, or nothing.
        model: Its name, with whatever a gateway puts around it.

    Example:
        >>> found = window_for("anthropic", "us.anthropic.claude-fable-5-2-v1:0")
        >>> found.tokens if found else 0
        1000000
        >>> window_for("anthropic", "claude-fable-9")
    """
    rows = WINDOWS.get(provider, {})
    name = row_of(rows, model)
    return rows[name] if name else None
