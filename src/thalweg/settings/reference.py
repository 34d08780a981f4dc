"""The tables of every setting, for the page that describes them."""

from collections.abc import Iterator

from thalweg.context.thresholds import Threshold
from thalweg.sections import Section
from thalweg.settings.fields import Field, about, described
from thalweg.settings.whole import Settings
from thalweg.settings.writing import inline, plain

_LONGEST = 40
"""A longer default is told by its beginning."""


def page() -> Iterator[str]:
    """Write a table for every section, in Markdown."""
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
    yield field.told if not above else about(section)
    yield ""
    yield "| key | default | what it is for |"
    yield "|---|---|---|"
    fields = described(section)
    yield from (_row(each) for each in fields)
    yield ""
    for each in fields:
        if each.section is not None and not _is_told_already(each.section, section):
            yield from _tables(each, f"{path}.")


def _holds(field: Field) -> str:
    return {"one": "", "list": "[]", "mapping": ".NAME"}[field.holds]


def _is_told_already(section: type[Section], above: type[Section]) -> bool:
    """Tell whether a table would say again what the one above it says."""
    return section is Threshold or issubclass(above, section)


def _row(field: Field) -> str:
    choices = (
        f" One of {', '.join(f'`{each}`' for each in field.choices)}." if field.choices else ""
    )
    told = f"{field.told}{choices}".replace("|", "\\|")
    return f"| `{field.name}` | {_default(field)} | {told} |"


def _default(field: Field) -> str:
    if field.is_needed:
        return "needed"
    if field.section is not None and field.holds == "one" and field.section is not Threshold:
        return "none" if field.default is None else "see below"
    text = inline(plain(field.default))
    return f"`{text}`" if len(text) <= _LONGEST else f"`{text[:_LONGEST].rsplit(' ', 1)[0]} …`"
