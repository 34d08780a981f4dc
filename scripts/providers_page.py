"""Writes the tables of `docs/providers.md` from the rules in `tests/rules/table.py`.

python -m scripts.providers_page
"""

import re
from pathlib import Path

from tests.rules.rule import PROVIDERS, Provider
from tests.rules.table import RULES

PAGE = Path(__file__).parents[1] / "docs" / "providers.md"


def table(provider: Provider) -> str:
    """Return one provider's rules as a table."""
    rows = ["| rule | what a request must be like | source, as of | kept by |", "|---|---|---|---|"]
    for rule in RULES:
        if rule.provider == provider:
            name = rule.name.partition("/")[2]
            demand = rule.demand.replace("|", "\\|")
            source = f"[{rule.source.title}]({rule.source.url}), {rule.since}"
            kept_by = ", ".join(rule.kept_by)
            rows.append(f"| `{name}` | {demand} | {source} | {kept_by} |")
    return "\n".join(rows)


def written(text: str) -> str:
    """Return the page with every table rewritten."""
    for provider in PROVIDERS:
        begin, end = f"<!-- rules: {provider} -->\n", "\n<!-- end -->"
        pattern = re.compile(f"({re.escape(begin)}).*?({re.escape(end)})", re.DOTALL)
        rows = table(provider)
        text = pattern.sub(lambda found, rows=rows: found[1] + rows + found[2], text)  # type: ignore[misc]
    return text


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
