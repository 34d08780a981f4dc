"""Names of a package that are imported when they are used: LangChain alone takes seconds."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from thalweg.engine.extras import missing_extra


def lazily(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the `__getattr__` and `__dir__` of a package.

    Args:
        package: Its `__name__`.
        homes: The module of each name.

    Example:
        >>> find, names = lazily("shapes", {"sqrt": "math"})
        >>> find("sqrt")(9.0), names()
        (3.0, ['sqrt'])
        >>> find("sqr")
        Traceback (most recent call last):
        AttributeError: module 'shapes' has no attribute 'sqr'
    """

    def find(name: str) -> Any:  # noqa: ANN401 (whatever is asked for)
        if name not in homes:
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg)
        try:
            return getattr(import_module(homes[name]), name)
        except ModuleNotFoundError as error:
            raise missing_extra(error, f"{package}.{name}") or error from None

    return find, lambda: sorted(homes)
