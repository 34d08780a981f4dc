"""What the sections of this room are made of beside `Section`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, PrivateAttr, SecretStr, StringConstraints, model_validator

from thalweg.errors import SettingsError
from thalweg.sections import Section, refuse
from thalweg.settings.fixed import is_secret, nearly

MASK = "********"
"""What is shown of a secret."""
Name = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


def is_owner(name: str) -> bool:
    r"""Tell whether somebody may be called so: at most 255 characters, all of them printable.

    What cannot be printed parts names from each other below: owners of one transaction, the
    lines of a log.

    Example:
        >>> [is_owner(name) for name in ("ada", "auth0|Zoë Ng", "", " ", "ada\x1fbob", "\ud800")]
        [True, True, False, False, False, False]
    """
    return bool(name.strip()) and len(name) <= _LONGEST_OWNER and name.isprintable()


_LONGEST_OWNER = 255


def _can_be_printed(owner: str) -> str:
    if not is_owner(owner):
        mend = f"write {_LONGEST_OWNER} characters at most, all of them printable"
        refuse(f"nobody can be called {owner[:40]!a}", mend)
    return owner


Owner = Annotated[Name, AfterValidator(_can_be_printed)]
"""Whose things they are."""


@dataclass(frozen=True, slots=True)
class Unset:
    """A variable that a file refers to and the environment does not have."""

    file: str
    line: int = field(compare=False)
    """Where it stands; a line more above it changes no setting."""
    key: str
    variable: str

    def error(self) -> SettingsError:
        """Say so."""
        problem = f"the variable {self.variable} is not set"
        mend = "set it"
        if not is_secret(self.variable):
            mend += f", or write ${{{self.variable}:-default}}"
        return SettingsError(self.file, self.line, self.key, problem, mend)


class Deferred(Section):
    """A section that is of no account until it is used: then its variables must be there."""

    _unset: tuple[Unset, ...] = PrivateAttr(default=())

    @property
    def unset(self) -> tuple[Unset, ...]:
        """Variables it refers to that are not set; their keys hold the reference as written."""
        return self._unset

    def lacking(self, unset: Sequence[Unset]) -> Self:
        """Give the same, with variables that are not set."""
        if not unset:
            return self
        copy = self.model_copy()
        copy._unset = tuple(unset)  # noqa: SLF001 (our own copy)
        return copy

    def ready(self) -> Self:
        """Give it back, for use.

        Raises:
            SettingsError: A variable that it refers to is not set.
        """
        if self._unset:
            first, *others = (each.error() for each in self._unset)
            raise SettingsError(
                first.file, first.line, first.key, first.problem, first.mend, *others
            )
        return self


class Open(Deferred):
    """A section that takes other keys, too: they become its `options`."""

    THEIRS: ClassVar[frozenset[str]] = frozenset()
    """Other keys that are right although they look like a slip of the finger."""

    @model_validator(mode="before")
    @classmethod
    def _knows_every_key(cls, given: object) -> object:
        if not isinstance(given, Mapping):
            return given
        known = {name: value for name, value in given.items() if name in cls.model_fields}
        others = {str(name): value for name, value in given.items() if name not in cls.model_fields}
        for name in others:
            meant = None if name in cls.THEIRS else nearly(name, cls.model_fields)
            if meant:
                refuse(f"there is no setting {name!r}", f"did you mean {meant!r}?", key=name)
        listed = known.get("options") or {}
        if others and isinstance(listed, Mapping):
            known["options"] = {**listed, **others}
        return known


def _module_and_attribute(use: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", use):
        refuse(f"{use!r} names nothing to import", "write module:attribute, such as json:dumps")
    return use


Import = Annotated[str, AfterValidator(_module_and_attribute)]
"""Something to import: `package.module:attribute`."""


def _is_told(secret: SecretStr) -> SecretStr:
    value = secret.get_secret_value()
    if not value.strip():
        refuse("it is empty", "write it, or a variable such as $MY_KEY")
    if MASK in value:
        refuse("it is the mask that is shown in place of a secret", "write the secret itself")
    return secret


Secret = Annotated[SecretStr, AfterValidator(_is_told)]
"""A text that is never shown."""
