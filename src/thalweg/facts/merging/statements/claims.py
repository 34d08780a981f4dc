"""The values of reading: claims and statements."""

from dataclasses import dataclass
from typing import Literal

USER = "user"
"""The subject of what is told of the user."""
Polarity = Literal["holds", "not", "over"]
"""`over`: it held, and does no more."""
Modality = Literal["fact", "wish", "past"]
"""`wish`: a plan, a hope, what may be. `past`: what was once, and is not told to have ended now."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How a clause is told."""

    polarity: Polarity = "holds"
    is_change: bool = False
    is_correction: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """One value of one attribute of one subject, folded."""

    subject: str
    attribute: str
    value: str
    is_single: bool = False
    """Whether the attribute has one value at a time."""
    polarity: Polarity = "holds"
    rest: frozenset[str] = frozenset()
    """Telling words beside it, that it may hold for alone: `for scripts`, `at work`."""
    is_change: bool = False
    """Whether it is told as a change: `moved to`, `now`."""
    is_instead: bool = False
    """Whether it is told to be in the place of another value, of whatever attribute."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What a statement says."""

    claims: tuple[Claim, ...] = ()
    words: frozenset[str] = frozenset()
    """Its telling words, one for all that mean the same."""
    ordered: tuple[str, ...] = ()
    """The same, in their order."""
    typed: frozenset[tuple[str, str]] = frozenset()
    """Values that can be told by their looks, each with its kind: `("time", "09:30")`."""
    names: tuple[str, ...] = ()
    """What is written with a capital, in order, folded."""
    polarity: Polarity = "holds"
    modality: Modality = "fact"
    has_cue: bool = False
    """Whether it is told as a change or a correction."""
    is_additional: bool = False
    """Whether it is told to hold beside what was known: `also`, `another`."""
    old: tuple[frozenset[str], ...] = ()
    """What it says is over, each as telling words."""
    anchors: frozenset[str] = frozenset()
    """What two statements on the same matter would share."""
    is_event: bool = False
    """Whether it tells what happened, which nothing that happens later replaces."""
    is_one_of_many: bool = False
    """Whether it tells of `a meeting`, beside which there may be others."""
    marks: frozenset[str] = frozenset()
    """By what another statement on the same matter would be found."""
    text: str = ""
    """As it is spelt to be compared."""
    contrasts: frozenset[str] = frozenset()
    """The words of it that set facts apart; see `contrasts`."""
    language: str = ""

    @property
    def subject(self) -> str:
        """Of whom it tells first; empty where no rule knew."""
        return self.claims[0].subject if self.claims else ""

    @property
    def attribute(self) -> str:
        """What it tells first; empty where no rule knew."""
        return self.claims[0].attribute if self.claims else ""

    @property
    def value(self) -> str:
        """The first claim's value."""
        return self.claims[0].value if self.claims else ""
