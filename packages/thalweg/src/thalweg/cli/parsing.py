"""Commands by argparse: arguments, options of a group, and errors in one sentence."""

import sys
from abc import ABC, abstractmethod
from argparse import REMAINDER, SUPPRESS, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from inspect import getdoc
from shutil import get_terminal_size
from textwrap import fill
from typing import Any, NoReturn

from thalweg.errors import ConfigError

Perform = Callable[[Namespace], int | None]
"""Performs a command with its parsed arguments; returns an exit code."""
_MAX_WIDTH = 80


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument or option of a command; see `ArgumentParser.add_argument`."""

    names: tuple[str, ...]
    settings: Mapping[str, Any]

    @property
    def dest(self) -> str:
        """Name of its value."""
        return str(self.settings.get("dest") or self.names[0].lstrip("-").replace("-", "_"))

    def add(self, parser: ArgumentParser) -> None:
        """Add it to a parser."""
        parser.add_argument(*self.names, **self.settings)


def argument(*names: str, **settings: Any) -> Argument:  # noqa: ANN401 (those of argparse)
    """Describe an argument with the parameters of `ArgumentParser.add_argument`."""
    return Argument(names, settings)


AS_JSON = argument(
    "--json", dest="as_json", action="store_true", help="Print JSON, with everything."
)


def parse(
    parser: ArgumentParser, arguments: Sequence[str], namespace: Namespace | None = None
) -> Namespace:
    """Parse arguments and options in any order, and add them to values parsed before."""
    if "--" in arguments:  # which the other method drops, and takes what follows for options
        return parser.parse_args(arguments, namespace)
    return parser.parse_intermixed_args(arguments, namespace)


class CommandParser(ArgumentParser):
    """A parser whose errors are `ConfigError`.

    Args:
        prog_name: The name that was typed to call the command.
        about: Paragraphs that the help begins with.
        commands: Commands with one line each by their heading, at the end of the help; `None`
            for a command without subcommands.
    """

    def __init__(
        self,
        prog_name: str,
        about: str,
        commands: Mapping[str, Sequence[tuple[str, str]]] | None = None,
    ) -> None:
        width = min(get_terminal_size().columns, _MAX_WIDTH) - 2
        super().__init__(
            prog=prog_name,
            usage=None if commands is None else f"{prog_name} [options] COMMAND ...",
            description="\n\n".join(
                fill(" ".join(part.split()), width) for part in about.split("\n\n")
            ),
            epilog=None if commands is None else _command_list(commands),
            formatter_class=lambda prog: RawDescriptionHelpFormatter(prog, width=width),
            allow_abbrev=False,
        )
        if commands is not None:
            self.add_argument("command", nargs="?", help=SUPPRESS)
            self.add_argument("arguments", nargs=REMAINDER, help=SUPPRESS)

    def error(self, message: str) -> NoReturn:
        """Raise the error of an argument.

        Raises:
            ConfigError: Always.
        """
        subject = self.prog.partition(" ")[2] or "options"
        raise ConfigError(subject, message, f"see {self.prog} --help")

    def print_missing(self) -> int:
        """Print the help to stderr if no command is named; return the exit code."""
        self.print_help(sys.stderr)
        return 2

    def unknown(self, name: str, known: Collection[str]) -> ConfigError:
        """Return the error for a command that does not exist."""
        from thalweg.engine.sections import name_remedy  # noqa: PLC0415 (loads pydantic)

        fix = name_remedy(name, tuple(known), f"see {self.prog} --help")
        subject = f"{self.prog} {name}".partition(" ")[2]
        return ConfigError(subject, "there is no such command", fix)


def _command_list(groups: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    width = max((len(name) for group in groups.values() for name, _ in group), default=0)
    text = "Commands:\n"
    for heading, group in groups.items():
        text += f"\n {heading}\n" if heading else ""
        text += "".join(f"  {name:<{width}}  {about}\n" for name, about in group)
    return text.removesuffix("\n") if any(groups.values()) else text


class Command(ABC):
    """A command by argparse, as the plug-in point calls it."""

    @abstractmethod
    def parse(self, arguments: Sequence[str], prog_name: str) -> tuple[Perform, Namespace]:
        """Return the function that arguments select, and its parsed arguments.

        Raises:
            ConfigError: There is no such command, or an argument is invalid.
        """

    def __call__(self, arguments: Sequence[str], *, prog_name: str) -> int | None:
        """Parse arguments and perform the command; return its exit code.

        Raises:
            ConfigError: See `parse`.
        """
        perform, options = self.parse(arguments, prog_name)
        return perform(options)


@dataclass(frozen=True, slots=True)
class SingleCommand(Command):
    """A command without commands below it."""

    perform: Perform
    declared: tuple[Argument, ...]

    def parse(self, arguments: Sequence[str], prog_name: str) -> tuple[Perform, Namespace]:
        """See `Command.parse`."""
        return self.perform, parse(self.parser(prog_name), arguments)

    def parser(self, prog_name: str) -> CommandParser:
        """Return the parser of the command."""
        parser = CommandParser(prog_name, getdoc(self.perform) or "")
        for option in self.declared:
            option.add(parser)
        return parser


def single_command(*declared: Argument) -> Callable[[Perform], SingleCommand]:
    """Make a command of a function, whose docstring is its help."""
    return lambda perform: SingleCommand(perform, declared)


@dataclass(frozen=True, slots=True)
class _GroupedCommand:
    short_help: str
    command: SingleCommand
    unused: Collection[str]


class CommandGroup(Command):
    """Commands below one name, with options that may precede or follow the name of a command.

    Args:
        about: What its help begins with.
        options: The options of the group.
    """

    def __init__(self, about: str, *options: Argument) -> None:
        self._about = about
        self._options = options
        self._commands: dict[str, _GroupedCommand] = {}

    def command(
        self, name: str, short_help: str, *declared: Argument, unused: Collection[str] = ()
    ) -> Callable[[Perform], Perform]:
        """Add a function as a command; its docstring is the help.

        Args:
            name: Name of the command.
            short_help: Its line in the help of the group.
            declared: Its arguments and options.
            unused: Options of the group that the command does not take.
        """

        def add(perform: Perform) -> Perform:
            single = SingleCommand(perform, declared)
            self._commands[name] = _GroupedCommand(short_help, single, unused)
            return perform

        return add

    def parse(self, arguments: Sequence[str], prog_name: str) -> tuple[Perform, Namespace]:
        """See `Command.parse`. Without the name of a command, the function prints the help."""
        help_lines = [(name, grouped.short_help) for name, grouped in self._commands.items()]
        parser = CommandParser(prog_name, self._about, {"": help_lines})
        for option in self._options:
            option.add(parser)
        options = parser.parse_args(arguments)
        if options.command is None:
            return lambda _: parser.print_missing(), options
        if (selected := self._commands.get(options.command)) is None:
            raise parser.unknown(options.command, self._commands)
        command_parser = selected.command.parser(f"{prog_name} {options.command}")
        for option in self._options:
            if option.names[0] not in selected.unused:
                option.add(command_parser)
            elif getattr(options, option.dest) != parser.get_default(option.dest):
                problem = f"{options.command} has no such option"
                raise ConfigError(option.names[0], problem, "leave it out")
        return selected.command.perform, parse(command_parser, options.arguments, options)
