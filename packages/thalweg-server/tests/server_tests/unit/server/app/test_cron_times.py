"""Due times of crons."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from thalweg.errors import ConfigError
from thalweg_server.api.graph_runs import NewCron
from thalweg_server.app.crons import first_due, last_due, next_due

BERLIN = "Europe/Berlin"


def cron(schedule: str, **fields: object) -> NewCron:
    """Make the request of a cron."""
    return NewCron.model_validate({"assistant_id": "agent", "schedule": schedule, **fields})


def ms(text: str, zone: str = "UTC") -> int:
    """Return a local time in milliseconds since 1970."""
    return round(1000 * datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp())


def local(found_ms: int) -> str:
    """Return a time as clocks in Berlin show it, with its offset."""
    return datetime.fromtimestamp(found_ms / 1000, ZoneInfo(BERLIN)).isoformat()


@pytest.mark.parametrize(
    ("schedule", "after", "due"),
    [
        ("30 2 * * *", "2027-03-27T12:00", "2027-03-28T03:00:00+02:00"),  # 02:30 does not exist
        ("30 2 * * *", "2027-03-28T12:00", "2027-03-29T02:30:00+02:00"),
        ("30 2 * * *", "2027-10-30T12:00", "2027-10-31T02:30:00+02:00"),  # it exists twice
        ("0 9 * * 1-5", "2027-03-26T12:00", "2027-03-29T09:00:00+02:00"),
        ("@monthly", "2027-03-26T12:00", "2027-04-01T00:00:00+02:00"),
        ("* * * * * */20", "2027-01-01T00:00:05", "2027-01-01T00:00:20+01:00"),
        ("0 0 29 2 *", "2025-01-01T00:00", "2028-02-29T00:00:00+01:00"),
    ],
)
def test_a_schedule_is_read_in_its_time_zone(schedule: str, after: str, due: str) -> None:
    """Also when clocks change; a time that is due is not the next one."""
    new = cron(schedule, timezone=BERLIN)
    found = next_due(new, ms(after, BERLIN))
    assert local(found) == due
    assert next_due(new, found) > found
    assert last_due(new, found) == found
    assert last_due(new, found - 1) < found


@pytest.mark.parametrize("end", ["2027-01-01T09:30", "2027-01-01T09:30+00:00"])
def test_nothing_is_due_after_the_end(end: str) -> None:
    """The end itself may be due; one without an offset is in UTC."""
    new = cron("30 9 * * *", end_time=end)
    assert next_due(new, ms("2027-01-01T00:00")) == ms("2027-01-01T09:30")
    assert next_due(new, ms("2027-01-01T09:30")) == 0
    assert last_due(new, ms("2027-01-09T00:00")) == ms("2027-01-01T09:30")
    assert first_due(cron("31 9 * * *", end_time=end), ms("2027-01-01T00:00")) == 0


def test_a_cron_that_is_not_enabled_is_never_due() -> None:
    """Its schedule is validated nevertheless."""
    now = ms("2027-01-01T00:00")
    assert first_due(cron("0 0 * * *", enabled=False), now) == 0
    with pytest.raises(ConfigError, match="schedule"):
        first_due(cron("0 0 * *", enabled=False), now)
    with pytest.raises(ConfigError, match="no date in the next 50 years"):
        first_due(cron("0 0 31 4 *"), now)
