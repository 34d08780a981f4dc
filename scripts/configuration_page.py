"""Write the tables of docs/configuration.md: `python -m scripts.configuration_page`."""

from collections.abc import Iterator
from pathlib import Path

from thalweg.engine.compaction.thresholds import Threshold
from thalweg.engine.sections import SettingsSection
from thalweg_server.settings.starting import Field, about, described
from thalweg_server.settings.whole import Settings
from thalweg_server.settings.writing import inline, plain

PAGE = Path(__file__).parents[1] / "docs" / "configuration.md"
BEGIN = "<!-- The tables from here to the end are written by scripts/configuration_page.py. -->\n"
_LONGEST = 40
"""A longer default is cut."""


def page() -> Iterator[str]:
    """Yield the lines of a table for every section, in Markdown."""
    for field in described(Settings):
        if field.section is not None:
            yield from _tables(field, "")


def _tables(field: Field, above: str) -> Iterator[str]:
    section = field.section
    if section is None:
        return
    path = f"{above}{field.name}{_holds(field)}"
    yield f"### `{path}`"
    yield ""
    yield field.description if not above else about(section)
    yield ""
    yield "| key | default | what it is for |"
    yield "|---|---|---|"
    fields = described(section)
    yield from (_row(each) for each in fields)
    yield ""
    for each in fields:
        if each.section is not None and not _is_repeated(each.section, section):
            yield from _tables(each, f"{path}.")


def _holds(field: Field) -> str:
    return {"one": "", "list": "[]", "mapping": ".NAME"}[field.holds]


def _is_repeated(section: type[SettingsSection], above: type[SettingsSection]) -> bool:
    """Return whether a table would repeat the one above it."""
    return section is Threshold or issubclass(above, section)


def _row(field: Field) -> str:
    choices = (
        f" One of {', '.join(f'`{each}`' for each in field.choices)}." if field.choices else ""
    )
    told = f"{field.description}{choices}".replace("|", "\\|")
    return f"| `{field.name}` | {_default(field)} | {told} |"


def _default(field: Field) -> str:
    if field.is_needed:
        return "needed"
    if field.section is not None and field.holds == "one" and field.section is not Threshold:
        return "none" if field.default is None else "see below"
    text = inline(plain(field.default))
    return f"`{text}`" if len(text) <= _LONGEST else f"`{text[:_LONGEST].rsplit(' ', 1)[0]} …`"


def written(text: str) -> str:
    """Return a page with its tables replaced by those of today."""
    before, begin, _ = text.partition(BEGIN)
    return before + begin + "\n" + "\n".join(page()).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
