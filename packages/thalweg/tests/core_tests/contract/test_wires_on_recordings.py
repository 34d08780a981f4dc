"""Real sessions, recorded by others, through every wire."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from core_tests.recorded import RECORDED, WHY_SKIPPED
from thalweg.engine.entries import Message, message_from_json, message_to_json
from thalweg.engine.wires.fields import arguments_object
from thalweg.engine.wires.registry import WIRES

TRAJECTORIES = sorted(RECORDED.glob("trajectories/*.jsonl*"))

pytestmark = pytest.mark.skipif(not TRAJECTORIES, reason=WHY_SKIPPED)


def _threads() -> Iterator[tuple[str, list[dict[str, Any]], list[Message]]]:
    for path in TRAJECTORIES:
        text = path.read_bytes()
        lines = (gzip.decompress(text) if path.suffix == ".gz" else text).splitlines()
        items = [json.loads(line) for line in lines]
        messages, notes = WIRES["openai-chat"].read(items)
        assert notes == [], path.name
        yield path.name, items, messages


def test_recorded_messages_are_kept_whole() -> None:
    """Untouched as the same object, but for a recorder's own field; through the log unchanged."""
    for name, items, messages in _threads():
        written = WIRES["openai-chat"].write(messages)
        assert len(written) == len(items), name
        for after, before in zip(written, items, strict=True):
            told = {key: value for key, value in before.items() if key not in {"x", "id"}}
            assert after == told if told != before else after is before, name
        for message in messages:
            assert message_from_json(message_to_json(message)) == message, name


@pytest.mark.parametrize("target", sorted(WIRES))
def test_recorded_calls_and_results_cross_to_every_wire(target: str) -> None:
    """With ids missing, reused and unanswered, as they were recorded."""
    for name, _, messages in _threads():
        bare = [replace(message, origin=None) for message in messages]
        crossed, _ = WIRES[target].read(WIRES[target].write(bare))
        for facts in (_calls, _results):
            assert facts(crossed) == facts(messages), name


def _calls(messages: list[Message]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(c.id, c.name, arguments_object(c.arguments)) for m in messages for c in m.calls]


def _results(messages: list[Message]) -> list[tuple[str, str]]:
    return [(m.answers, m.text) for m in messages if m.role == "tool"]
