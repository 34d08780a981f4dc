"""The page of the providers' rules matches the table."""

from typing import get_args

from scripts.providers_page import PAGE, written
from tests.rules.rule import KeptBy
from tests.rules.table import RULES

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_tables_are_those_of_today() -> None:
    """`python -m scripts.providers_page` writes them."""
    assert written(TEXT) == TEXT
    for rule in RULES:
        assert rule.demand.replace("|", "\\|") in TEXT
        assert rule.source.url in TEXT


def test_every_way_to_keep_a_rule_is_explained() -> None:
    for kept_by in get_args(KeptBy):
        assert f"\n| {kept_by} | " in TEXT
