"""Costs in the API: money for a published price, `None` for every other model."""

import pytest
from pydantic import SecretStr

from thalweg.context.request.models import model_name
from thalweg.engine.pricing.overrides import ModelPricing, Pricing
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.settings import ContextPolicy
from thalweg_server.app.spending import Prices
from thalweg_server.models.compatible import CompatibleChat


def cost(model: str, pricing: Pricing | None = None) -> float | None:
    policy = ContextPolicy() if pricing is None else ContextPolicy(pricing=pricing)
    return Prices(policy).usage(Usage(1_000, output=100, model=model)).cost


def served(address: str) -> str:
    return model_name(CompatibleChat(model="gpt-5.1", api_key=SecretStr("x"), base_url=address))


@pytest.mark.parametrize("model", ["ollama:qwen3:4b", "nobody:x", "openai:fake", ":"])
def test_a_model_without_a_published_price_costs_nothing_that_is_known(model: str) -> None:
    assert cost(model) is None


def test_a_published_price_is_money() -> None:
    assert cost("openai:gpt-5.1") == pytest.approx(0.00225)


def test_a_server_on_this_machine_has_no_price_whatever_its_model_is_called() -> None:
    assert cost(served("http://127.0.0.1:8080/v1")) is None
    assert cost(served("http://localhost:8080/v1")) is None
    assert cost(served("https://gateway.example/v1")) == pytest.approx(0.00225)


def test_prices_of_the_settings_are_used_for_any_model() -> None:
    assert cost("ollama:smol", Pricing(models={"smol": ModelPricing(tariff="gpt-5.1")})) is not None
    assert cost("nobody:x", Pricing(base=2.0)) is not None
    assert cost("nobody:x", Pricing(read=0.5)) is None
