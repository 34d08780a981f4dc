"""Sections of settings: frozen, closed, and refused in words.

Whatever is wrong with a section is told in one sentence that says what, where and how to mend
it, whether the section came from a file or from Python.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import NoReturn, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from thalweg.errors import ConfigError


class Section(BaseModel):
    """A section of the settings. A key it does not know is refused, with the nearest it knows."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _knows_every_key(cls, given: object) -> object:
        if isinstance(given, Mapping):
            for key in given:
                if key not in cls.model_fields:
                    mend = nearest(str(key), tuple(cls.model_fields))
                    refuse(f"there is no setting {key!r}", mend, key=str(key))
        return given

    @classmethod
    def from_mapping(cls, section: Mapping[str, object], *, where: str = "") -> Self:
        """Read a section as it comes out of YAML or JSON.

        Args:
            section: Keys and values.
            where: Path of the section in its file, for the error.

        Raises:
            ConfigError: A setting cannot be used; it carries the path of the key.
        """
        try:
            return cls.model_validate(section)
        except ValidationError as error:
            raise in_words(where, error.errors(include_url=False)[0]) from None


def refuse(problem: str, mend: str, *, key: str = "", against: str = "") -> NoReturn:
    """Refuse a setting, from a validator of its section.

    Args:
        problem: What is wrong, with the value.
        mend: What to write instead.
        key: The setting below the one being validated, where it is known.
        against: The setting beside it that it contradicts, where there is one.

    Raises:
        PydanticCustomError: Always.
    """
    said = {"problem": problem, "mend": mend, "key": key, "against": against}
    raise PydanticCustomError("setting", "{problem}; {mend}", said)


def nearest(name: str, known: Sequence[str], otherwise: str = "") -> str:
    """Say which known name was probably meant, or which there are.

    Args:
        name: What was given.
        known: What there is.
        otherwise: What to say where nothing is near, in place of all that is known.

    Example:
        >>> nearest("triger", ["trigger", "keep"]), nearest("x", ["trigger", "keep"])
        ("did you mean 'trigger'?", 'use trigger, keep')
    """
    close = get_close_matches(name, known, 1)
    if close:
        return f"did you mean {close[0]!r}?"
    return otherwise or f"use {', '.join(known)}"


def choices(name: str, known: Sequence[str]) -> str:
    """Say which known name was probably meant, and which there are.

    Example:
        >>> choices("triger", ["trigger", "keep"]), choices("x", ["trigger", "keep"])
        ('did you mean trigger? use trigger, keep', 'use trigger, keep')
    """
    close = get_close_matches(name, known, 1)
    meant = f"did you mean {close[0]}? " if close else ""
    return f"{meant}use {', '.join(known)}"


def in_words(where: str, error: ErrorDetails, *, shown: str | None = None) -> ConfigError:
    """Say in words what pydantic found wrong with a section.

    Args:
        where: Path of the section.
        error: What was found.
        shown: What to quote in place of the value, such as a secret's.
    """
    said = error.get("ctx", {})
    path = where
    for step in (*error["loc"], said.get("key", "")):
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if step else ""
    path = path.removeprefix(".")
    if error["type"] == "setting":
        return ConfigError(path, said["problem"], said["mend"])
    if error["type"] == "missing":
        return ConfigError(path, "it is missing", "add it")
    should = error["msg"].removeprefix("Input ").split(", unable")[0]
    if error["type"] == "model_type":
        should = "should be keys and values"
    quoted = repr(str(error["input"])[:60]) if shown is None else shown
    return ConfigError(path, f"{quoted} cannot be used", f"it {should}")
