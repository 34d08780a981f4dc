"""After every accident a thread continues, and the provider refuses nothing."""

import pytest

from agent_tests.e2e.accidents import ACCIDENTS, play
from strict_llm_tests.chat_models import EVERY_WIRE

NAMES = sorted(ACCIDENTS)


@pytest.mark.parametrize("wire", EVERY_WIRE)
@pytest.mark.parametrize("name", NAMES)
def test_an_agent_goes_on_after_an_accident(name: str, wire: str) -> None:
    outcome = play(name, wire, "ContextMiddleware")
    assert outcome.goes_on, outcome.problem
    assert outcome.refused == 0, outcome.problem


@pytest.mark.parametrize("name", NAMES)
def test_a_deep_agent_goes_on_after_an_accident(name: str) -> None:
    """One wire for each accident; the benchmark plays them all."""
    outcome = play(name, EVERY_WIRE[NAMES.index(name) % len(EVERY_WIRE)], "create_deep_agent")
    assert outcome.goes_on, outcome.problem
    assert outcome.refused == 0, outcome.problem


def test_without_the_last_check_threads_die() -> None:
    """The provider does refuse: LangChain's own agent is refused with every message."""
    assert not play("tool without a name", "openai-chat", "create_agent").goes_on
