"""Imports of the objects that the settings name as `module:attribute`."""

from importlib import import_module

from thalweg.errors import ConfigError


def import_named(use: str, where: str) -> object:
    """Import an attribute of a module.

    Args:
        use: `module:attribute`, as the settings checked it.
        where: The setting, for the error.

    Raises:
        ConfigError: There is no such module or attribute.
    """
    place, _, attribute = use.partition(":")
    try:
        found: object = import_module(place)
    except ImportError as error:
        fix = "check its name, or install its package"
        problem = f"{place} cannot be imported ({error})"
        raise ConfigError(where, problem, fix) from error
    for name in attribute.split("."):
        found = getattr(found, name, None)
    if found is None:
        raise ConfigError(where, f"{place} has no {attribute}", "check its name")
    return found
