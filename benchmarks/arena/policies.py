"""The policies of the arena: Thalweg's, installed peers, and the best in hindsight."""

from collections.abc import Iterable

from benchmarks.arena.contestants.installed import INSTALLED, PREFIX, PeerStorage, check_installed
from thalweg.archive import Archive, ThreadKey
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.window.budget import Budget
from thalweg_recorder.replay import policies
from thalweg_recorder.replay.contestant import Contestant

ORACLE = "oracle"
"""Our engine, which compacts as is best in hindsight."""
POLICIES: tuple[str, ...] = (*policies.POLICIES, *INSTALLED, ORACLE)
"""Names of all policies."""
FIXED = (*policies.FIXED, *(name for name, peer in INSTALLED.items() if peer.has_trigger))
"""Those that take a fixed trigger instead of their own: `peer:deepagents@0.5`."""


def check_policies(names: Iterable[str]) -> None:
    """Check that there are policies of these names, and that they can run here.

    Raises:
        ConfigError: There is none of a name, or its package is not installed.
    """
    for name in names:
        base, _ = policies.parse_policy(name, POLICIES, FIXED)
        if base in INSTALLED:
            check_installed(base)


def contestant_named(
    name: str, budget: Budget, tariff: Tariff, archive: Archive, key: ThreadKey
) -> Contestant:
    """Make the contestant of that name, for one thread.

    Raises:
        ConfigError: There is none, or its package is not installed.
    """
    base, share = policies.parse_policy(name, POLICIES, FIXED)
    if base in INSTALLED:
        check_installed(base)
        return INSTALLED[base].begin(PeerStorage(budget.window, share, archive, key))
    return policies.contestant_named(name, budget, tariff, archive, key)


def is_peer(name: str) -> bool:
    """Return whether a policy is an installed peer: its requests do not depend on prices."""
    return name.startswith(PREFIX)
