"""Work in a window of 4,096 tokens, from which everything early was removed."""

import pytest

from thalweg_evals import Evaluation, evaluate


@pytest.mark.slow
def test_work_is_right_in_a_very_small_window() -> None:
    """Commands have their figures in the record, and searches do not find searches."""
    played = evaluate(
        Evaluation(subjects=("thalweg",), probes=("work",), triggers=(None,), window=4_096)
    )

    assert [(one.key.variant, one.verdict, one.why) for one in played.results] == [
        (variant, "passed", "everything as requested")
        for variant in ("stale_edit", "constraint", "repeated_work", "old_value")
    ]
