"""The page of prices matches the table."""

import importlib
import re
from typing import Any

from scripts.prices_page import PAGE, written
from thalweg.engine import TARIFFS, ContextPolicy
from thalweg.engine.pricing.matching import tariff_for

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_tables_are_those_of_today() -> None:
    """`python -m scripts.prices_page` writes them."""
    assert written(TEXT) == TEXT


def test_the_example_of_settings_can_be_used_as_it_stands() -> None:
    """With the effect that its remarks promise."""
    (example,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    yaml: Any = importlib.import_module("yaml")
    policy = ContextPolicy.from_mapping(yaml.safe_load(example)["summarization"])
    tariff = policy.pricing.of("anthropic", "claude-opus-5").tariff

    assert (tariff.name, tariff.read, tariff.prices(200_001).output) == ("claude-opus-5", 0.05, 9)
    assert policy.pricing.of("", "my-own").tariff.output == 30


def test_the_families_and_the_names_in_the_text_are_known() -> None:
    """A reader may type them."""
    for name in ("us.anthropic.claude-opus-5-v1:0", "anthropic/claude-opus-5"):
        assert name in TEXT
        assert tariff_for("anthropic", name).tariff.name == "claude-opus-5"
    assert [name for name in TARIFFS if f"\n| {name} |" not in TEXT] == []
