"""Values that the data of a page refers to by their index."""

from collections.abc import Hashable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Pool:
    """Unique values in order of first appearance."""

    numbers: dict[Hashable, int] = field(default_factory=dict)

    def number(self, value: Hashable) -> int:
        """Return the index of a value among the unique ones."""
        return self.numbers.setdefault(value, len(self.numbers))
