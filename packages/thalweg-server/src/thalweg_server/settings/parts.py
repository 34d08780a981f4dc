"""Types that the sections share."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Final, Protocol, Self, TypeVar

from pydantic import AfterValidator, PrivateAttr, SecretStr, StringConstraints, model_validator

from thalweg.engine.sections import SettingsSection, refuse
from thalweg.errors import SettingsError
from thalweg_server.settings.fixed import is_secret, nearly
from thalweg_server.settings.nodes import UnsetVariable

MASK = "********"
"""Text shown in place of a secret."""
Name = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


def is_owner(name: str) -> bool:
    r"""Return whether a text can name an owner: at most 255 characters, all of them printable.

    Other characters separate names in storage and in logs.

    Example:
        >>> [is_owner(name) for name in ("ada", "auth0|Zoë Ng", "", " ", "ada\x1fbob", "\ud800")]
        [True, True, False, False, False, False]
    """
    return bool(name.strip()) and len(name) <= _LONGEST_OWNER and name.isprintable()


_LONGEST_OWNER = 255


def _validate_owner(owner: str) -> str:
    if not is_owner(owner):
        fix = f"write {_LONGEST_OWNER} characters at most, all of them printable"
        refuse(f"no owner can be named {owner[:40]!a}", fix)
    return owner


Owner = Annotated[Name, AfterValidator(_validate_owner)]
"""Whose things they are."""


def unset_error(unset: UnsetVariable) -> SettingsError:
    """Return the error of a variable that is not set."""
    name = unset.variable
    default = "" if is_secret(name) else f", or write ${{{name}:-default}}"
    return unset.place.error(f"the variable {name} is not set", f"set it{default}")


class Deferred(SettingsSection):
    """A section whose variables must be set only when it is used."""

    _unset: tuple[UnsetVariable, ...] = PrivateAttr(default=())

    @property
    def unset(self) -> tuple[UnsetVariable, ...]:
        """Variables that are not set; their keys hold the reference as written."""
        return self._unset

    def lacking(self, unset: Sequence[UnsetVariable]) -> Self:
        """Return a copy with variables that are not set."""
        if not unset:
            return self
        copy = self.model_copy()
        copy._unset = tuple(unset)  # noqa: SLF001 (our own copy)
        return copy

    def ready(self) -> Self:
        """Return the section itself, for use.

        Raises:
            SettingsError: A variable that it refers to is not set.
        """
        if self._unset:
            raise SettingsError.of(map(unset_error, self._unset))
        return self


class Open(Deferred):
    """A section that accepts unknown keys: they become its `options`."""

    KNOWN_KEYS: ClassVar[frozenset[str]] = frozenset()
    """Other keys that are valid although they look like a typing mistake."""

    @model_validator(mode="before")
    @classmethod
    def _validate_keys(cls, given: object) -> object:
        if not isinstance(given, Mapping):
            return given
        known = {name: value for name, value in given.items() if name in cls.model_fields}
        others = {str(name): value for name, value in given.items() if name not in cls.model_fields}
        for name in others:
            meant = None if name in cls.KNOWN_KEYS else nearly(name, cls.model_fields)
            if meant:
                refuse(f"there is no setting {name!r}", f"did you mean {meant!r}?", key=name)
        listed = known.get("options") or {}
        if others and isinstance(listed, Mapping):
            known["options"] = {**listed, **others}
        return known


MOVED: Final[Mapping[str, str]] = {
    "thalweg.middleware.context": "thalweg.context.middleware",
    "thalweg.middleware.memory": "thalweg_memory.middleware",
    "thalweg.middleware.memory_files": "thalweg_agent.middleware.memory",
    "thalweg.middleware": "thalweg_agent.middleware",
    "thalweg.agent": "thalweg_agent",
    "thalweg.backends": "thalweg_agent.backends",
    "thalweg.profiles": "thalweg_agent.profiles",
    "thalweg.graph": "thalweg_agent.graph",
    "thalweg.memory": "thalweg_memory",
    "thalweg.lab.evals": "thalweg_evals",
    "thalweg.lab": "thalweg_recorder",
    "thalweg.recorder": "thalweg_recorder",
    "thalweg.server": "thalweg_server",
    "thalweg.client": "thalweg_server.client",
    "thalweg.integrations": "thalweg_integrations",
}
"""Modules that had another name when everything was one package, with their names now."""


def _validate_import(use: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", use):
        refuse(f"{use!r} is not an importable name", "write module:attribute, such as json:dumps")
    place, _, attribute = use.partition(":")
    for old, new in MOVED.items():  # the longest names first
        if f"{place}.".startswith(f"{old}."):
            now = f"{new}{place.removeprefix(old)}"
            refuse(f"{place} is {now} now", f"write {now}:{attribute}")
    return use


Import = Annotated[str, AfterValidator(_validate_import)]
"""Something to import: `package.module:attribute`."""


def _validate_secret(secret: SecretStr) -> SecretStr:
    value = secret.get_secret_value()
    if not value.strip():
        refuse("it is empty", "write it, or a variable such as $MY_KEY")
    if MASK in value:
        refuse("it is the mask that replaces a secret in output", "write the secret itself")
    return secret


Secret = Annotated[SecretStr, AfterValidator(_validate_secret)]
"""A text that is never shown."""


class Named(Protocol):
    """A part of a list that is found by its name."""

    @property
    def name(self) -> str:
        """The name."""
        ...


N = TypeVar("N", bound=Named)


def _have_distinct_names(parts: tuple[N, ...]) -> tuple[N, ...]:
    refuse_repeated([part.name for part in parts], "name", "use a different name for each")
    return parts


Distinct = Annotated[tuple[N, ...], AfterValidator(_have_distinct_names)]
"""Parts of which no two have the same name."""


def refuse_repeated(values: Sequence[object], key: str, fix: str) -> None:
    """Raise the error of the first value that the `key` of an earlier part has as well."""
    for index, value in enumerate(values):
        first = values.index(value)
        if first != index:
            shown = f" {value!r}" if isinstance(value, str) else ""
            problem = f"the {key}{shown} is used twice"
            refuse(problem, fix, key=(index, key), conflicting_key=(first, key))
