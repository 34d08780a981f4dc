"""Namespaces of a store, each unique to an owner."""

import re
from typing import Final

Namespace = tuple[str, ...]

_COMPONENT: Final = re.compile(r"[A-Za-z0-9\-_.@+:~]+")


def as_kept(namespace: Namespace) -> Namespace:
    """Make a namespace of what stores take: they refuse a dot, and half the names have one.

    No component has a `%` of its own, so no two become the same.
    """
    return tuple(component.replace(".", "%2E") for component in namespace)


def validate_namespace(namespace: Namespace) -> Namespace:
    """Refuse a namespace that could mean others, too.

    Raises:
        ValueError: There is nothing in it, or in a component of it, or a character that
            stores or globs take to mean something.
        TypeError: A component is no text.
    """
    if not namespace:
        message = "Namespace tuple must not be empty."
        raise ValueError(message)
    for at, component in enumerate(namespace):
        _validate_component(at, component)
    return tuple(namespace)


def _validate_component(at: int, component: object) -> None:
    if not isinstance(component, str):
        message = (
            f"Namespace component at index {at} must be a string, got {type(component).__name__}."
        )
        raise TypeError(message)
    if not component:
        message = f"Namespace component at index {at} must not be empty."
        raise ValueError(message)
    if not _COMPONENT.fullmatch(component):
        message = (
            f"Namespace component at index {at} contains disallowed characters: {component!r}. "
            "Only alphanumeric characters, hyphens, underscores, dots, @, +, colons, and tildes "
            "are allowed."
        )
        raise ValueError(message)
