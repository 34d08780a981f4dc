"""The policies that `thalweg replay` knows, by the name a user types."""

from collections.abc import Callable

from thalweg.context.policy import Policy, RentOrBuy
from thalweg.context.pricing import Tariff
from thalweg.errors import ConfigError
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
