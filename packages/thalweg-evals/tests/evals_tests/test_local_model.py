"""Probes with real weights, served with OpenAI's API by a process of llama.cpp."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core_tests.local_models import served
from thalweg_evals import PROBES, play, policy_named
from thalweg_server.models import chat_model
from thalweg_server.settings import ModelSettings

pytestmark = [pytest.mark.slow, pytest.mark.local_model, pytest.mark.timeout(1_800)]
WINDOW = 4_096


@pytest.fixture(scope="module")
def address(qwen: Path) -> Iterator[str]:
    with served(qwen, WINDOW) as found:
        yield found


@pytest.mark.parametrize("case", ["needle/once", "needle/user_aside", "drift/kept"])
def test_a_conversation_with_a_real_model_is_compacted_and_scored(case: str, address: str) -> None:
    """The verdict is the model's; that it was tested is ours."""
    settings = ModelSettings.model_validate(
        {"name": "m", "base_url": address, "window": WINDOW, "max_output": 200, "temperature": 0}
    )
    model = chat_model(settings)
    model.profile = {**(model.profile or {}), "tool_calling": False}
    name, _, variant = case.partition("/")

    score, trace = play(
        PROBES[name], variant, policy_named("thalweg"), model, window=WINDOW, trigger=0.25
    )

    assert score.verdict in {"passed", "failed"}, score.why
    assert "raised" not in score.why
    assert trace.compactions()
    assert all(one.input_tokens for one in trace.requests if one.answer)
