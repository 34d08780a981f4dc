"""Limits of one run of a subagent."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Self

from thalweg.errors import SpecError
from thalweg.sections import nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one run of a subagent; `None` is unlimited.

    The first limit reached ends the run with a partial report.

    Example:
        >>> Limits(turns=20).lowered(turns=5).turns
        5
    """

    turns: int | None = 100
    """Model calls; the tool calls of the last one still run."""
    tokens: int | None = None
    """Tokens as its models report them, input and output, those of its own subagents too. Checked
    after each turn."""
    seconds: float | None = 3_600.0
    """Seconds from start to end. In async runs, work in progress is cancelled."""
    depth: int | None = 3
    """Most levels of nested subagents."""

    def __post_init__(self) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            kinds = (int, float) if field.name == "seconds" else (int,)
            is_number = isinstance(given, kinds) and not isinstance(given, bool)
            if given is not None and not (is_number and given > 0):
                problem = f"{field.name} is {given!r}"
                raise SpecError("limits", problem, "give a number above 0, or None for no limit")

    @classmethod
    def of(cls, given: object, default: Self) -> Self:
        """Parse limits: `None`, a mapping of some, or a `Limits`.

        Raises:
            SpecError: It is something else, or has an unsupported key.
        """
        if given is None:
            return default
        if isinstance(given, cls):
            return given
        names = [field.name for field in fields(cls)]
        if not isinstance(given, Mapping):
            mend = f"give a mapping with some of {', '.join(names)}"
            raise SpecError("limits", f"it is of type {type(given).__name__}", mend)
        for name in given:
            if name not in names:
                raise SpecError("limits", f"there is no {name!r}", nearest(str(name), names))
        return replace(default, **given)

    def lowered(self, *, turns: int = 0) -> Self:
        """Return limits with at most the turns that a call requests; 0 requests none."""
        if turns <= 0:
            return self
        return replace(self, turns=turns if self.turns is None else min(turns, self.turns))
