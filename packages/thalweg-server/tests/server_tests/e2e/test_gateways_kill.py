"""Gateways that are killed at any moment, as their clients see it.

Every run ends once, every stream continues without gap or repeat, the history has everything
once, nothing that was kept is done again, and memory learns every fact.
"""

from pathlib import Path

import pytest

from server_tests.e2e.gateways_world import found, roles, world

pytestmark = pytest.mark.slow


@pytest.mark.timeout(600)
def test_two_gateways_share_a_server_and_either_may_be_killed(
    postgres_url: str, tmp_path: Path
) -> None:
    """PostgreSQL, as a role that row-level security holds; three kills, some readers hop."""
    with (
        roles(postgres_url) as url,
        world(tmp_path, url, owners=4, followers=1, pause_s=0.1, words=20) as made,
    ):
        for kill in range(3):
            for _ in range(4):
                made.converse()
            made.until_streaming(3)
            made.kill(made.gateways[kill % 2])
        made.finish()
        seen = found(made)

    assert seen.problems == []
    assert sum(seen.attempts.values()) - seen.attempts[1] > 2, "too few kills fell into a run"
    assert seen.hops > 0


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_the_only_gateway_is_killed_and_started_again(tmp_path: Path) -> None:
    """SQLite: no process is running between the kill and the new start."""
    with world(tmp_path, None, gateways=1, owners=2, followers=1, pause_s=0.1, words=20) as made:
        for _ in range(3):
            for _ in range(2):
                made.converse()
            made.until_streaming(2)
            made.kill(made.gateways[0])
        made.finish()
        seen = found(made)

    assert seen.problems == []
    assert sum(seen.attempts.values()) - seen.attempts[1] > 2, "too few kills fell into a run"
