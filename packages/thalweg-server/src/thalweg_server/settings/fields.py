"""Types of settings: names, secrets, imports, and keys and values that no section describes."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NoReturn, Self, TypeVar

from pydantic import (
    AfterValidator,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SecretStr,
    StringConstraints,
    model_validator,
)

from thalweg.engine.sections import SettingsSection, refuse
from thalweg.errors import SettingsError
from thalweg_server.settings.nodes import Position, Substituted

MASK = "********"
"""Text shown in place of a secret."""
_LONGEST_OWNER = 255
_SECRET = re.compile(
    r"(?:^|[_-])(?:api_?key|key|token|secrets?|password|passwd|passphrase|credentials?|auth"
    r"|authorization|cookie|signature|headers)$"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
V = TypeVar("V")


def is_secret(name: str) -> bool:
    """Return whether a name is that of a secret, or of something that holds only secrets.

    Example:
        >>> [is_secret(name) for name in ("gemini_api_key", "X-Auth-Token", "max_tokens", "top_k")]
        [True, True, False, False]
    """
    return bool(_SECRET.search(name.lower().replace("-", "_")))


def _refuse(*_: object, **__: object) -> NoReturn:
    msg = "settings are immutable; read the file again"
    raise TypeError(msg)


_REFUSE: Any = _refuse  # in place of seven methods, each with a type of its own


class FrozenMapping(dict[str, V]):
    """A mapping that never changes, and so may be a key itself."""

    def __hash__(self) -> int:  # type: ignore[override]  # a dict has none; this one does not change
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[object, ...]:
        return FrozenMapping, (dict(self),)

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _REFUSE


def _freeze(data: object, *, secret: bool = False) -> object:
    """Freeze mappings, lists and scalars; a text whose key names a secret becomes one."""
    if isinstance(data, Mapping):
        return FrozenMapping(
            (str(name), _freeze(value, secret=secret or is_secret(str(name))))
            for name, value in data.items()
        )
    if isinstance(data, list | tuple):
        return tuple(_freeze(each, secret=secret) for each in data)
    if not isinstance(data, str):
        return data
    is_hidden = isinstance(data, Substituted) and any(map(is_secret, data.node.variables))
    return SecretStr(str(data)) if secret or is_hidden else str(data)


def mapped(data: object, change: Callable[[object], object]) -> object:
    """Return plain mappings and lists with every other value changed."""
    if isinstance(data, Mapping):
        return {name: mapped(value, change) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [mapped(each, change) for each in data]
    return change(data)


def thawed(data: object) -> Any:  # noqa: ANN401 (whatever a constructor takes)
    """Return plain mappings and lists with the values of secrets, for constructors."""
    return mapped(data, lambda v: v.get_secret_value() if isinstance(v, SecretStr) else v)


Options = Annotated[Mapping[str, object], AfterValidator(_freeze)]
"""Any keys and values. A text under a name such as `api_key`, or from a variable with such a name,
is a `SecretStr`."""
Secrets = Annotated[Mapping[str, SecretStr], AfterValidator(FrozenMapping)]
"""Names and values, every value a secret."""
Name = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


def one_edit_apart(one: str, other: str) -> bool:
    """Return whether one letter added, removed, replaced or swapped makes one name of another.

    Example:
        >>> [one_edit_apart("window", name) for name in ("windw", "widnow", "window", "top_k")]
        [True, True, False, False]
    """
    pairs = enumerate(zip(f"{one}\0", f"{other}\0", strict=False))
    start = next((k for k, (a, b) in pairs if a != b), 0)
    rest, of = one[start:], other[start:]
    edits = rest[1:] == of[1:], rest[1:] == of, rest == of[1:], rest[1::-1] + rest[2:] == of
    return one != other and any(edits)


def nearly(name: str, known: Iterable[str]) -> str | None:
    """Return the valid name for a mistyped one: one edit away, or in camel case.

    Example:
        >>> nearly("widnow", ["window"]), nearly("maxOutput", ["max_output"]), nearly("n", ["m_n"])
        ('window', 'max_output', None)
    """
    snake = _CAMEL.sub("_", name).lower()
    return next((each for each in known if snake == each or one_edit_apart(name, each)), None)


def is_owner(name: str) -> bool:
    r"""Return whether a text can name an owner: at most 255 characters, all of them printable.

    Other characters separate names in storage and in logs.

    Example:
        >>> [is_owner(name) for name in ("ada", "auth0|Zoë Ng", "", " ", "ada\x1fbob", "\ud800")]
        [True, True, False, False, False, False]
    """
    return bool(name.strip()) and len(name) <= _LONGEST_OWNER and name.isprintable()


def _validate_owner(owner: str) -> str:
    if not is_owner(owner):
        fix = f"write {_LONGEST_OWNER} characters at most, all of them printable"
        refuse(f"no owner can be named {owner[:40]!a}", fix)
    return owner


Owner = Annotated[Name, AfterValidator(_validate_owner)]
"""The owner of threads, memory and files."""


def _validate_import(use: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", use):
        refuse(f"{use!r} is not an importable name", "write module:attribute, such as json:dumps")
    return use


Import = Annotated[str, AfterValidator(_validate_import)]
"""The name of an object to import: `package.module:attribute`."""


def _validate_secret(secret: SecretStr) -> SecretStr:
    value = secret.get_secret_value()
    if not value.strip():
        refuse("it is empty", "write it, or a variable such as $MY_KEY")
    if MASK in value:
        refuse("it is the mask that replaces a secret in output", "write the secret itself")
    return secret


Secret = Annotated[SecretStr, AfterValidator(_validate_secret)]
"""A text that is never shown."""


def _have_distinct_names(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    refuse_repeated([part.name for part in parts], "name", "use a different name for each")
    return parts


Distinct = Annotated[tuple[V, ...], AfterValidator(_have_distinct_names)]
"""Parts with a `name`, of which no two have the same."""


def refuse_repeated(values: Sequence[object], key: str, fix: str) -> None:
    """Raise the error of the first value that the `key` of an earlier part has as well."""
    for index, value in enumerate(values):
        first = values.index(value)
        if first != index:
            shown = f" {value!r}" if isinstance(value, str) else ""
            problem = f"the {key}{shown} is used twice"
            refuse(problem, fix, key=(index, key), conflicting_key=(first, key))


@dataclass(frozen=True, slots=True)
class UnsetVariable:
    """A variable that a file refers to and the environment does not have."""

    position: Position = field(compare=False)
    """Of the reference; a line added above it changes no setting."""
    name: str

    @property
    def error(self) -> SettingsError:
        """The error of its use."""
        default = "" if is_secret(self.name) else f", or write ${{{self.name}:-default}}"
        return self.position.error(f"the variable {self.name} is not set", f"set it{default}")


class Deferred(SettingsSection):
    """A section whose variables must be set only when it is used."""

    _unset: tuple[UnsetVariable, ...] = PrivateAttr(default=())

    @property
    def unset(self) -> tuple[UnsetVariable, ...]:
        """Variables that are not set; their keys hold the reference as written."""
        return self._unset

    @model_validator(mode="wrap")
    @classmethod
    def _note_unset(cls, data: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        section = handler(data)
        unset: list[UnsetVariable] = []

        def note(value: object) -> None:
            if isinstance(value, Substituted):
                unset.extend(UnsetVariable(value.node.position, n) for n in value.node.unset)

        if isinstance(data, Mapping):
            mapped(data, note)
            section._unset = tuple(unset)  # noqa: SLF001 (it was just made)
        return section

    def ready(self) -> Self:
        """Return the section itself, for use.

        Raises:
            SettingsError: A variable that it refers to is not set.
        """
        if self._unset:
            raise SettingsError.of(each.error for each in self._unset)
        return self


class Open(Deferred):
    """A section that accepts unknown keys: they become its `options`."""

    KNOWN_KEYS: ClassVar[frozenset[str]] = frozenset()
    """Other keys that are valid although they look like a typing mistake."""

    @model_validator(mode="before")
    @classmethod
    def _validate_keys(cls, data: object) -> object:
        if not isinstance(data, Mapping):
            return data
        known = {name: value for name, value in data.items() if name in cls.model_fields}
        others = {str(name): value for name, value in data.items() if name not in cls.model_fields}
        for name in others:
            meant = None if name in cls.KNOWN_KEYS else nearly(name, cls.model_fields)
            if meant:
                refuse(f"there is no setting {name!r}", f"did you mean {meant!r}?", key=name)
        listed = known.get("options") or {}
        if others and isinstance(listed, Mapping):
            known["options"] = {**listed, **others}
        return known
