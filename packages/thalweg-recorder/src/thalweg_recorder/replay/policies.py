"""The policies of `thalweg replay`, by their names on the command line."""

from collections.abc import Callable, Sequence

from thalweg.archive import Archive, ThreadKey
from thalweg.engine.compaction.policy import Policy, RentOrBuy, Thresholds
from thalweg.engine.compaction.thresholds import Threshold
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.sections import name_choices_remedy
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.budget import AMOUNTS, Budget, Cost
from thalweg.errors import ConfigError
from thalweg_recorder.replay.contestant import Contestant
from thalweg_recorder.replay.ours import ThalwegContestant
from thalweg_recorder.replay.peers import DEEPAGENTS, DEERFLOW, LANGCHAIN, NoPolicy
from thalweg_recorder.replay.recorded import RECORDED
from thalweg_recorder.replay.summaries import FillerSummarizer

POLICY_FACTORIES: dict[str, Callable[[Tariff], Policy]] = {
    "thalweg": lambda tariff: RentOrBuy(tariff, summarizes=True),
    "thalweg-frugal": lambda tariff: RentOrBuy(tariff, summarizes=True),
    "thalweg-careful": lambda tariff: RentOrBuy(tariff, summarizes=True),
    "thalweg-record": RentOrBuy,
    "deepagents": lambda _: DEEPAGENTS,
    "deerflow": lambda _: DEERFLOW,
    "langchain": lambda _: LANGCHAIN,
    "none": lambda _: NoPolicy(),
}
"""Makers of policies for our engine: our own, and models of other systems'."""
FIXED = ("thalweg",)
"""Those that take a fixed trigger instead of their own: `thalweg@0.5`."""
PRESETS: dict[str, Cost] = {"thalweg-frugal": "frugal", "thalweg-careful": "careful"}
"""Those with other amounts than the default's."""
POLICIES: tuple[str, ...] = (*POLICY_FACTORIES, RECORDED)
"""Names of all policies."""


def parse_policy(
    name: str, policies: Sequence[str] = POLICIES, fixed: Sequence[str] = FIXED
) -> tuple[str, float | None]:
    """Split a name into that of a policy and the share of the window at which it acts.

    Args:
        name: The name, as in `thalweg@0.5`.
        policies: Names of all policies.
        fixed: Those of them that take a share.

    Raises:
        ConfigError: There is no such policy, or it takes no such share.
    """
    base, mark, share = name.partition("@")
    if base not in policies:
        raise ConfigError(
            "--policy", f"there is no policy {name!r}", name_choices_remedy(base, policies)
        )
    if not mark:
        return base, None
    if base not in fixed:
        problem = f"{base} has no trigger to set"
        raise ConfigError("--policy", problem, f"write {base}, or one of {', '.join(fixed)} with @")
    try:
        value = float(share)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        problem = f"{share!r} in {name!r} is not a share of the window"
        raise ConfigError("--policy", problem, f"write one above 0 and up to 1, as in {base}@0.25")
    return base, value


def policy_named(name: str, tariff: Tariff, budget: Budget) -> Policy:
    """Make the policy of that name for our engine.

    Raises:
        ConfigError: There is none.
    """
    base, share = parse_policy(name)
    if share is None:
        return POLICY_FACTORIES[base](tariff)
    trigger = Threshold(type="fraction", value=share)
    return Thresholds(triggers=(trigger,), keep=Threshold(type="tokens", value=budget.tail(0)))


def contestant_named(
    name: str, budget: Budget, tariff: Tariff, archive: Archive, key: ThreadKey
) -> Contestant:
    """Make the contestant of that name, for one thread.

    Raises:
        ConfigError: There is none.
    """
    base, _ = parse_policy(name)
    count = exact_counter()
    if base in PRESETS:
        budget = budget.model_copy(update=AMOUNTS[PRESETS[base]].model_dump())
    summarizer = FillerSummarizer(tariff, count) if base in {"thalweg", *PRESETS} else None
    policy = policy_named(name, tariff, budget)
    return ThalwegContestant(policy, budget, archive, key, summarizer, count)
