"""The policies that `thalweg replay` knows, by the name a user types."""

from collections.abc import Callable

from thalweg.archive import Archive, ThreadKey
from thalweg.context.budget import Budget
from thalweg.context.policy import Policy, RentOrBuy
from thalweg.context.pricing import Tariff
from thalweg.errors import ConfigError
from thalweg.replay.contestants.base import Contestant
from thalweg.replay.contestants.ours import Ours
from thalweg.replay.peers import DEEPAGENTS, DEERFLOW, LANGCHAIN, NoPolicy

POLICIES: dict[str, Callable[[Tariff], Policy]] = {
    "thalweg": RentOrBuy,
    "deepagents": lambda _: DEEPAGENTS,
    "deerflow": lambda _: DEERFLOW,
    "langchain": lambda _: LANGCHAIN,
    "none": lambda _: NoPolicy(),
}
"""Makers of policies. One policy object serves one thread."""


def check_policy(name: str) -> None:
    """See that there is a policy of that name.

    Raises:
        ConfigError: There is none.
    """
    if name not in POLICIES:
        problem = f"there is no policy {name!r}"
        raise ConfigError("--policy", problem, f"use {', '.join(POLICIES)}")


def policy_named(name: str, tariff: Tariff) -> Policy:
    """Make the policy of that name.

    Raises:
        ConfigError: There is none.
    """
    check_policy(name)
    return POLICIES[name](tariff)


def contestant_named(
    name: str, budget: Budget, tariff: Tariff, archive: Archive, key: ThreadKey
) -> Contestant:
    """Make the contestant of that name, for one thread."""
    return Ours(policy_named(name, tariff), budget, archive, key)


def is_peer(name: str) -> bool:
    """Whether a policy is an installed peer: its requests do not depend on prices."""
    return name.startswith("peer:")
