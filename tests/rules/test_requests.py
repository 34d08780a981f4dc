"""Every request that the real clients send keeps the providers' rules, after any events.

The stories are generated from seeds. `THALWEG_RULES_HISTORIES=20000` plays so many; one that
fails is played again, and alone, by `benchmarks/rules.py --provider … --agent … --seed …`.
"""

import os
import warnings
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.rules.endpoint import Endpoint, serving
from tests.rules.players import KINDS, AgentKind, Theatre
from tests.rules.rule import PROVIDERS, Provider

HISTORIES = int(os.environ.get("THALWEG_RULES_HISTORIES", "24"))


@pytest.fixture
def addresses() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.timeout(0)
@pytest.mark.parametrize("calm", [True, False], ids=["calm", "accidents"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_request_is_refused(
    provider: Provider,
    kind: AgentKind,
    calm: bool,  # noqa: FBT001 (a parameter of the test)
    addresses: ExitStack,
) -> None:
    """None refused, none over the window, every turn answered, nothing lost."""

    def address_of(point: Endpoint) -> str:
        return addresses.enter_context(serving(point))

    warnings.simplefilter("ignore")  # clients warn of models that they do not know
    played = Theatre(provider, kind, address_of)
    share = max(1, HISTORIES // (len(PROVIDERS) * len(KINDS)))
    seeds = range(share // 3) if calm else range(share - share // 3)
    outcomes = [played.play(seed, calm=calm) for seed in seeds]
    assert sum(outcome.requests for outcome in outcomes) > len(seeds)
    faults = [f"seed {o.seed}: {fault}" for o in outcomes for fault in o.faults[:2]]
    assert not faults, "\n".join([f"{len(faults)} faults:", *faults[:20]])
