"""A ledger for subagents to read: long pages, each with a seal and findings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from thalweg_evals.material.paging import Pages


@dataclass(slots=True)
class TrialLedger:
    """The ledger of one trial.

    No question is about its seals: a text that contains one comes from the page.
    """

    dice: Random
    berths: Mapping[str, str]
    """What to find, by ship."""
    last: int
    """Number of the last page."""
    tokens: int = 300
    """Approximate length of a page."""
    seals: Mapping[int, str] = field(init=False)
    _places: Mapping[str, int] = field(init=False)
    _noise: Pages = field(init=False)

    def __post_init__(self) -> None:
        """Draw the positions of findings and seals."""
        pages = range(1, self.last + 1)
        numbers = self.dice.sample(range(100_000, 999_999), self.last)
        self.seals = {page: f"ZQ{number}" for page, number in zip(pages, numbers, strict=True)}
        self._places = {ship: self.dice.choice(pages) for ship in self.berths}
        self._noise = Pages(self.dice)

    def text(self, page: int) -> str:
        """Return the text of a page."""
        if page not in self.seals:
            return f"There is no page {page}; the ledger has pages 1 to {self.last}."
        self._noise.tokens = self.tokens
        found = [ship for ship, place in self._places.items() if place == page]
        lines = [f"The berth of the {ship} is {self.berths[ship]}." for ship in found]
        body = self._noise.text(page).splitlines()[1:]
        middle = len(body) // 2
        head = f"Ledger, page {page}. Sealed {self.seals[page]}."
        return "\n".join([head, *body[:middle], *lines, *body[middle:]])
