"""Pages of the documentation site that are not files in `docs/`; a hook of MkDocs (`mkdocs.yml`).

The README, the architecture, the changelog and the pages of examples and benchmarks are shown as
they are in the repository. The pages of the command line and of the Python API are generated.
"""

import posixpath
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path, PurePosixPath
from types import ModuleType

from click import Command, Context, Group
from griffe import Extension, Object
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from typer.main import get_command

from thalweg.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/README.md": "examples.md",
    "benchmarks/README.md": "benchmarks.md",
}
"""Files of the repository, and the pages that show them."""
PACKAGES = (
    "thalweg",
    "thalweg.memory",
    "thalweg.archive",
    "thalweg.archive.threads",
    "thalweg.engine",
    "thalweg.backends",
    "thalweg.middleware",
    "thalweg.client",
    "thalweg.testing.archive",
    "thalweg.testing.backends",
    "thalweg.testing.memory",
    "thalweg.testing.model",
)
"""Packages whose public names are in the page of the Python API."""
_EXAMPLE = re.compile(r"^( *)Example:$", re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)#\s]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in `docs/`."""
    texts = {page: (ROOT / source).read_text("utf-8") for source, page in PAGES.items()}
    texts |= {"cli.md": cli_page(), "api.md": api_page()}
    for page, text in texts.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(
    markdown: str,
    page: Page,
    config: MkDocsConfig,  # noqa: ARG001 (MkDocs names its arguments)
    files: Files,
) -> str:
    """Point links at the site's pages; a link to another file becomes its text."""
    source = next((s for s, p in PAGES.items() if p == page.file.src_uri), None)
    folder = (ROOT / (source or f"docs/{page.file.src_uri}")).parent
    here = PurePosixPath(page.file.src_uri).parent

    def target(found: re.Match[str]) -> str:
        path = (folder / found[1]).resolve()
        if not path.is_relative_to(ROOT):
            return found[1]
        name = path.relative_to(ROOT).as_posix()
        if path.is_dir() and f"{name}/README.md" in PAGES:
            name = f"{name}/README.md"
        return posixpath.relpath(PAGES.get(name, name.removeprefix("docs/")), here)

    linked = _LINK.sub(target, markdown)
    known = {posixpath.relpath(file.src_uri, here) for file in files}
    return re.sub(
        r"(?<!!)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)]*)?\)",
        lambda found: found[0] if found[2] in known else found[1],
        linked,
    )


def cli_page() -> str:
    """Return the reference of the command line, from the program's own help."""
    return "\n".join(["# Command line", "", *_command(get_command(app), "thalweg", None)])


def _command(command: Command, name: str, parent: Context | None) -> Iterator[str]:
    context = Context(command, info_name=name.rpartition(" ")[2], parent=parent)
    yield from (f"## `{name}`", "", "```text", command.get_help(context), "```", "")
    if isinstance(command, Group):
        for child in command.list_commands(context):
            if (found := command.get_command(context, child)) and not found.hidden:
                yield from _command(found, f"{name} {child}", context)


def api_page() -> str:
    """Return the reference of the public names, each of which mkdocstrings renders once."""
    lines = ["# Python API", ""]
    seen: dict[int, str] = {}
    for package in PACKAGES:
        module = import_module(package)
        lines += [f"## `{package}`", "", (module.__doc__ or "").strip(), ""]
        for name in _public(module):
            place = seen.setdefault(id(getattr(module, name)), f"{package}.{name}")
            is_new = place == f"{package}.{name}"
            lines += [f"::: {place}" if is_new else f"- `{name}` is [`{place}`][{place}].", ""]
    return "\n".join(lines)


class DoctestExamples(Extension):
    """Reads `Example:` as Google's `Examples:`, so that its doctests are shown as code."""

    def on_instance(self, *, obj: Object, **kwargs: object) -> None:
        """Rename the section in the docstring of an object."""
        del kwargs
        if obj.docstring:
            obj.docstring.value = _EXAMPLE.sub(r"\1Examples:", obj.docstring.value)


def _public(module: ModuleType) -> list[str]:
    """Return the public names of a module: `__all__`, or the classes that it defines."""
    if names := getattr(module, "__all__", None):
        return sorted(names)
    own = vars(module).items()
    return [n for n, v in own if isinstance(v, type) and v.__module__ == module.__name__]
