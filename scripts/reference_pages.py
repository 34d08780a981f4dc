"""The reference of the command line and of the Python API, generated from the program itself.

The pages of the API hold directives of mkdocstrings (`::: thalweg.Name`), which renders docstrings
and signatures when the site is built.
"""

import re
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

from typer.core import TyperGroup
from typer.main import get_command

from thalweg.cli.app import app

PACKAGES = (
    "thalweg",
    "thalweg.agent.graph",
    "thalweg.archive",
    "thalweg.archive.threads",
    "thalweg.backends",
    "thalweg.backends.protocol",
    "thalweg.backends.utils",
    "thalweg.client",
    "thalweg.engine",
    "thalweg.engine.entries",
    "thalweg.engine.tokens",
    "thalweg.engine.wires",
    "thalweg.errors",
    "thalweg.integrations.openai_agents",
    "thalweg.integrations.pydantic_ai",
    "thalweg.lab.evals",
    "thalweg.lab.recordings",
    "thalweg.memory",
    "thalweg.middleware",
    "thalweg.recorder",
    "thalweg.server.app",
    "thalweg.server.settings",
    "thalweg.testing",
    "thalweg.testing.strict",
)
"""Packages whose public names are in the reference of the Python API, one page each."""
_TYPE = re.compile(r" <[\w\[\]]+>$")
"""The type that Typer appends to the name of an argument."""


def public_names(module: ModuleType) -> list[str]:
    """Return the public names of a module: `__all__`, or the classes and functions it defines."""
    if names := getattr(module, "__all__", None):
        return sorted(names)
    own = vars(module).items()
    return [
        name
        for name, value in own
        if not name.startswith("_")
        and callable(value)
        and not isinstance(value, TypeVar)
        and getattr(value, "__module__", "") == module.__name__
    ]


def api_pages() -> dict[str, str]:
    """Return the pages of the Python API by their address; each name is rendered once."""
    rows, pages, places = list[str](), dict[str, str](), dict[int, str]()
    for package in PACKAGES:
        module = import_module(package)
        summary, _, more = (module.__doc__ or "").strip().partition("\n")
        pages[f"api/{package}.md"] = "\n".join(
            [f"# `{package}`", "", summary, more, "", *_names(module, places)]
        )
        rows.append(f"| [`{package}`](api/{package}.md) | {summary} |")
    table = ["| package | |", "|---|---|", *rows]
    pages["api.md"] = "\n".join(["# Python API", "", *table, ""])
    return pages


def _names(module: ModuleType, places: dict[int, str]) -> Iterator[str]:
    for name in public_names(module):
        here = f"{module.__name__}.{name}"
        place = places.setdefault(id(getattr(module, name)), here)
        yield from (f"::: {here}" if place == here else f"- `{name}` is [`{place}`][{place}].", "")


def cli_page() -> str:
    """Return the reference of the command line, from the program's own help."""
    command = get_command(app)
    lines = _command(command, "thalweg", command.context_class(command, info_name="thalweg"))
    return "\n".join(["# Command line", "", *lines])


def _command(command: Any, name: str, context: Any) -> Iterator[str]:  # noqa: ANN401 (of Typer)
    usage = command.get_usage(context).removeprefix("Usage: ")
    yield from (f"## {name}", "", command.help or command.short_help or "", "")
    yield from ("```text", " ".join(usage.split()), "```", "")
    params = command.get_params(context)
    records = [one.get_help_record(context) for one in params if one.name != "help"]
    if rows := [record for record in records if record]:
        cells = [(_TYPE.sub("", name), text.replace("<", "&lt;")) for name, text in rows]
        lines = [f"| `{_cell(name)}` | {_cell(text)} |" for name, text in cells]
        yield from ("| argument or option | |", "|---|---|", *lines, "")
    if isinstance(command, TyperGroup):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            if found and not found.hidden:
                yield from _command(
                    found,
                    f"{name} {child}",
                    found.context_class(found, info_name=child, parent=context),
                )


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
