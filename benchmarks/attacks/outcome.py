"""What came of an attack."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Effort = Literal["quick", "full"]
"""`quick` tries less of what takes minutes."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How often an attack was tried, and what came through.

    Attributes:
        tries: What was sent, forged, killed or compared.
        breaches: What came through, a line each.
        figure: What was measured besides.
    """

    tries: int
    breaches: tuple[str, ...] = ()
    figure: str = ""


@dataclass(frozen=True, slots=True)
class Attack:
    """A row of the table.

    Attributes:
        name: What is attacked, and how.
        run: Tries it.
    """

    name: str
    run: Callable[[Effort], Outcome]
