"""The result of one check."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "off", "broken"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    Attributes:
        what: The thing that was checked.
        seen: The result.
        fix: One command or action; empty if none is needed.
        state: `ok`; `off` for something that is not set up here, and nothing needs it; `broken` for
            something that is needed or configured, and does not work.
    """

    what: str
    seen: str
    fix: str = ""
    state: State = "ok"
