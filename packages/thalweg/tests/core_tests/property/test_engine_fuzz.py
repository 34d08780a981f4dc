"""A small run of the engine's fuzzer; `python -m benchmarks.fuzz_engine` is the large one."""

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.fuzz_engine import OPERATIONS, fuzz


@settings(max_examples=1)
@given(st.integers(0, 10**9))
def test_no_thread_dies_and_nothing_is_lost_or_doubled(seed: int) -> None:
    """By another seed each time."""
    result = fuzz(300, seed)

    assert not result.faults, result.examples
    assert result.folds > 15  # or nothing would be tried
    assert set(result.operations) == set(OPERATIONS)
