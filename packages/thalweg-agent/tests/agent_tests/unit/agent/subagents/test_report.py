"""Structured responses of subagents as JSON."""

import json

import pytest

from thalweg_agent.subagents.report import as_json


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ({"a": "é"}, {"a": "é"}),
        ({"a": "\ud83d"}, {"a": "\ud83d"}),
        ({"a": b"\xff"}, {"a": "_w=="}),
    ],
)
def test_any_value_is_json_that_can_be_encoded(value: object, read: object) -> None:
    """Half of a character is escaped, bytes are in base64; other text is as it is."""
    written = as_json(value)

    assert json.loads(written.encode()) == read
    assert ("\\u" in written) == (read == {"a": "\ud83d"})
