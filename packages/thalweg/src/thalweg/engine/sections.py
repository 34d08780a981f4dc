"""Sections of settings: frozen, closed, and with errors that name a remedy.

An error is one sentence with the key, the problem and the remedy, whether the section came from
a file or from Python.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import NoReturn, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from thalweg.errors import ConfigError

KeyPath = tuple[str | int, ...]
"""Keys and indices below a section."""


class SettingsSection(BaseModel):
    """A section of the settings. An unknown key is an error that names the nearest valid one."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _validate_keys(cls, given: object) -> object:
        if isinstance(given, Mapping):
            for key in given:
                if key not in cls.model_fields:
                    fix = nearest(str(key), tuple(cls.model_fields), cls._elsewhere(str(key)))
                    refuse(f"there is no setting {key!r}", fix, key=str(key))
        return given

    @classmethod
    def _elsewhere(cls, key: str) -> str:
        """Return the remedy for a key that belongs in another section; empty for any other."""
        del key
        return ""

    @classmethod
    def from_mapping(cls, section: Mapping[str, object], *, where: str = "") -> Self:
        """Validate a section as YAML or JSON has it.

        Args:
            section: Keys and values.
            where: Path of the section in its file, for the error.

        Raises:
            ConfigError: A setting is not valid; it carries the path of the key.
        """
        try:
            return cls.model_validate(section)
        except ValidationError as error:
            raise in_words(where, error.errors(include_url=False)[0]) from None


def refuse(
    problem: str, fix: str, *, key: str | KeyPath = (), against: str | KeyPath = ()
) -> NoReturn:
    """Raise the error of a setting, from a validator of its section.

    Args:
        problem: The problem, with the value.
        fix: The text to write instead.
        key: The setting below the one being validated, if available.
        against: Another setting below it that contradicts the first one, if any.

    Raises:
        PydanticCustomError: Always.
    """
    paths = {"key": _path(key), "against": _path(against)}
    raise PydanticCustomError(
        "setting", "{problem}; {fix}", {"problem": problem, "fix": fix} | paths
    )


def _path(key: str | KeyPath) -> KeyPath:
    return (key,) if isinstance(key, str) else key


def nearest(name: str, known: Sequence[str], otherwise: str = "") -> str:
    """Return a remedy for an unknown name: the nearest valid one, or all of them.

    Args:
        name: The unknown name.
        known: The valid names.
        otherwise: The remedy if no name is near, in place of all valid names.

    Example:
        >>> nearest("triger", ["trigger", "keep"]), nearest("x", ["trigger", "keep"])
        ("did you mean 'trigger'?", 'use trigger, keep')
    """
    close = get_close_matches(name, known, 1)
    if close:
        return f"did you mean {close[0]!r}?"
    return otherwise or f"use {', '.join(known)}"


def choices(name: str, known: Sequence[str]) -> str:
    """Return a remedy for an unknown name: the nearest valid one, and all of them.

    Example:
        >>> choices("triger", ["trigger", "keep"]), choices("x", ["trigger", "keep"])
        ('did you mean trigger? use trigger, keep', 'use trigger, keep')
    """
    close = get_close_matches(name, known, 1)
    meant = f"did you mean {close[0]}? " if close else ""
    return f"{meant}use {', '.join(known)}"


def dotted(path: Iterable[str | int], above: str = "") -> str:
    """Return a path as it is written in errors, below the one above it.

    Example:
        >>> dotted(("models", 0, "window")), dotted((1,), "models")
        ('models[0].window', 'models[1]')
    """
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return f"{above}{''.join(steps)}".removeprefix(".")


def in_words(where: str, error: ErrorDetails, *, shown: str | None = None) -> ConfigError:
    """Convert an error of pydantic.

    Args:
        where: Path of the section.
        error: One of `ValidationError.errors`.
        shown: What to quote in place of the value, such as for a secret.
    """
    context = error.get("ctx", {})
    path = dotted((*error["loc"], *context.get("key", ())), where)
    if error["type"] == "setting":
        return ConfigError(path, context["problem"], context["fix"])
    if error["type"] == "missing":
        return ConfigError(path, "it is missing", "add it")
    quoted = _quoted(error["input"]) if shown is None else shown
    return ConfigError(path, f"{quoted} cannot be used", _remedy(error, is_shown=shown is None))


def _quoted(given: object) -> str:
    if isinstance(given, Mapping):
        return "a mapping"
    if isinstance(given, list | tuple):
        return "a list"
    if given is None or isinstance(given, bool):
        return f"'{json.dumps(given)}'"
    return repr(str(given)[:60])


_SHAPES = {
    "bool": "true or false",
    "dict": "keys and values",
    "float": "a number, such as 0.8",
    "int": "a whole number",
    "model": "keys and values",
    "string": "a text",
    "tuple": "a list; write [a, b], or a line that begins with `- ` for each item",
}
"""The expected kind of a value, by the first word of pydantic's type of error."""
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([kKmM]?)")


def _remedy(error: ErrorDetails, *, is_shown: bool) -> str:
    """Return what to write in place of a value of the wrong type, range or choice."""
    kind, _, detail = error["type"].partition("_")
    given = str(error["input"]) if is_shown else ""
    if kind == "literal":
        expected = str(error.get("ctx", {}).get("expected"))
        close = get_close_matches(given, re.findall(r"'([^']*)'", expected), 1)
        return f"it should be {expected}" + (f"; did you mean {close[0]!r}?" if close else "")
    if kind not in _SHAPES or detail not in _OF_TYPE:
        message = error["msg"].removeprefix("Input ").removeprefix("String ")
        return f"it {message.split(', unable')[0]}"
    should = _SHAPES[kind]
    number = _NUMBER.fullmatch(given.replace(",", "").replace("_", "").strip())
    if kind == "int" and number:
        count = float(number[1]) * {"": 1, "k": 1_000, "m": 1_000_000}[number[2].lower()]
        should += f"; write {count:.0f}" if count.is_integer() else ""
    return f"it should be {should}"


_OF_TYPE = frozenset(("attributes_type", "from_float", "parsing", "type"))
"""Second words of errors about a type, not about a range."""
