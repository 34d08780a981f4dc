"""What installed packages add by entry points: commands, tables in PostgreSQL, data of owners.

An entry point that cannot be loaded is reported on stderr and skipped: it never stops the others.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pkgutil import resolve_name
from typing import Any, TypeVar

from thalweg.errors import ConfigError

Value = TypeVar("Value")

COMMANDS_GROUP = "thalweg.commands"
"""Group of the tables of commands: a mapping from a name to its place and its line of the help."""
TABLES_GROUP = "thalweg.tables"
"""Group of functions that create a package's tables in PostgreSQL at an address, and report it."""
OWNERS_GROUP = "thalweg.owners"
"""Group of functions that delete a package's data of an owner: `(address, owner, *, dry_run)`.

Each returns lines: counts of the data, or after the deletion the places that may have copies."""
ErrorHandler = Callable[[str], None]
"""Receives a sentence about an entry point that is skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledCommand:
    """A command of an installed package."""

    name: str
    place: str
    """`module:function`. The function takes the arguments, and `prog_name` for its help; it returns
    an exit code, or raises `SystemExit`."""
    short_help: str
    """Its line of the help; without one it is not listed."""
    package: str
    """The distribution of that entry point."""

    def run(self, arguments: list[str]) -> int:
        """Import the command, call it and return its exit code.

        Raises:
            ConfigError: Its module or function is missing.
        """
        prog_name = f"thalweg {self.name}"
        try:
            command = resolve_name(self.place)
        except (AttributeError, ImportError) as error:
            if _is_extra_missing(error):
                raise
            problem = f"{self.place} cannot be imported ({describe(error)})"
            raise ConfigError(self.name, problem, _reinstall_hint(self.package)) from error
        return command(arguments, prog_name=prog_name) or 0


def write_warning(sentence: str) -> None:
    """Write a line to stderr."""
    sys.stderr.write(f"thalweg: {sentence}\n")


def installed_commands(report: ErrorHandler = write_warning) -> dict[str, InstalledCommand]:
    """Return the commands of all installed packages by name, in the order of the help.

    Packages are in the order of their names, commands in the order of their tables. Of two with the
    same name, the first one is returned, and the other one reported.
    """
    commands: dict[str, InstalledCommand] = {}
    for table in load_plugins(COMMANDS_GROUP, _read_table, report):
        for command in table:
            first = commands.setdefault(command.name, command)
            if first is not command:
                report(
                    f"the command {command.name!r} of {command.package} is ignored: "
                    f"{first.package} has one of this name; uninstall one of them"
                )
    return commands


def load_plugins(
    group: str, validate: Callable[[EntryPoint, Any], Value], report: ErrorHandler = write_warning
) -> Iterator[Value]:
    """Load the entry points of a group, in the order of the names of their distributions.

    Args:
        group: Name of the group.
        validate: Validates the object that an entry point names; it may raise any error.
        report: Receives a sentence about each entry point that cannot be loaded.
    """
    for entry_point in sorted(
        entry_points(group=group), key=lambda candidate: (package_of(candidate), candidate.name)
    ):
        try:
            value = validate(entry_point, entry_point.load())
        except (Exception, SystemExit) as error:  # noqa: BLE001 (code of other packages)
            package = package_of(entry_point)
            subject = f"{package}: its entry point {entry_point.name!r} in the group {group}"
            report(f"{subject} cannot be loaded ({describe(error)}); {_reinstall_hint(package)}")
        else:
            yield value


def package_of(entry_point: EntryPoint) -> str:
    """Return the name of the distribution of an entry point."""
    return str(entry_point.dist.name) if entry_point.dist else ""


def describe(error: BaseException) -> str:
    """Return the type and the message of an error on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def _reinstall_hint(package: str) -> str:
    return f"reinstall {package} with what it requires, or uninstall it"


def _is_extra_missing(error: Exception) -> bool:
    from thalweg.engine.extras import extra_of  # noqa: PLC0415 (seldom needed)

    return isinstance(error, ModuleNotFoundError) and bool(extra_of(error.name or ""))


def _read_table(entry_point: EntryPoint, table: Any) -> list[InstalledCommand]:  # noqa: ANN401
    """Read the table of a package.

    Raises:
        Exception: It is not one.
    """
    commands = []
    for name, (place, short_help) in table.items():
        if not all(isinstance(text, str) for text in (name, place, short_help)):
            msg = f"a row of the table is not three texts: {name!r}"
            raise TypeError(msg)
        commands.append(
            InstalledCommand(
                name=name,
                place=place,
                short_help=short_help,
                package=package_of(entry_point),
            )
        )
    return commands
