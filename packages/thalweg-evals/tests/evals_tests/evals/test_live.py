"""A live model at the address of any server with OpenAI's API."""

import pytest

from core_tests.strict_requests import messages_of
from evals_tests.evals.tiny import parrot
from strict_llm import Answer, Request, StrictProvider
from thalweg.errors import ConfigError
from thalweg_evals import Evaluation, evaluate
from thalweg_evals.evaluating import prepare
from thalweg_evals.plan import OWN_MODEL

pytest.importorskip("langchain_openai")


def _repeat(request: Request) -> Answer:
    return Answer(messages_of(request)[-1].text.removeprefix("Please repeat: "))


def test_a_model_at_an_address_is_evaluated_in_several_agents() -> None:
    """All get the same window; tokens are those that it reports; no price is made up."""
    with StrictProvider(window=32_000, answer=_repeat) as provider:
        name = f"openai:mine@{provider.openai_url}"
        wanted = Evaluation(
            models=(name,),
            subjects=("thalweg-middleware", "langchain", "none"),
            probes=(parrot(),),
            window=32_000,
        )
        results = evaluate(wanted).results

    assert [result.verdict for result in results] == ["passed"] * 3
    assert {result.window for result in results} == {32_000}
    assert all(result.tokens.input > 0 for result in results)
    assert {result.cost for result in results} == {None}


def test_an_agent_with_a_model_of_its_own_is_evaluated_with_it() -> None:
    """An agent's own model is used with any models named; its price is unknown: no budget holds."""
    with StrictProvider(window=32_000, answer=_repeat) as provider:
        wanted = Evaluation(
            subjects=(f"clerk@{provider.openai_url}",), probes=(parrot(),), triggers=(0.1, 0.85)
        )
        [result] = evaluate(wanted).results
        notes = prepare(wanted).notes
        with pytest.raises(ConfigError, match="the prices of an agent's own model are unknown"):
            prepare(Evaluation(subjects=(f"clerk@{provider.openai_url}",), probes=(), budget=1.0))

    assert (result.verdict, result.key.model, result.key.trigger) == ("passed", OWN_MODEL, None)
    assert len(notes) == 2
