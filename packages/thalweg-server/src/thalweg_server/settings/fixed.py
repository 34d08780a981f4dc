"""Keys and values that no section describes: frozen, with secrets in them."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import AfterValidator, SecretStr

_SECRET = re.compile(
    r"(?:^|[_-])(?:api_?key|key|token|secret|password|passwd|passphrase|credentials?|auth"
    r"|authorization|cookie|signature)$"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECRET_BELOW = re.compile(r"(?:^|[_-])(?:headers|credentials|secrets)$")


def is_secret(name: str) -> bool:
    """Return whether a name is that of a secret.

    Example:
        >>> [is_secret(name) for name in ("gemini_api_key", "X-Auth-Token", "max_tokens", "top_k")]
        [True, True, False, False]
    """
    return bool(_SECRET.search(name.lower().replace("-", "_")))


V = TypeVar("V")


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


def fix(given: object, *, secret: bool = False) -> object:
    """Freeze a value of a file; a text whose key names a secret becomes one.

    Args:
        given: Mappings, lists and scalars.
        secret: Whether every text in it is a secret.
    """
    if isinstance(given, Mapping):
        named = {str(name): value for name, value in given.items()}
        return FrozenMapping(
            (name, fix(value, secret=secret or is_secret(name) or hides_all(name)))
            for name, value in named.items()
        )
    if isinstance(given, list | tuple):
        return tuple(fix(each, secret=secret) for each in given)
    return SecretStr(given) if secret and isinstance(given, str) else given


def hides_all(name: str) -> bool:
    """Return whether every value below a name is a secret."""
    return bool(_SECRET_BELOW.search(name.lower()))


def mapped(given: object, change: Callable[[object], object]) -> object:
    """Return plain mappings and lists with every other value changed."""
    if isinstance(given, Mapping):
        return {name: mapped(value, change) for name, value in given.items()}
    if isinstance(given, list | tuple):
        return [mapped(each, change) for each in given]
    return change(given)


def thawed(given: object) -> object:
    """Return plain mappings and lists with the values of secrets, for constructors."""
    return mapped(given, lambda v: v.get_secret_value() if isinstance(v, SecretStr) else v)


Options = Annotated[Mapping[str, object], AfterValidator(fix)]
"""Any keys and values. A text under a name such as `api_key` is a `SecretStr`."""
Secrets = Annotated[Mapping[str, SecretStr], AfterValidator(FrozenMapping)]
"""Names and values, every value a secret."""


def one_edit_apart(one: str, other: str) -> bool:
    """Return whether one letter added, removed, replaced or swapped makes one name of another.

    Example:
        >>> [one_edit_apart("window", name) for name in ("windw", "widnow", "window", "top_k")]
        [True, True, False, False]
    """
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    start = next(
        (k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    rest, of = one[start:], other[start:]
    swapped = rest[1::-1] + rest[2:] if len(rest) > 1 else ""
    return rest[1:] == of[1:] or rest[1:] == of or rest == of[1:] or swapped == of


def nearly(name: str, known: Iterable[str]) -> str | None:
    """Return the valid name for a mistyped one: one edit away, or in camel case.

    Example:
        >>> nearly("widnow", ["window"]), nearly("maxOutput", ["max_output"]), nearly("n", ["m_n"])
        ('window', 'max_output', None)
    """
    snake = _CAMEL.sub("_", name).lower()
    return next((each for each in known if snake == each or one_edit_apart(name, each)), None)
