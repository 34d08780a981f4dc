"""The reference of the Python API, generated from the program itself.

The pages hold directives of mkdocstrings (`::: thalweg.Name`), which renders docstrings
and signatures when the site is built.
"""

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import TypeVar

PACKAGES = (
    "thalweg",
    "thalweg.archive",
    "thalweg.archive.threads",
    "thalweg.engine",
    "thalweg.engine.entries",
    "thalweg.engine.tokens",
    "thalweg.engine.wires",
    "thalweg.errors",
    "thalweg.testing",
    "thalweg_memory",
    "thalweg_memory.jobs.learner",
    "thalweg_agent",
    "thalweg_agent.backends",
    "thalweg_agent.backends.protocol",
    "thalweg_agent.backends.utils",
    "thalweg_agent.graph",
    "thalweg_agent.middleware",
    "thalweg_recorder",
    "thalweg_recorder.recordings",
    "thalweg_server.app",
    "thalweg_server.client",
    "thalweg_server.settings",
    "thalweg_evals",
    "thalweg_integrations.openai_agents",
    "thalweg_integrations.pydantic_ai",
    "strict_llm",
)
"""Packages whose public names are in the reference of the Python API, one page each."""
STABILITY = """\
**Stable** are the names of `thalweg`, `thalweg.errors`, `thalweg_memory`, `thalweg_agent`,
`thalweg_server.client`, `thalweg_evals` and `strict_llm`: one is removed or changed a minor version
after a `DeprecationWarning` at the earliest. Names that are deepagents' own (`HarnessProfile`,
`register_…`, `AsyncSubAgent`, and most of `thalweg_agent.middleware` and `thalweg_agent.backends`)
follow deepagents, and change with it. The other packages are for those who extend Thalweg, and may
change in any version; the changelog has each change."""
"""What a reader may rely on, at the top of the reference."""


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
    pages["api.md"] = "\n".join(["# Python API", "", STABILITY, "", *table, ""])
    return pages


def _names(module: ModuleType, places: dict[int, str]) -> Iterator[str]:
    for name in public_names(module):
        here = f"{module.__name__}.{name}"
        place = places.setdefault(id(getattr(module, name)), here)
        yield from (f"::: {here}" if place == here else f"- `{name}` is [`{place}`][{place}].", "")
