"""What a provider was heard to accept, where it is less than was thought."""

from dataclasses import dataclass, replace

from thalweg.context.budget import MIN_LIMIT, Budget
from thalweg.middleware.overflow import Overflow
from thalweg.tokens import Calibration, Ledger

SMALLER = (0.85, 0.7, 0.55, 0.4, 0.3)
"""Size of the next request, as a share of the one just refused, where the refusal has no numbers:
a little less at first, and after five refusals less than a twentieth of the first."""


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What one model was heard to accept; `None` where it never refused."""

    window: int | None = None
    """Tokens of input and output together, as the provider counts."""
    bytes: int | None = None
    media: int | None = None

    def under(self, budget: Budget) -> Budget:
        """Lower a budget to what is accepted."""
        changed: dict[str, int] = {}
        if self.bytes is not None:
            changed["max_bytes"] = min(budget.max_bytes, self.bytes)
        if self.media is not None:
            changed["max_media"] = min(budget.max_media, self.media)
        if self.window is not None and self.window < budget.window:
            output = min(budget.output, max(0, self.window - MIN_LIMIT))
            changed |= {"window": max(self.window, output + MIN_LIMIT), "max_output": output}
        return budget.model_copy(update=changed)

    def lowered(
        self,
        overflow: Overflow,
        ledger: Ledger,
        budget: Budget,
        calibration: Calibration,
        times: int,
    ) -> "Ceilings":
        """Learn from a refusal, so that the next request is smaller.

        Args:
            overflow: The refusal.
            ledger: Of the request that was refused.
            budget: What it was made for.
            calibration: How the provider counts, the refusal's own count taken in.
            times: Refusals of this request before.
        """
        share = SMALLER[min(times, len(SMALLER) - 1)]
        if overflow.kind == "bytes":
            return replace(self, bytes=max(1, int(ledger.bytes * share)))
        if overflow.kind == "media":
            return replace(self, media=ledger.media // 2)
        ceilings = self
        if overflow.limit and overflow.limit < budget.window:
            ceilings = replace(self, window=overflow.limit)
        if ceilings.under(budget).calibrated(calibration).limit < ledger.total:
            return ceilings
        target = calibration.upper(int(ledger.total * share))
        return replace(self, window=target + budget.output)

    def raised(self, accepted: int, output: int) -> "Ceilings":
        """Learn from a request that was taken, with so many tokens as the provider counted."""
        if self.window is None or accepted + output <= self.window:
            return self
        return replace(self, window=accepted + output)
