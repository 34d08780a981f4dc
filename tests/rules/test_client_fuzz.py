"""A few generated threads through real clients; `benchmarks/fuzz_clients.py` plays thousands."""

import warnings
from itertools import islice

import pytest

from benchmarks.fuzz_clients import FAULTS
from tests.rules.client_fuzz import Figures, threads
from tests.rules.rule import PROVIDERS


@pytest.mark.slow
@pytest.mark.nightly
def test_no_accident_kills_a_thread_or_loses_a_message() -> None:
    warnings.simplefilter("ignore")  # clients warn of models that they do not know
    figures = {provider: Figures() for provider in PROVIDERS}
    *_, requests = islice(threads(0, figures), 3)
    assert requests > 60
    for found in figures.values():
        assert not {kind: found.numbers[kind] for kind in FAULTS if found.numbers[kind]}, (
            found.examples
        )
