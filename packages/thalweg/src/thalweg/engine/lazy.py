"""Names of a package that are imported when they are used: LangChain alone takes seconds."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from thalweg.engine.extras import missing_extra


def lazy_exports(
    package: str, module_by_name: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the `__getattr__` and `__dir__` of a package.

    Args:
        package: Its `__name__`.
        module_by_name: The module of each name.

    Example:
        >>> find, names = lazy_exports("shapes", {"sqrt": "math"})
        >>> find("sqrt")(9.0), names()
        (3.0, ['sqrt'])
        >>> find("sqr")
        Traceback (most recent call last):
        AttributeError: module 'shapes' has no attribute 'sqr'
    """

    def find(name: str) -> Any:  # noqa: ANN401 (whatever is asked for)
        if name not in module_by_name:
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg)
        try:
            return getattr(import_module(module_by_name[name]), name)
        except ModuleNotFoundError as error:
            raise missing_extra(error, f"{package}.{name}") or error from None

    return find, lambda: sorted(module_by_name)
