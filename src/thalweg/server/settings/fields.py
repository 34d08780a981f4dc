"""The fields, defaults and docstrings of sections."""

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from textwrap import dedent
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic_core import PydanticUndefined

from thalweg.engine.sections import SettingsSection


@dataclass(frozen=True, slots=True)
class Field:
    """One setting of a section."""

    name: str
    default: object
    """Its value when it is not set."""
    told: str
    """Its docstring, in Markdown."""
    is_needed: bool
    """Whether there is no default."""
    choices: tuple[str, ...]
    """Its values, or those of its items, where they are few words."""
    section: type[SettingsSection] | None
    """The section that it is, or that its parts are."""
    holds: Literal["one", "list", "mapping"]
    """How many of that section it holds."""


def described(section: type[SettingsSection]) -> tuple[Field, ...]:
    """Return the settings of a section, in their order."""
    told = _docstrings(section)
    fields = []
    for name, info in section.model_fields.items():
        inner, holds = _section_of(info.annotation)
        needed = info.default is PydanticUndefined and info.default_factory is None
        words = told.get(name) or (about(inner) if inner else "")
        default = None if needed else info.get_default(call_default_factory=True)
        choices = () if inner else tuple(_choices(info.annotation))
        fields.append(Field(name, default, words, needed, choices, inner, holds))
    return tuple(fields)


def about(section: type[SettingsSection]) -> str:
    """Return the docstring of a section, without its example."""
    return " ".join((inspect.getdoc(section) or "").partition("\n\n")[0].split())


@lru_cache(maxsize=64)
def _docstrings(section: type[SettingsSection]) -> Mapping[str, str]:
    """Read the strings below fields out of the source; nothing else keeps them."""
    told: dict[str, str] = {}
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
                    told[name] = _as_yaml(" ".join(text.split()))
    return told


def _as_yaml(text: str) -> str:
    """Replace constants of Python by those of YAML."""
    for word, written in (("None", "null"), ("False", "false"), ("True", "true")):
        text = text.replace(f"`{word}`", f"`{written}`")
    return text


def _alternatives(annotation: object) -> Iterator[object]:
    """Yield the types of a union, without annotations."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _alternatives(get_args(annotation)[0])
    elif origin in {Union, UnionType}:
        for each in get_args(annotation):
            yield from _alternatives(each)
    elif annotation is not NoneType:
        yield annotation


def _section_of(
    annotation: object,
) -> tuple[type[SettingsSection] | None, Literal["one", "list", "mapping"]]:
    for each in _alternatives(annotation):
        if isinstance(each, type) and issubclass(each, SettingsSection):
            return each, "one"
        inner = [kind for arg in get_args(each) for kind in _alternatives(arg)]
        for kind in inner:
            if isinstance(kind, type) and issubclass(kind, SettingsSection):
                is_mapping = get_origin(each) in {Mapping, dict}
                return kind, "mapping" if is_mapping else "list"
    return None, "one"


def _choices(annotation: object) -> Iterator[str]:
    for each in _alternatives(annotation):
        if get_origin(each) is Literal:
            yield from map(str, get_args(each))
        elif get_origin(each) is tuple:
            yield from (choice for inner in get_args(each)[:1] for choice in _choices(inner))
