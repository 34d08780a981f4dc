"""Command lines of `thalweg` in the documentation, held against the program's own parser."""

import shlex
from collections.abc import Iterator
from pkgutil import resolve_name
from typing import Any, cast

from typer import Typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from thalweg.cli.plugins import installed_commands
from thalweg.errors import ConfigError
from thalweg_recorder.cli import record

COMMANDS = installed_commands()
Node = TyperCommand | TyperGroup
_ENDS = {"|", "&&", "||", ";", ">", "<", "&"}


def command_lines(code: str) -> Iterator[list[str]]:
    """Return the arguments of each call of `thalweg` in a block of shell commands."""
    for line in code.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if word not in _ENDS:
                words.append(word)
                continue
            yield from _calls(words)
            words = []


def _calls(words: list[str]) -> Iterator[list[str]]:
    names = [
        place
        for place, word in enumerate(words)
        if word.rpartition("/")[2] == "thalweg"
        and not word.endswith("packages/thalweg")
        and "://" not in word
    ]
    starts = [place for place in names if words[place - 1] not in {"--from", "add", "install"}]
    if starts:
        yield words[starts[-1] + 1 :]


def find_mistake(words: list[str]) -> str:
    """Return what is wrong with the arguments of a call of `thalweg`; empty if nothing is."""
    if not words or words[0] in {"--help", "--version"}:
        return ""
    if words[0] not in COMMANDS:
        return f"there is no command {words[0]!r}"
    place = COMMANDS[words[0]].place
    if words[0] == "record" and words[1:]:
        words = words[1:]
        if words[0] not in record.COMMANDS:
            return f"there is no command record {words[0]!r}"
        place = record.COMMANDS[words[0]][0]
    command = resolve_name(place)
    if isinstance(command, Typer):
        return _mistake_of_typer(cast("Node", get_command(command)), words[1:])
    try:
        command.parse(words[1:], words[0])
    except ConfigError as error:
        return str(error)
    return ""


def _mistake_of_typer(command: Node, rest: list[str]) -> str:
    while isinstance(command, TyperGroup):
        rest, missing = _without_options(command, rest)
        if missing or not rest:
            return missing
        found = command.get_command(command.context_class(command), rest[0])
        if found is None:
            return f"there is no command {rest[0]!r}"
        command, rest = cast("Node", found), rest[1:]
    places, mistake = _split(command, rest)
    return mistake or _wrong_places(command, places)


def _without_options(group: TyperGroup, words: list[str]) -> tuple[list[str], str]:
    """Skip the options of a group, which are before the name of the command."""
    for place, word in enumerate(words):
        if not word.startswith("-") and (place == 0 or words[place - 1] not in _with_value(group)):
            return words[place:], _split(group, words[:place])[1]
    return [], _split(group, words)[1]


def _options(command: Node) -> dict[str, Any]:
    params = command.get_params(command.context_class(command))
    found = [param for param in params if param.param_type_name == "option"]
    return {name: option for option in found for name in (*option.opts, *option.secondary_opts)}


def _with_value(command: Node) -> set[str]:
    return {name for name, option in _options(command).items() if not option.is_flag}


def _split(command: Node, words: list[str]) -> tuple[list[str], str]:
    """Return the words that are not options, and what is wrong with an option."""
    options, with_value, places = _options(command), _with_value(command), list[str]()
    rest = iter(words)
    for word in rest:
        name, _, value = word.partition("=")
        if not name.startswith("-"):
            places.append(word)
        elif name not in options:
            return places, f"{command.name} has no option {name}"
        elif name in with_value and not value and next(rest, None) is None:
            return places, f"{name} needs a value"
    return places, ""


def _wrong_places(command: Node, places: list[str]) -> str:
    expected = [param for param in command.params if param.param_type_name == "argument"]
    if len(places) > len(expected) and all(one.nargs >= 0 for one in expected):
        return f"{command.name} takes {len(expected)} arguments: {' '.join(places)}"
    missing = [one.name for one in expected[len(places) :] if one.required]
    return f"{command.name} needs {' '.join(missing)}" if missing else ""
