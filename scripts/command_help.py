"""The reference of the command line: the help of every command, from the program itself."""

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from unittest.mock import patch

from thalweg.cli import main

_COMMAND = re.compile(r"^  ([a-z][\w-]*)  ", re.MULTILINE)
_FIRST = re.compile(r"^  (-.*?)(?:  |$)", re.MULTILINE)
_OPTION = re.compile(r"--[a-z][\w-]*")


def command_help(*words: str) -> str:
    """Return what a command prints for `--help`."""
    output = io.StringIO()
    with (
        patch.object(sys, "argv", ["thalweg", *words, "--help"]),
        patch.dict(os.environ, COLUMNS="80"),
        redirect_stdout(output),
        suppress(SystemExit),
    ):
        main()
    return output.getvalue()


def every_help(*words: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield a command by its words with its help, then the commands below it."""
    text = command_help(*words)
    yield words, text
    for name in _COMMAND.findall(text.partition("\nCommands:\n")[2]):
        yield from every_help(*words, name)


def has_commands(text: str) -> bool:
    """Return whether a help lists commands."""
    return "\nCommands:\n" in text


def options(text: str) -> list[str]:
    r"""Return the options that a help lists besides `--help`; of `--on / --off` the first one.

    Example:
        >>> options("  -h, --help  Help.\n  --on / --off  Not --this.\n  -m, --model NAME  M.\n")
        ['--model', '--on']
    """
    named = (name for first in _FIRST.findall(text) for name in _OPTION.findall(first)[:1])
    return sorted({*named} - {"--help"})


def cli_page() -> str:
    """Return the reference of the command line, from the program's own help."""
    lines = list[str]()
    for words, text in every_help():
        lines += [f"## {' '.join(('thalweg', *words))}", "", "```text", text.strip(), "```", ""]
    return "\n".join(["# Command line", "", *lines])
