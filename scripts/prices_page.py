"""Rewrite the tables of docs/prices.md: `python -m scripts.prices_page`."""

from pathlib import Path

from thalweg.cli.prices import page_lines

PAGE = Path(__file__).parents[1] / "docs" / "prices.md"
BEGIN = "<!-- The tables from here to the end are written by scripts/prices_page.py. -->\n"


def written(text: str) -> str:
    """Put the tables of today in place of those that a page has."""
    before, begin, _ = text.partition(BEGIN)
    return before + begin + "\n" + "\n".join(page_lines()).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
