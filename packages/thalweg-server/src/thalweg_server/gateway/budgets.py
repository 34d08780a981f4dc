"""What one owner may do at most: requests, runs and tokens, so that no owner slows down others.

Rates are token buckets of one gateway. Runs at once and what a day's calls cost are counted in the
database, over all gateways and restarts.
"""

import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from thalweg_server.api.catalogue import Usage
from thalweg_server.app.metrics import Metrics
from thalweg_server.app.spending import reached_limit
from thalweg_server.gateway.problems import GatewayRefusal
from thalweg_server.settings.sections import OwnerLimits

_MOST_OWNERS = 10_000
"""Owners whose rates are remembered; the ones that asked last."""
_MINUTE_S = 60.0
_BUSY_RETRY_S = 5
_COUNTED = {
    "runs_at_once": ("runs_at_once", "runs at once"),
    "tokens_per_day": ("tokens", "tokens a day"),
    "cost_per_day": ("cost", "USD a day"),
}
"""Names in a refusal and units of the limits that are counted in the database."""


@dataclass(slots=True)
class Rate:
    """A token bucket: so many in a minute, all of them at once if need be.

    Example:
        >>> rate = Rate()
        >>> [rate.take(2, now=0.0), rate.take(2, now=0.0), rate.take(2, now=0.0)]
        [0.0, 0.0, 30.0]
    """

    used: float = 0.0
    at: float = -math.inf

    def take(self, per_minute: int, *, now: float) -> float:
        """Take one request from the budget.

        Args:
            per_minute: Allowed requests in a minute.
            now: Seconds of a monotonic clock.

        Returns:
            0, or the seconds until one is available.
        """
        self.used = max(0.0, self.used - (now - self.at) * per_minute / _MINUTE_S)
        self.at = now
        if self.used + 1 > per_minute:
            return (self.used + 1 - per_minute) * _MINUTE_S / per_minute
        self.used += 1
        return 0.0


@dataclass(slots=True)
class _Owner:
    requests: Rate = field(default_factory=Rate)
    runs: Rate = field(default_factory=Rate)
    starting: int = 0
    """Runs that are being started and not in the journal yet."""


class Budgets:
    """Usage of the limits of each owner of one gateway."""

    def __init__(
        self,
        limits: Callable[[str], OwnerLimits],
        metrics: Metrics,
        *,
        clock: Callable[[], float] = time.monotonic,
        today: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Begin with nothing used.

        Args:
            limits: Returns the limits of an owner as they are now.
            metrics: Counts refusals by limit.
            clock: Seconds that never go back.
            today: The time in UTC.
        """
        self._limits = limits
        self._metrics = metrics
        self._clock = clock
        self._today = today
        self.is_stopping = False
        """Whether no run is started any more."""
        self._owners: dict[str, _Owner] = {}

    @property
    def owners(self) -> Sequence[str]:
        """The owners of the last requests, the newest last."""
        return [*self._owners]

    def _of(self, owner: str) -> _Owner:
        one = self._owners[owner] = self._owners.pop(owner, _Owner())
        if len(self._owners) > _MOST_OWNERS:
            del self._owners[next(iter(self._owners))]
        return one

    def take_request(self, owner: str) -> None:
        """Count a request.

        Raises:
            Refusal: The owner has sent as many as it may in a minute.
        """
        most, one = self._limits(owner).requests_per_minute, self._of(owner)
        if most is not None:
            wait_s = one.requests.take(most, now=self._clock())
            self._check("requests", f"{most:,} requests a minute", wait_s)

    @asynccontextmanager
    async def starting(
        self,
        owner: str,
        count: Callable[[], Awaitable[int]],
        spent: Callable[[], Awaitable[Sequence[Usage]]],
    ) -> AsyncIterator[None]:
        """Let a run be started inside.

        Args:
            owner: Whose run it is.
            count: Returns how many runs of the owner count for the limit of runs at once.
            spent: Returns the usage of the owner today, by model.

        Raises (when entered):
            Refusal: The owner has started as many as it may, or spent its tokens or money.
        """
        if self.is_stopping:
            detail = "this gateway is stopping; send the request again, to another one"
            raise GatewayRefusal(503, "gateway.stopping", detail, {"Retry-After": "1"})
        limits, one = self._limits(owner), self._of(owner)
        one.starting += 1
        try:
            name = await reached_limit(limits, count, spent, one.starting)
            if name is not None:
                limit, unit = _COUNTED[name]
                wait_s = _BUSY_RETRY_S if name == "runs_at_once" else self._seconds_to_midnight()
                self._check(limit, f"{getattr(limits, name):,} {unit}", wait_s)
            if limits.runs_per_minute is not None:
                wait_s = one.runs.take(limits.runs_per_minute, now=self._clock())
                self._check("runs", f"{limits.runs_per_minute:,} runs a minute", wait_s)
            yield
        finally:
            one.starting -= 1

    def _seconds_to_midnight(self) -> float:
        now = self._today()
        midnight = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), UTC)
        return (midnight - now).total_seconds()

    def _check(self, limit: str, description: str, wait_s: float) -> None:
        if wait_s > 0:
            self._metrics.limits_met.labels(limit).inc()
            seconds = max(1, math.ceil(wait_s))
            detail = f"your limit is {description}; try again in {seconds} s"
            raise GatewayRefusal(429, f"limit.{limit}", detail, {"Retry-After": str(seconds)})
