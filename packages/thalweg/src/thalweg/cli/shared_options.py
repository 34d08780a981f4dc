"""What commands by typer share: options, and groups whose options precede or follow a name."""

from collections.abc import Callable, Collection, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup

from thalweg.cli import values
from thalweg.cli.printing import fold, print_result
from thalweg.errors import ConfigError

Config = Annotated[
    Path | None, typer.Option("--config", help="The settings, if not config.yaml here.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, with everything.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
_new_app = partial(
    typer.Typer, pretty_exceptions_enable=False, add_completion=False, rich_markup_mode=None
)
command_group = partial(_new_app, no_args_is_help=True)
"""Creates a group of commands."""


def single_command(function: Callable[..., object]) -> typer.Typer:
    """Make a command of a function, whose docstring is its help."""
    app = _new_app()
    app.command()(function)
    return app


def bounded(parameter: typer.CallbackParam, value: int | None) -> int | None:
    """Take a number that can be one of a turn, a position or a window, as a callback.

    Raises:
        ConfigError: It is beyond all of them.
    """
    name = parameter.opts[0]
    name = name if name.startswith("-") else name.upper()
    return None if value is None else values.bounded(name, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOptions:
    """Values of the options that a group shares."""

    as_json: bool = False


def wants_json(ctx: typer.Context) -> bool:
    """Return whether the result of a command is printed as JSON."""
    return ctx.ensure_object(GroupOptions).as_json


def respond(
    ctx: typer.Context, lines: Iterable[str], json_value: dict[str, Any], *, empty_message: str = ""
) -> None:
    """Print the result of a command, its lines folded; see `print_result`."""
    folded = (part for line in lines for part in fold(line))
    print_result(folded, json_value, as_json=wants_json(ctx), empty_message=empty_message)


class SharedOptions(TyperGroup):
    """A group whose own options may also follow the name of a command.

    The callback of the group makes `ctx.obj`, a `GroupOptions` with a field for each option, where
    commands read it. An option after the name of the command has precedence.
    """

    unused: ClassVar[Mapping[str, Collection[str]]] = {}
    """Options that a command does not take, by the name of the command."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401  # typer's own click
        """Return a command with the options of the group.

        Raises:
            ConfigError: An option of the group is set that the command does not take.
        """
        command = super().get_command(ctx, cmd_name)
        if command is None:
            return None
        unused = self.unused.get(cmd_name, ())
        for option in self.params:
            if option.name in unused:
                if _is_given(ctx, option):
                    raise ConfigError(
                        option.opts[0], f"{cmd_name} has no such option", "leave it out"
                    )
            elif all(option.name != other.name for other in command.params):
                command.params.append(_option_after_name(option))
        return command


def _option_after_name(option: Any) -> Any:  # noqa: ANN401  # typer's own click
    """Return a copy of an option that replaces the group's value if it is set."""
    copied = copy(option)
    copied.expose_value = False
    copied.callback = _replace
    return copied


def _replace(ctx: Any, option: Any, value: object) -> object:  # noqa: ANN401  # typer's own click
    if _is_given(ctx, option):
        ctx.obj = replace(ctx.obj, **{option.name: value})
    return value


def _is_given(ctx: Any, option: Any) -> bool:  # noqa: ANN401  # typer's own click
    source = ctx.get_parameter_source(option.name)
    return source is not None and source.name == "COMMANDLINE"
