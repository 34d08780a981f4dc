"""Write the reference of the settings: `python -m scripts.configuration_page`.

The tables of docs/configuration.md, and the file that `thalweg config init --all` copies. Both are
made from the fields, defaults and docstrings of the sections.
"""

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from textwrap import dedent, wrap
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import SecretStr

from thalweg.engine.compaction.thresholds import Threshold
from thalweg.engine.sections import KeyPath, SettingsSection
from thalweg_server.settings.fields import MASK, mapped
from thalweg_server.settings.loading import examine_text
from thalweg_server.settings.sections import Settings
from thalweg_server.settings.showing import inline, shown, yaml_lines

Holds = Literal["one", "list", "mapping"]
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "configuration.md"
STARTING = ROOT / "packages/thalweg-server/src/thalweg_server/settings/starting.yaml"
BEGIN = "<!-- The tables from here to the end are written by scripts/configuration_page.py. -->\n"
FIRST = (
    "models[].name",
    "models[].provider",
    "models[].model",
    "models[].api_key",
    "models[].base_url",
    "models[].window",
    "agent.model",
    "agent.system_prompt",
    "agent.interrupt_on",
    "summarization.trigger",
    "summarization.keep",
    "summarization.model_name",
    "memory.enabled",
    "memory.storage_path",
    "sandbox.use",
    "skills.paths",
    "mcp_servers.NAME.command",
    "mcp_servers.NAME.url",
    "storage.url",
    "gateway.keys",
)
"""The keys that most files have, which the page shows first."""
_LONGEST = 40
"""A longer default is cut."""
_WIDTH = 100
HEAD = """\
# Settings of Thalweg. All are optional: each comment below shows the default, or an example if the
# default is an empty list. Remove the # in front of a line to change it.
#
# $NAME, ${NAME} and ${NAME:-default} stand for variables of the environment, $$ for a dollar.
# `thalweg config show` lists errors, or the effective values."""
EXAMPLE = b"""
models: [{name: gpt, provider: openai, model: gpt-5, api_key: $OPENAI_API_KEY, temperature: 0.2}]
subagents: {agents: [{name: reader, description: Reads long files and reports what matters.}]}
tools: [{name: word_count, use: 'my_tools:word_count'}]
tool_groups: [{name: text}]
mcp_servers: {everything: {command: npx, args: [-y, '@modelcontextprotocol/server-everything']}}
gateway:
  keys: [{key: $THALWEG_KEY, owner: ada, limits: {}}]
  oidc: {issuer: 'https://id.example.com', audience: thalweg}
"""
"""Examples of settings that have no default or an empty one."""
_HEAD = ("| key | default | description |", "|---|---|---|")


@dataclass(frozen=True, slots=True)
class Field:
    """One setting of a section."""

    name: str
    default: object
    """Its value when it is not set."""
    description: str
    """Its docstring, in Markdown."""
    is_needed: bool
    """Whether there is no default."""
    choices: tuple[str, ...]
    """Its values, or those of its items, if they are few words."""
    section: type[SettingsSection] | None
    """The section that it is, or that its parts are."""
    holds: Holds
    """How many of that section it holds."""


@lru_cache(maxsize=64)
def described(section: type[SettingsSection]) -> Mapping[str, Field]:
    """Return the settings of a section by their names, in their order."""
    docstrings = _docstrings(section)
    fields = {}
    for name, info in section.model_fields.items():
        parts = list(_parts(info.annotation))
        inner: type[SettingsSection] | None = None
        holds: Holds = "one"
        for kind, count in parts:
            if inner is None and isinstance(kind, type) and issubclass(kind, SettingsSection):
                inner, holds = kind, count
        needed = info.is_required()
        words = docstrings.get(name) or (about(inner) if inner else "")
        default = None if needed else info.get_default(call_default_factory=True)
        choices = () if inner else tuple(word for word, _ in parts if isinstance(word, str))
        fields[name] = Field(name, default, words, needed, choices, inner, holds)
    return fields


def about(section: type[SettingsSection]) -> str:
    """Return the docstring of a section, without its example."""
    return " ".join((inspect.getdoc(section) or "").partition("\n\n")[0].split())


def _docstrings(section: type[SettingsSection]) -> Mapping[str, str]:
    """Read the strings below fields out of the source; nothing else keeps them."""
    docstrings: dict[str, str] = {}
    for kind in reversed(section.__mro__):
        if not issubclass(kind, SettingsSection):
            continue
        (body,) = ast.parse(dedent(inspect.getsource(kind))).body
        for pair in pairwise(body.body if isinstance(body, ast.ClassDef) else []):
            match pair:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str() as text)),
                ):
                    for word, written in (("None", "null"), ("False", "false"), ("True", "true")):
                        text = text.replace(f"`{word}`", f"`{written}`")
                    docstrings[name] = " ".join(text.split())
    return docstrings


