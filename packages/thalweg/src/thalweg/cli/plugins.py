"""What installed packages add by entry points: commands, and tables in PostgreSQL.

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

COMMANDS = "thalweg.commands"
"""Group of the tables of commands: a mapping from a name to its place and its line of the help."""
TABLES = "thalweg.tables"
"""Group of functions that create a package's tables in PostgreSQL: from an address to sentences."""
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
    table: str
    """Name of the entry point that lists it: one for each product."""
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
            if _is_of_extra(error):
                raise
            problem = f"{self.place} cannot be imported ({describe(error)})"
            raise ConfigError(self.name, problem, _fix(self.package)) from error
        return command(arguments, prog_name=prog_name) or 0


def write_warning(sentence: str) -> None:
    """Write a line to stderr."""
    sys.stderr.write(f"thalweg: {sentence}\n")


def installed_commands(report: ErrorHandler = write_warning) -> dict[str, InstalledCommand]:
    """Return the commands of all installed packages by name, in the order of the help.

    Packages are in the order of their names, commands in the order of their tables. Of two with the
    same name, the first one is returned, and the other one reported.
    """
    found: dict[str, InstalledCommand] = {}
    for table in load_plugins(COMMANDS, _read_table, report):
        for command in table:
            first = found.setdefault(command.name, command)
            if first is not command:
                report(
                    f"the command {command.name!r} of {command.package} is ignored: "
                    f"{first.package} has one of this name; uninstall one of them"
                )
    return found


def load_plugins(
    group: str, read: Callable[[EntryPoint, Any], Value], report: ErrorHandler = write_warning
) -> Iterator[Value]:
    """Load the entry points of a group, in the order of the names of their distributions.

    Args:
        group: Name of the group.
        read: Validates the object that an entry point names; it may raise any error.
        report: Receives a sentence about each entry point that cannot be loaded.
    """
    for point in sorted(entry_points(group=group), key=lambda one: (package_of(one), one.name)):
        try:
            value = read(point, point.load())
        except (Exception, SystemExit) as error:  # noqa: BLE001 (code of other packages)
            package = package_of(point)
            what = f"{package}: its entry point {point.name!r} in the group {group}"
            report(f"{what} cannot be loaded ({describe(error)}); {_fix(package)}")
        else:
            yield value


def package_of(point: EntryPoint) -> str:
    """Return the name of the distribution of an entry point."""
    return str(point.dist.name) if point.dist else ""


def describe(error: BaseException) -> str:
    """Return the type and the message of an error on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def _fix(package: str) -> str:
    return f"reinstall {package} with what it requires, or uninstall it"


def _is_of_extra(error: Exception) -> bool:
    from thalweg.engine.extras import extra_of  # noqa: PLC0415 (seldom needed)

    return isinstance(error, ModuleNotFoundError) and bool(extra_of(error.name or ""))


def _read_table(point: EntryPoint, table: Any) -> list[InstalledCommand]:  # noqa: ANN401
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
                table=point.name,
                package=package_of(point),
            )
        )
    return commands
