"""Rewrite the tables of docs/prices.md: `python -m scripts.prices_page`."""

from collections.abc import Iterator
from pathlib import Path

from thalweg.cli.prices import HEADINGS, row_of, tariffs_by_provider
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.window.model_windows import window_of_model

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
        yield f"| {' | '.join((*HEADINGS, 'window'))} |"
        yield "|" + "---|" * (len(HEADINGS) + 1)
        yield from (f"| {' | '.join(row_of(tariff))} | {_window(tariff)} |" for tariff in tariffs)
        yield ""
        yield from (f"- `{tariff.name}`: {tariff.note}" for tariff in tariffs if tariff.note)
        yield ""


def _window(tariff: Tariff) -> str:
    """Return the window of a tariff's model in tokens; empty if no table has it."""
    window = window_of_model(tariff.name)
    return f"{window:,}" if window else ""


def written(text: str) -> str:
    """Put the tables of today in place of those that a page has."""
    before, begin, _ = text.partition(BEGIN)
    return before + begin + "\n" + "\n".join(page_lines()).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
