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
    def _validate_keys(cls, data: object) -> object:
        if isinstance(data, Mapping):
            for key in data:
                if key not in cls.model_fields:
                    fix = name_remedy(str(key), tuple(cls.model_fields), cls._elsewhere(str(key)))
                    refuse(f"there is no setting {key!r}", fix, key=str(key))
        return data

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
            raise as_config_error(where, error.errors(include_url=False)[0]) from None


def refuse(
    problem: str, fix: str, *, key: str | KeyPath = (), conflicting_key: str | KeyPath = ()
) -> NoReturn:
    """Raise the error of a setting, from a validator of its section.

    Args:
        problem: The problem, with the value.
        fix: The text to write instead.
        key: The setting below the one being validated, if available.
        conflicting_key: Another setting below it that contradicts the first one, if any.

    Raises:
        PydanticCustomError: Always.
    """
    paths = {"key": _path(key), "against": _path(conflicting_key)}
    raise PydanticCustomError(
        "setting", "{problem}; {fix}", {"problem": problem, "fix": fix} | paths
    )


def _path(key: str | KeyPath) -> KeyPath:
    return (key,) if isinstance(key, str) else key


def name_remedy(name: str, known: Sequence[str], otherwise: str = "") -> str:
    """Return a remedy for an unknown name: the nearest valid one, or all of them.

    Args:
        name: The unknown name.
        known: The valid names.
        otherwise: The remedy if no name is near, in place of all valid names.

    Example:
        >>> name_remedy("triger", ["trigger", "keep"]), name_remedy("x", ["trigger", "keep"])
        ("did you mean 'trigger'?", 'use trigger, keep')
    """
    close = get_close_matches(name, known, 1)
    if close:
        return f"did you mean {close[0]!r}?"
    return otherwise or f"use {', '.join(known)}"


def name_choices_remedy(name: str, known: Sequence[str]) -> str:
    """Return a remedy for an unknown name: the nearest valid one, and all of them.

    Example:
        >>> name_choices_remedy("triger", ["trigger", "keep"]), name_choices_remedy("x", ["keep"])
        ('did you mean trigger? use trigger, keep', 'use keep')
    """
    close = get_close_matches(name, known, 1)
    suggestion = f"did you mean {close[0]}? " if close else ""
    return f"{suggestion}use {', '.join(known)}"


def dotted(path: Iterable[str | int], parent_path: str = "") -> str:
    """Return a path as it is written in errors, below the one above it.

    Example:
        >>> dotted(("models", 0, "window")), dotted((1,), "models")
        ('models[0].window', 'models[1]')
    """
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return f"{parent_path}{''.join(steps)}".removeprefix(".")


def as_config_error(
    section_path: str, error: ErrorDetails, *, quoted_value: str | None = None
) -> ConfigError:
    """Convert an error of pydantic.

    Args:
        section_path: Path of the section.
        error: One of `ValidationError.errors`.
        quoted_value: What to quote in place of the value, such as for a secret.
    """
    context = error.get("ctx", {})
    path = dotted((*error["loc"], *context.get("key", ())), section_path)
    if error["type"] == "setting":
        return ConfigError(path, context["problem"], context["fix"])
    if error["type"] == "missing":
        return ConfigError(path, "it is missing", "add it")
    quoted = _quoted(error["input"]) if quoted_value is None else quoted_value
    return ConfigError(
        path, f"{quoted} cannot be used", _remedy(error, is_shown=quoted_value is None)
    )


def _quoted(value: object) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None or isinstance(value, bool):
        return f"'{json.dumps(value)}'"
    return repr(str(value)[:60])


_EXPECTED_KINDS = {
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
    value_text = str(error["input"]) if is_shown else ""
    if kind == "literal":
        expected = str(error.get("ctx", {}).get("expected"))
        close = get_close_matches(value_text, re.findall(r"'([^']*)'", expected), 1)
        return f"it should be {expected}" + (f"; did you mean {close[0]!r}?" if close else "")
    if kind not in _EXPECTED_KINDS or detail not in _TYPE_ERROR_DETAILS:
        message = error["msg"].removeprefix("Input ").removeprefix("String ")
        return f"it {message.split(', unable')[0]}"
    expectation = _EXPECTED_KINDS[kind]
    number = _NUMBER.fullmatch(value_text.replace(",", "").replace("_", "").strip())
    if kind == "int" and number:
        count = float(number[1]) * {"": 1, "k": 1_000, "m": 1_000_000}[number[2].lower()]
        expectation += f"; write {count:.0f}" if count.is_integer() else ""
    return f"it should be {expectation}"


_TYPE_ERROR_DETAILS = frozenset(("attributes_type", "from_float", "parsing", "type"))
"""Second words of errors about a type, not about a range."""
