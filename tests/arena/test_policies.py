"""Policies of the arena by their names."""

import pytest

from benchmarks.arena.contestants.installed import INSTALLED, Installed
from benchmarks.arena.policies import POLICIES, check_policies
from thalweg.errors import ConfigError
from thalweg_recorder.replay import policies


def test_these_names_are_known_besides_those_of_thalweg_replay() -> None:
    """Documents and scripts contain them."""
    assert (
        *policies.POLICIES,
        "peer:deepagents",
        "peer:langchain-summarization",
        "peer:langchain-editing",
        "peer:strands",
        "peer:strands-summarizing",
        "peer:strands-auto",
        "peer:headroom",
        "peer:headroom-frozen",
        "oracle",
    ) == POLICIES


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("peer:deepagent", "did you mean peer:deepagents?"),
        ("none@0.5", "none has no trigger to set; write none, or one of thalweg, peer:deepagents"),
        ("peer:headroom@0.5", "peer:headroom has no trigger to set"),
        ("peer:strands-auto@0.5", "peer:strands-auto has no trigger to set"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(name: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_policies(["none", name])

    assert message in str(caught.value)


def test_a_peer_that_is_not_installed_is_named_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before anything is replayed."""
    absent = Installed("thalweg_no_such_package", lambda _: pytest.fail("it was begun"))
    monkeypatch.setitem(INSTALLED, "peer:deepagents", absent)

    with pytest.raises(ConfigError, match=r"thalweg_no_such_package.*uv sync --group arena"):
        check_policies(["peer:deepagents@0.5"])


def test_a_fixed_trigger_may_be_set_for_peers_too() -> None:
    """So that the best of theirs can be looked for."""
    check_policies(["peer:langchain-summarization@0.25", "peer:langchain-editing@1"])
