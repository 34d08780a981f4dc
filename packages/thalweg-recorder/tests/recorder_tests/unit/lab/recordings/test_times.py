"""Times in the many ways logs write them."""

import pytest

from thalweg_recorder.recordings.times import iso_time


@pytest.mark.parametrize(
    ("told", "iso"),
    [
        ("2026-01-15T12:10:08.131Z", "2026-01-15T12:10:08.131Z"),
        ("2026-05-05 12:44:46.94", "2026-05-05T12:44:46.94"),
        ("2023-04-27", "2023-04-27"),
        (1_763_681_581, "2025-11-20T23:33:01+00:00"),
        (1_763_681_581_000, "2025-11-20T23:33:01+00:00"),
        ("soon", ""),
        ("", ""),
        (None, ""),
        (True, ""),
        (-1, ""),
        (1e300, ""),
        pytest.param(10**400, "", id="huge"),
        (float("nan"), ""),
        ([], ""),
    ],
)
def test_a_time_is_written_as_iso_8601_or_not_at_all(told: object, iso: str) -> None:
    assert iso_time(told) == iso
