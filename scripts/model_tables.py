"""Write the tables of models in docs/providers: `python -m scripts.model_tables`.

Prices and windows are those of the tables that policies use, in dollars per million tokens.
"""

import re
from pathlib import Path

from thalweg.engine.pricing.table import MODELS
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.window.model_windows import window_for

PAGES = Path(__file__).parents[1] / "docs" / "providers"
_TABLE = re.compile(r"(<!-- models: ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_HEAD = (
    "| model | window | input | cached input | cache write | answer | above |",
    "|---|---|---|---|---|---|---|",
)


def table(providers: str) -> str:
    """Return the models of one or several providers as a table, without a family's own row."""
    rows = [
        _row(provider, tariff)
        for provider in providers.split()
        for tariff in MODELS[provider]
        if tariff.base is not None and re.search(r"[\d.-]", tariff.name)
    ]
    return "\n".join([*_HEAD, *rows, ""])


def _row(provider: str, tariff: Tariff) -> str:
    base = tariff.base or 0.0
    window = window_for(provider, tariff.name)
    factors = (1.0, tariff.read, tariff.write, tariff.output)
    prices = " | ".join(f"${base * factor:.4g}" for factor in factors)
    tiers = ", ".join(f"{tier.above:,}: {tier.input:g} times" for tier in tariff.tiers)
    return f"| `{tariff.name}` | {f'{window:,}' if window else ''} | {prices} | {tiers} |"


def written(text: str) -> str:
    """Return a page with its table written again."""
    return _TABLE.sub(lambda found: found[1] + table(found[2]) + found[3], text)


if __name__ == "__main__":
    for page in PAGES.glob("*.md"):
        page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")
