"""The files that a user starts with: three decisions, or every setting with its default.

The second file is made from the fields, defaults and docstrings of the sections.
"""

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from textwrap import dedent, wrap
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeGuard, Union, get_args, get_origin

from thalweg.engine.compaction.thresholds import Threshold
from thalweg.engine.data_files import read_table
from thalweg.engine.sections import SettingsSection
from thalweg_server.settings.whole import Settings
from thalweg_server.settings.writing import inline, plain

Holds = Literal["one", "list", "mapping"]
_NO_SECTION: tuple[None, Holds] = (None, "one")
WIDTH = 100
_INLINE = (Threshold,)
"""Sections that are written on one line."""
_NAME = "everything"
"""The key in the example of a mapping."""
SANDBOXES = ("none", "bubblewrap", "docker", "podman", "host")
"""Values of `sandbox.use` that need no other setting."""
_REPEATED = ("pricing.models", "pricing.tiers")
"""Sections whose keys are just above: they have no example."""


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


def described(section: type[SettingsSection]) -> tuple[Field, ...]:
    """Return the settings of a section, in their order."""
    docstrings = _docstrings(section)
    fields = []
    for name, info in section.model_fields.items():
        parts = list(_parts(info.annotation))
        inner, holds = next(((kind, n) for kind, n in parts if _is_section(kind)), _NO_SECTION)
        needed = info.is_required()
        words = docstrings.get(name) or (about(inner) if inner else "")
        default = None if needed else info.get_default(call_default_factory=True)
        choices = () if inner else tuple(word for word, _ in parts if isinstance(word, str))
        fields.append(Field(name, default, words, needed, choices, inner, holds))
    return tuple(fields)


def about(section: type[SettingsSection]) -> str:
    """Return the docstring of a section, without its example."""
    return " ".join((inspect.getdoc(section) or "").partition("\n\n")[0].split())


@lru_cache(maxsize=64)
def _docstrings(section: type[SettingsSection]) -> Mapping[str, str]:
    """Read the strings below fields out of the source; nothing else keeps them."""
    docstrings: dict[str, str] = {}
    for kind in reversed(section.__mro__):
        if not issubclass(kind, SettingsSection):
            continue
        (body,) = ast.parse(dedent(inspect.getsource(kind))).body
        lines = body.body if isinstance(body, ast.ClassDef) else []
        for field, words in pairwise(lines):
            match field, words:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str() as text)),
                ):
                    docstrings[name] = _as_yaml(" ".join(text.split()))
    return docstrings


def _as_yaml(text: str) -> str:
    """Replace constants of Python by those of YAML."""
    for word, written in (("None", "null"), ("False", "false"), ("True", "true")):
        text = text.replace(f"`{word}`", f"`{written}`")
    return text


def _is_section(kind: object) -> TypeGuard[type[SettingsSection]]:
    return isinstance(kind, type) and issubclass(kind, SettingsSection)


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
