"""The files that a user starts with: three decisions, or every setting with its default."""

from collections.abc import Iterator
from functools import cache
from textwrap import wrap
from typing import Any

from thalweg.engine.compaction.thresholds import Threshold
from thalweg.engine.data_files import read_table
from thalweg.engine.sections import SettingsSection
from thalweg_server.settings.fields import Field, described
from thalweg_server.settings.whole import Settings
from thalweg_server.settings.writing import inline, plain

WIDTH = 100
_INLINE = (Threshold,)
"""Sections that are written on one line."""
_NAME = "everything"
"""The key in the example of a mapping."""
SANDBOXES = ("none", "bubblewrap", "docker", "podman", "host")
"""Values of `sandbox.use` that need no other setting."""
_REPEATED = ("pricing.models", "pricing.tiers")
"""Sections whose keys are just above: they have no example."""


@cache
def _texts() -> dict[str, Any]:
    return read_table(__package__, "starting.toml")


def short_file(*, model: str, sandbox: str, memory: bool) -> str:
    """Return a configuration with three decisions and nothing else.

    Args:
        model: The model that answers, as `thalweg chat --model` takes it.
        sandbox: Where commands run; one of `SANDBOXES`.
        memory: Whether facts are remembered.
    """
    short: str = _texts()["short"]
    return short.format(
        model=inline(model),
        sandbox=sandbox,
        places=", ".join(SANDBOXES),
        memory="true" if memory else "false",
    )


def starting_file() -> str:
    """Write it."""
    return "\n".join((_texts()["head"], *_blocks())).rstrip("\n") + "\n"


def _blocks() -> Iterator[str]:
    for field in described(Settings):
        yield from (f"# {line}" for line in wrap(field.description, WIDTH - 2))
        yield from (f"#{line}" for line in _field(field, "", ""))
        yield ""


def _field(field: Field, indent: str, above: str) -> Iterator[str]:
    """Write one setting; the lines of a section below its name."""
    path = f"{above}.{field.name}".removeprefix(".")
    inner = field.section
    if inner is None or inner in _INLINE or path.endswith(_REPEATED):
        yield f"{indent}{field.name}: {inline(plain(field.default))}"
        return
    yield f"{indent}{field.name}:"
    match field.holds:
        case "one":
            yield from _section(inner, f"{indent}  ", path)
        case "list":
            first, *rest = _section(inner, f"{indent}    ", path, describe_first=False)
            yield f"{indent}  - {first.strip()}"
            yield from rest
        case "mapping":
            yield f"{indent}  {_NAME}:"
            yield from _section(inner, f"{indent}    ", path)


def _section(
    section: type[SettingsSection], indent: str, path: str, *, describe_first: bool = True
) -> Iterator[str]:
    examples = _texts()["examples"].get(section.__name__, {})
    for number, field in enumerate(described(section)):
        if number or describe_first:
            choices = f" One of {', '.join(field.choices)}." if field.choices else ""
            comment = f"{field.description}{choices}".strip()
            yield from (f"{indent}# {line}" for line in wrap(comment, WIDTH - len(indent) - 3))
        if field.name in examples:
            yield f"{indent}{field.name}: {examples[field.name]}"
        else:
            yield from _field(field, indent, path)
