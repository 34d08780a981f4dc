"""What the names of peers can be asked for."""

from importlib.util import find_spec

import pytest

from thalweg.errors import ConfigError
from thalweg.replay.contestants.installed import INSTALLED
from thalweg.replay.policies import POLICIES, check_policies

PEERS = {
    "peer:strands": "strands",
    "peer:strands-summarizing": "strands",
    "peer:strands-auto": "strands",
    "peer:headroom": "headroom",
    "peer:headroom-frozen": "headroom",
}


@pytest.mark.parametrize(("name", "package"), PEERS.items())
def test_a_peer_that_is_not_installed_says_what_installs_it(name: str, package: str) -> None:
    assert name in POLICIES
    assert INSTALLED[name].package == package
    if find_spec(package) is not None:
        check_policies([name])
        return
    with pytest.raises(ConfigError, match="uv sync --group arena"):
        check_policies([name])


@pytest.mark.parametrize("name", ["peer:headroom@0.5", "peer:strands-auto@0.5"])
def test_a_peer_without_a_trigger_takes_none(name: str) -> None:
    with pytest.raises(ConfigError, match="no trigger to set"):
        check_policies([name])
