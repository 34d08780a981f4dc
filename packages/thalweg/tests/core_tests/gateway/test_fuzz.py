"""A stranger with a key of their own reaches nothing of another's, and nothing outside."""

import asyncio

from benchmarks.gateway_fuzz import fuzz


def test_nothing_of_another_s_and_nothing_outside_is_reached() -> None:
    told = asyncio.run(fuzz(400, seed=7))

    assert not told.wrong
    assert told.statuses[200] > 40  # much of it is let in, or nothing would be tried
