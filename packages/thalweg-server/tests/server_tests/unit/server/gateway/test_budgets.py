"""What one owner may do at most, and that others do not notice."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_tests.unit.server.gateway.asking import ask, echo
from thalweg_server.api.catalogue import Usage
from thalweg_server.app.metrics import Metrics
from thalweg_server.gateway.budgets import Budgets, Rate
from thalweg_server.gateway.create import Admission
from thalweg_server.gateway.problems import GatewayRefusal
from thalweg_server.gateway.rules import rules_of
from thalweg_server.settings import GatewaySettings
from thalweg_server.settings.sections import OwnerLimits

NONE = OwnerLimits(requests_per_minute=None, runs_per_minute=None, runs_at_once=None)


class Clock:
    """Time that passes when the test sets it."""

    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        """Return seconds."""
        return self.s

    def utc(self) -> datetime:
        """Return the time of day."""
        return datetime(2026, 11, 23, tzinfo=UTC) + timedelta(seconds=self.s)


def budgets_of(clock: Clock, metrics: Metrics | None = None, **limits: int) -> Budgets:
    own = NONE.model_copy(update=limits)
    return Budgets(lambda _: own, metrics or Metrics(), clock=clock, today=clock.utc)


def refusals(metrics: Metrics, limit: str) -> float | None:
    """Return how many requests met a limit."""
    text = asyncio.run(metrics.text(0, 0)).decode()
    start = f'thalweg_limits_met_total{{limit="{limit}"}} '
    found = [line for line in text.splitlines() if line.startswith(start)]
    return float(found[0].removeprefix(start)) if found else None


def start(
    budgets: Budgets, owner: str = "ada", active: int = 0, spent: Sequence[Usage] = ()
) -> None:
    async def count() -> int:
        return active

    async def today() -> Sequence[Usage]:
        return spent

    async def starting() -> None:
        async with budgets.starting(owner, count, today):
            pass

    asyncio.run(starting())


@given(st.integers(1, 50), st.lists(st.floats(0, 30), max_size=200))
def test_a_rate_is_never_exceeded_by_more_than_one_burst(
    per_minute: int, pauses: list[float]
) -> None:
    rate, now, taken = Rate(), 0.0, 0
    for pause in pauses:
        now += pause
        wait_s = rate.take(per_minute, now=now)
        taken += not wait_s
        assert taken <= per_minute * (1 + now / 60) + 1e-6
        if wait_s:
            later = Rate(rate.used, rate.at)
            assert later.take(per_minute, now=now + wait_s + 1e-6) == 0.0


def test_requests_over_the_rate_are_refused_with_the_seconds_to_wait() -> None:
    clock, metrics = Clock(), Metrics()
    budgets = budgets_of(clock, metrics, requests_per_minute=2)
    budgets.take_request("ada")
    budgets.take_request("ada")
    with pytest.raises(GatewayRefusal) as refused:
        budgets.take_request("ada")
    assert refused.value.status_code == 429
    assert refused.value.code == "limit.requests"
    assert refused.value.headers == {"Retry-After": "30"}
    assert refusals(metrics, "requests") == 1

    budgets.take_request("bob")  # another owner has a budget of its own
    clock.s = 30.0
    budgets.take_request("ada")


def test_runs_at_once_are_those_of_the_journal_and_those_being_started() -> None:
    budgets = budgets_of(Clock(), runs_at_once=3)
    start(budgets, active=2)
    with pytest.raises(GatewayRefusal, match="3 runs at once"):
        start(budgets, active=3)

    async def together() -> list[BaseException | None]:
        async def count() -> int:
            await asyncio.sleep(0)
            return 0

        async def nothing() -> Sequence[Usage]:
            return ()

        async def one() -> None:
            async with budgets.starting("ada", count, nothing):
                await asyncio.sleep(0.01)

        return list(await asyncio.gather(*(one() for _ in range(5)), return_exceptions=True))

    ended = asyncio.run(together())
    assert sum(each is None for each in ended) <= 3
    start(budgets, active=2)  # nothing is kept of those that were refused


def test_runs_have_a_rate_of_their_own() -> None:
    budgets = budgets_of(Clock(), runs_per_minute=1)
    start(budgets)
    with pytest.raises(GatewayRefusal, match="1 runs a minute") as refused:
        start(budgets)
    assert refused.value.code == "limit.runs"


@pytest.mark.parametrize(
    ("limits", "code", "spent"),
    [
        ({"tokens_per_day": 100}, "limit.tokens", [Usage(input_tokens=90, output_tokens=10)]),
        ({"cost_per_day": 2}, "limit.cost", [Usage(cost=1.5), Usage(cost=None), Usage(cost=0.5)]),
    ],
)
def test_what_a_day_may_cost_is_refused_until_midnight(
    limits: dict[str, int], code: str, spent: Sequence[Usage]
) -> None:
    clock = Clock()
    clock.s = 3_600.0
    budgets = budgets_of(clock, None, **limits)
    with pytest.raises(GatewayRefusal, match="a day") as refused:
        start(budgets, spent=spent)
    assert refused.value.code == code
    assert refused.value.headers == {"Retry-After": str(23 * 3_600)}
    start(budgets, spent=spent[:1] if code == "limit.cost" else ())


def test_a_key_may_have_limits_of_its_own() -> None:
    settings = GatewaySettings.from_mapping(
        {
            "keys": [
                {"key": "aaaaaaaaaaaaaaaa", "owner": "ada", "limits": {"requests_per_minute": 1}},
                {"key": "bbbbbbbbbbbbbbbb", "owner": "bob"},
            ],
            "limits": {"requests_per_minute": 2},
        }
    )
    rules = rules_of(settings)
    assert rules.limits_of("ada").requests_per_minute == 1
    assert rules.limits_of("bob").requests_per_minute == 2
    assert rules_of(settings, "only").limits_of("only").requests_per_minute is None


def test_a_request_over_the_rate_is_answered_before_its_body_is_read() -> None:
    budgets = budgets_of(Clock(), requests_per_minute=1)
    rules = rules_of(GatewaySettings.from_mapping({"keys": [{"key": "k", "owner": "ada"}]}))
    application = Admission(echo, lambda: rules, budgets)
    json = {"content-type": "application/json", "content-length": "2"}
    headers = {"authorization": "Bearer k", **json}

    assert ask(application, method="POST", headers=headers, parts=[b"{}"]).status == 200
    too_large = {**headers, "content-length": str(1 << 40)}
    answered = ask(application, method="POST", headers=too_large, parts=[b"{}"])
    assert answered.status == 429
    assert answered.problem.code == "limit.requests"
    assert answered.headers["retry-after"] == "60"
