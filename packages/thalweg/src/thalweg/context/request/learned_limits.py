"""Limits learned from a provider's refusals, if they are below the expected window."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from thalweg.context.request.overflow import Overflow
from thalweg.engine.tokens import Calibration, TokenCounts
from thalweg.engine.window.budget import LEAST_LIMIT, MIN_LIMIT, Budget

SHRINK_SHARES = (0.85, 0.7, 0.55, 0.4, 0.3)
"""Size of the next request after a refusal without numbers, as a share of the refused one.

A little less at first, and after five refusals less than a twentieth of the first."""
BELOW_REFUSED_SHARE = 0.85
"""Share of a refused size that later turns still try, if the refusal named no limit."""
LEAST_TOKENS, LEAST_BYTES, LEAST_MEDIA = 8_000, 65_536, 10
"""No limit below these is believed of a provider that names none: a refusal of so little is
about something in that request."""


@dataclass(frozen=True, slots=True)
class RequestSize:
    """The size of a request."""

    tokens: int
    """As the provider counts them."""
    bytes: int = 0
    media: int = 0

    @classmethod
    def of(
        cls, ledger: TokenCounts, calibration: Calibration, counted: int | None = None
    ) -> "RequestSize":
        """Build from a request's ledger, and from the provider's count if it reported one."""
        return cls(counted or calibration.upper(ledger.total), ledger.bytes, ledger.media)


@dataclass(frozen=True, slots=True)
class SizeRefusal:
    """A request that was too large for a model."""

    model: str
    overflow: Overflow
    size: RequestSize
    message: str = ""
    """The provider's words."""


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Learned limits of one model; `None` for a limit without a refusal."""

    window: int | None = None
    """Tokens of input and output together, as the provider counts."""
    bytes: int | None = None
    media: int | None = None
    counts_in_full: bool = False
    """Whether media whose price is not exact count in full: the provider found a request of this
    turn too large that has such media."""

    def under(self, budget: Budget) -> Budget:
        """Lower a budget to the accepted limits."""
        changed: dict[str, int] = {}
        if self.counts_in_full:
            changed["trusts_least"] = False
        if self.bytes is not None:
            changed["max_bytes"] = min(budget.max_bytes, self.bytes)
        if self.media is not None:
            changed["max_media"] = min(budget.max_media, self.media)
        if self.window is not None and self.window < budget.window:
            output = min(budget.output, max(self.window - MIN_LIMIT, self.window // 2))
            changed |= {"window": max(self.window, output + LEAST_LIMIT), "max_output": output}
        return budget.model_copy(update=changed)

    def lowered(
        self,
        overflow: Overflow,
        ledger: TokenCounts,
        budget: Budget,
        calibration: Calibration,
        earlier_refusals: int,
    ) -> "Ceilings":
        """Make the next request of the turn smaller than the one that was refused.

        Args:
            overflow: The refusal.
            ledger: Of the request that was refused.
            budget: The budget it was made for.
            calibration: How the provider counts, including the refusal's own count.
            earlier_refusals: Earlier refusals of this request.
        """
        share = SHRINK_SHARES[min(earlier_refusals, len(SHRINK_SHARES) - 1)]
        if overflow.kind == "bytes":
            return replace(self, bytes=max(1, int(ledger.bytes * share)))
        if overflow.kind == "media":
            return replace(self, media=ledger.media // 2)
        ceilings = replace(self, counts_in_full=True)
        if overflow.limit and overflow.limit < budget.window:
            ceilings = replace(ceilings, window=overflow.limit)
        lowered = ceilings.under(budget).calibrated(calibration)
        tokens = lowered.tokens_to_fit(ledger)
        if lowered.limit < tokens:
            return ceilings
        target = calibration.upper(int(tokens * share))
        return replace(ceilings, window=target + budget.output)

    def learned(
        self, refusals: Iterable[SizeRefusal], accepted: RequestSize, output: int
    ) -> "Ceilings":
        """Learn limits for later turns, after a smaller request was accepted.

        A limit that the provider named is trusted. A size that was only refused is too large;
        the limit is never taken to be as low as the size that was accepted.

        Args:
            refusals: The model's refusals in this turn.
            accepted: The request that it then accepted.
            output: Tokens that were kept free for the answer.
        """
        ceilings = self
        for refusal in refusals:
            size, limit = refusal.size, refusal.overflow.limit
            match refusal.overflow.kind:
                case "bytes":
                    inferred = _inferred_limit(size.bytes, accepted.bytes, LEAST_BYTES)
                    ceilings = replace(ceilings, bytes=_smaller(ceilings.bytes, inferred))
                case "media":
                    inferred = _inferred_limit(size.media, accepted.media, LEAST_MEDIA)
                    ceilings = replace(ceilings, media=_smaller(ceilings.media, inferred))
                case _ if limit:
                    ceilings = replace(
                        ceilings, window=_smaller(ceilings.window, max(limit, MIN_LIMIT))
                    )
                case _:
                    inferred = _inferred_limit(size.tokens, accepted.tokens, LEAST_TOKENS)
                    window = None if inferred is None else inferred + output
                    ceilings = replace(ceilings, window=_smaller(ceilings.window, window))
        return ceilings.raised(accepted, output)

    def raised(self, accepted: RequestSize, output: int) -> "Ceilings":
        """Learn from an accepted request: its size fits."""
        return Ceilings(
            None if self.window is None else max(self.window, accepted.tokens + output),
            None if self.bytes is None else max(self.bytes, accepted.bytes),
            None if self.media is None else max(self.media, accepted.media),
        )


def _inferred_limit(refused: int, accepted: int, least: int) -> int | None:
    """Return a size below one that was refused; `None` if there is none to infer."""
    inferred = max(least, accepted, int(refused * BELOW_REFUSED_SHARE))
    return inferred if inferred < refused else None


def _smaller(known: int | None, other: int | None) -> int | None:
    return min((size for size in (known, other) if size is not None), default=None)
