"""Faults that `deepagents` 0.7 was seen to have: none shows with us.

If the peer is installed, each is seen on its side, too; a test that fails there shows that the
peer was fixed.
"""

from pathlib import Path

import pytest

from tests.defects.scenes import SCENES


@pytest.mark.parametrize("scene", SCENES)
def test_the_fault_does_not_show_with_us(scene: str, tmp_path: Path) -> None:
    """One scene, our middleware in LangChain's own agent."""
    outcome = SCENES[scene]("ours", tmp_path)

    assert not outcome.shows, outcome.told


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.filterwarnings("ignore")
def test_the_fault_shows_with_the_peer(scene: str, tmp_path: Path) -> None:
    """The same scene, the peer's agent with its defaults."""
    pytest.importorskip("deepagents", reason="the bench group is not installed")
    outcome = SCENES[scene]("deepagents", tmp_path)

    assert outcome.shows, outcome.told
