"""Every request is one that every provider takes (I1 to I5)."""

from hypothesis import event, given

from tests.property.driving import Drive, drive
from tests.property.providers import PROVIDERS
from tests.property.strategies import Scenario, scenarios
from thalweg.wires.registry import WIRES


def _refusals(driven: Drive) -> list[str]:
    return [
        f"{name}, request {n}: {problem}"
        for n, request in enumerate(driven.requests)
        for name, check in PROVIDERS.items()
        for problem in check(WIRES[name].write(request.messages))
    ]


def _witness(driven: Drive) -> None:
    for kind in {type(edit).__name__ for edit in driven.engine.history} or {"no edit"}:
        event(kind)
    if driven.stopped:
        event("window exceeded")


@given(scenarios())
def test_i1_to_i4_every_request_is_taken_by_every_provider(scenario: Scenario) -> None:
    """Pairs, batches, ids and roles, by each provider's own rules."""
    driven = drive(scenario)
    _witness(driven)

    assert _refusals(driven) == []
