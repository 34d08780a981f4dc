"""The bill of model calls: every cost that a replay knows, by its kind."""

from dataclasses import dataclass
from typing import Literal

PriceSource = Literal["model", "assumed", "chosen"]
"""Whose prices a bill has: those of the recorded model, assumed ones because its own are unknown,
or others that the caller chose."""


@dataclass(frozen=True, slots=True)
class Bill:
    """The cost of one or more model calls, in units of one uncached input token.

    It is whole if the log states usage. Else it is *of input*: system prompt, tools and answers of
    the recorded agent are unknown and left out.

    Example:
        >>> (Bill(input=10.0, output=2.0) + Bill(steps=1.0)).total
        13.0
    """

    input: float = 0.0
    """Of the requests; in a whole bill with the recorded agent's system prompt and tools."""
    output: float = 0.0
    """Of the recorded answers, reasoning included."""
    summaries: float = 0.0
    """Calls of summarizers, with their output."""
    steps: float = 0.0
    """Further calls for removed content, with their output."""

    @property
    def total(self) -> float:
        """The sum of all kinds."""
        return self.input + self.output + self.summaries + self.steps

    def __add__(self, other: "Bill") -> "Bill":
        """Return the bill of the calls of both."""
        return Bill(
            self.input + other.input,
            self.output + other.output,
            self.summaries + other.summaries,
            self.steps + other.steps,
        )
