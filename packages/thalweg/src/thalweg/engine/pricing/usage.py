"""The usage of model answers, in tokens; `thalweg.engine.pricing.cost` prices it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one model answer as the provider reported them, or the sum of several.

    Every part is included in its whole: cache reads and writes in `input`, one-hour writes in
    `written`, reasoning in `output`.

    Example:
        >>> both = Usage(100, cached=90, model="m") + Usage(50, output=5, model="m")
        >>> both == Usage(150, cached=90, output=5, calls=2, model="m")
        True
    """

    input: int = 0
    """All input tokens, cached ones included."""
    cached: int = 0
    """Input tokens read from the provider's cache."""
    written: int = 0
    """Input tokens written to it, for any time."""
    output: int = 0
    """All output tokens, reasoning included."""
    written_long: int = 0
    """The part of `written` that the cache keeps for an hour."""
    reasoning: int = 0
    """The part of `output` that is reasoning; 0 if the provider does not report it."""
    calls: int = 1
    """Model calls: 1 for an answer."""
    model: str = ""
    """The model that answered, as the log or the request names it; empty if unknown, and for a
    sum over several models."""
    id: str = ""
    """The provider's id of the answer; empty for a sum. Answers with the same id are copies."""

    @property
    def plain(self) -> int:
        """Input tokens that were neither read from the cache nor written to it."""
        return max(0, self.input - self.cached - self.written)

    def __add__(self, other: "Usage") -> "Usage":
        """Return the sum; `summed` keeps models apart, and prices need that."""
        models = {one.model for one in (self, other) if one.calls}
        return Usage(
            input=self.input + other.input,
            cached=self.cached + other.cached,
            written=self.written + other.written,
            output=self.output + other.output,
            written_long=self.written_long + other.written_long,
            reasoning=self.reasoning + other.reasoning,
            calls=self.calls + other.calls,
            model=models.pop() if len(models) == 1 else "",
        )


NO_USAGE = Usage(calls=0)
"""The sum of no answers."""