def _parts(annotation: object, holds: Holds = "one") -> Iterator[tuple[object, Holds]]:
    """Yield the types and the words of a setting, with how many of each it holds."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in {Union, UnionType, Literal}:
        for each in inner:
            yield from _parts(each, holds)
    elif origin is Annotated:
        yield from _parts(inner[0], holds)
    elif origin is Mapping:
        yield from _parts(inner[1], "mapping")
    elif origin is tuple:
        yield from _parts(inner[0], "list")
    elif annotation is not NoneType:
        yield annotation, holds


def page() -> Iterator[str]:
    """Yield the lines of the tables, in Markdown: the first keys, then all others by section."""
    yield from ("## Twenty keys", "", *_HEAD)
    for key in FIRST:
        section: type[SettingsSection] = Settings
        for step in key.split("."):
            if step != "NAME":
                field = described(section)[step.removesuffix("[]")]
                section = field.section or section
        yield _row(field, key)
    yield from ("", "## All others", "")
    for field in described(Settings).values():
        if field.section is not None:
            yield from _tables(field, "")


def _tables(field: Field, above: str) -> Iterator[str]:
    section = field.section
    if section is None:
        return
    path = f"{above}{field.name}{_holds(field)}"
    fields = described(section).values()
    yield from (f"### `{path}`", "", field.description if not above else about(section), "")
    rows = [_row(each) for each in fields if f"{path}.{each.name}" not in FIRST]
    if rows:
        yield from (*_HEAD, *rows, "")
    for each in fields:
        if each.section is not None and not _is_repeated(each.section, section):
            yield from _tables(each, f"{path}.")


def _holds(field: Field) -> str:
    return {"one": "", "list": "[]", "mapping": ".NAME"}[field.holds]


def _is_repeated(section: type[SettingsSection], above: type[SettingsSection]) -> bool:
    """Return whether a table would repeat the one above it."""
    return section is Threshold or issubclass(above, section)


def _row(field: Field, key: str = "") -> str:
    choices = (
        f" One of {', '.join(f'`{each}`' for each in field.choices)}." if field.choices else ""
    )
    description = f"{field.description}{choices}".replace("|", "\\|")
    return f"| `{key or field.name}` | {_default(field)} | {description} |"


def _default(field: Field) -> str:
    if field.is_needed:
        return "needed"
    if field.section is not None and field.holds == "one" and field.section is not Threshold:
        return "none" if field.default is None else "see below"
    text = inline(_plain(field.default))
    return f"`{text}`" if len(text) <= _LONGEST else f"`{text[:_LONGEST].rsplit(' ', 1)[0]} …`"


def _plain(value: object) -> object:
    """Return a value as JSON has it: the keys of a section that were set, a mask for a secret."""

    def change(each: object) -> object:
        if isinstance(each, SettingsSection):
            return {name: _plain(getattr(each, name)) for name in sorted(each.model_fields_set)}
        return MASK if isinstance(each, SecretStr) else each

    return mapped(value, change)


def written(text: str) -> str:
    """Return a page with its tables replaced by those of today."""
    before, begin, _ = text.partition(BEGIN)
    return before + begin + "\n" + "\n".join(page()).rstrip() + "\n"


def starting_file() -> str:
    """Return a configuration with every setting as a comment: its default, or an example."""
    variables = {"OPENAI_API_KEY": "-", "THALWEG_KEY": "--"}
    report = examine_text(EXAMPLE, "", variables)
    settings = report.unless_wrong()
    lines = [HEAD]
    for path, text in yaml_lines(shown(settings, report.root)):
        indent = "#" + " " * (len(text) - len(text.lstrip(" "))) if len(path) > 1 else ""
        lines += [""] if len(path) == 1 else []
        lines += wrap(
            _comment(settings, path),
            _WIDTH,
            initial_indent=f"{indent}# ",
            subsequent_indent=f"{indent}# ",
        )
        lines.append(f"#{text}")
    return "\n".join(lines) + "\n"


def _comment(settings: Settings, path: KeyPath) -> str:
    """Return the description of the setting at a path, with its choices."""
    *above, last = path
    section: object = settings
    for step in above:
        is_section = isinstance(section, SettingsSection)
        section = getattr(section, str(step)) if is_section else section[step]  # type: ignore[index]
    if not isinstance(section, SettingsSection) or last not in type(section).model_fields:
        return ""
    field = described(type(section))[str(last)]
    choices = f" One of {', '.join(field.choices)}." if field.choices else ""
    return f"{field.description}{choices}".strip()


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    STARTING.write_text(starting_file(), encoding="utf-8")
