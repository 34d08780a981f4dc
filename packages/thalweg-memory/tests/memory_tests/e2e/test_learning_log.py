"""What the log of memory has of a turn on its way from the conversation to a fact."""

import logging
from pathlib import Path

import pytest

from memory_tests.e2e.test_memory_taken_out import SAID, Ada


def test_a_turn_is_followed_from_the_queue_to_what_was_learned(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The queue and the worker at DEBUG, the result at INFO; no word of the conversation."""
    ada = Ada(tmp_path)
    with caplog.at_level(logging.DEBUG, logger="thalweg.memory"):
        ada.chat(SAID, "t1")
        ada.learn()
    ada.store.close()
    said = [(one.levelname, one.getMessage()) for one in caplog.records]
    starts = (
        "thread t1: queued 2 turns",
        "thread t1: learning from",
        "learned from 2 turns: 1 active (confidence: 0.9",
        f"memory persisted to {tmp_path / 'memory.db'}",
    )
    found = [next((n for n, (_, text) in enumerate(said) if start in text), -1) for start in starts]
    assert found == sorted(found)
    assert found[0] >= 0
    assert [said[n][0] for n in found] == ["DEBUG", "DEBUG", "INFO", "DEBUG"]
    # Words, not the digits: a folder or a number of tokens may have them.
    assert not any("lucky" in text or "Noted" in text for _, text in said)
