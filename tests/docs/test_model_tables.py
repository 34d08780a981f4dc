"""The tables of models in the pages of the providers are those of the program."""

import re
from pathlib import Path

import pytest

from scripts.model_tables import PAGES, written
from thalweg.engine.pricing.table import MODELS


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.name)
def test_the_table_is_that_of_today(page: Path) -> None:
    """`python -m scripts.model_tables` writes them."""
    text = page.read_text(encoding="utf-8")
    assert written(text) == text


def test_every_provider_with_prices_has_a_page() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES.glob("*.md"))
    named = {
        name for found in re.findall(r"<!-- models: ([\w ]+) -->", text) for name in found.split()
    }
    assert named == set(MODELS) - {"ollama"}
