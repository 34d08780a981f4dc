"""Limits of one run of a subagent, as numbers that a caller may pass as a mapping."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self

from thalweg.engine.sections import name_remedy
from thalweg.errors import SpecError


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Base of dataclasses whose fields are numbers above 0, or `None` for no bound."""

    ARGUMENT: ClassVar[str]
    """The argument that holds them, for errors."""
    UNBOUNDED: ClassVar[str]
    """What `None` means."""
    FLOATS: ClassVar[frozenset[str]]
    """Fields that need not be whole numbers."""

    def __post_init__(self) -> None:
        """Validate every number.

        Raises:
            SpecError: One is of another type, or not above 0.
        """
        for field in fields(self):
            given = getattr(self, field.name)
            kinds = (int, float) if field.name in self.FLOATS else (int,)
            is_number = isinstance(given, kinds) and not isinstance(given, bool)
            if given is not None and not (is_number and given > 0):
                fix = f"pass a number above 0, or None {self.UNBOUNDED}"
                raise SpecError(self.ARGUMENT, f"{field.name} is {given!r}", fix)

    @classmethod
    def of(cls, given: object, default: Self | None = None) -> Self:
        """Parse bounds: `None`, a mapping of some, or an instance.

        Args:
            given: The value to parse.
            default: Bounds that are not in the mapping; those of the class by default.

        Raises:
            SpecError: It is something else, or has an unsupported key.
        """
        default = cls() if default is None else default
        if given is None:
            return default
        if isinstance(given, cls):
            return given
        names = [field.name for field in fields(cls)]
        if not isinstance(given, Mapping):
            fix = f"pass a mapping with some of {', '.join(names)}"
            raise SpecError(cls.ARGUMENT, f"it is of type {type(given).__name__}", fix)
        for name in given:
            if name not in names:
                raise SpecError(
                    cls.ARGUMENT, f"there is no {name!r}", name_remedy(str(name), names)
                )
        return replace(default, **given)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentLimits(Bounds):
    """Limits of one run of a subagent; `None` is unlimited.

    The first limit reached ends the run with a partial report.

    Example:
        >>> SubagentLimits(turns=20).lowered(turns=5).turns
        5
    """

    ARGUMENT: ClassVar = "limits"
    UNBOUNDED: ClassVar = "for no limit"
    FLOATS: ClassVar = frozenset({"seconds"})

    turns: int | None = 100
    """Model calls; the tool calls of the last one still run."""
    tokens: int | None = None
    """Tokens as its models report them, input and output, those of its own subagents too. Checked
    after each turn."""
    seconds: float | None = 3_600.0
    """Seconds from start to end. In async runs, work in progress is cancelled."""
    depth: int | None = 3
    """Most levels of nested subagents."""

    def lowered(self, *, turns: int = 0) -> Self:
        """Return limits with at most the turns that a call requests; 0 requests none."""
        if turns <= 0:
            return self
        return replace(self, turns=turns if self.turns is None else min(turns, self.turns))
