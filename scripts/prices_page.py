"""Rewrite the tables of docs/prices.md: `python -m scripts.prices_page`."""

from collections.abc import Iterator
from pathlib import Path

from thalweg.cli.prices import HEADINGS, row_of, tariffs_by_provider

PAGE = Path(__file__).parents[1] / "docs" / "prices.md"
BEGIN = "<!-- The tables from here to the end are written by scripts/prices_page.py. -->\n"


def page_lines() -> Iterator[str]:
    """Write every tariff as the tables of docs/prices.md."""
    for group, tariffs in tariffs_by_provider():
        yield f"### {group}"
        yield ""
        sources = dict.fromkeys(f"<{t.source}>, {t.dated}" for t in tariffs)
        yield f"Read at {'; '.join(sources)}."
        yield ""
        yield f"| {' | '.join(HEADINGS)} |"
        yield "|" + "---|" * len(HEADINGS)
        yield from (f"| {' | '.join(row_of(tariff))} |" for tariff in tariffs)
        yield ""
        yield from (f"- `{tariff.name}`: {tariff.note}" for tariff in tariffs if tariff.note)
        yield ""


def written(text: str) -> str:
    """Put the tables of today in place of those that a page has."""
    before, begin, _ = text.partition(BEGIN)
    return before + begin + "\n" + "\n".join(page_lines()).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
