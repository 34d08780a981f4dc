"""`$VAR`, `${VAR}` and `${VAR:-default}` in texts, from the environment; `$$` is a dollar."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from thalweg.errors import SettingsError
from thalweg_server.settings.nodes import Node

_REFERENCE = re.compile(
    r"\$(?:(?P<dollar>\$)|(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[^{}]*)(?P<end>\}?))", re.ASCII
)
_INSIDE = re.compile(r"([A-Za-z_]\w*)(?::-(.*))?", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True)
class SubstitutedText:
    """A text with its variables substituted."""

    text: str
    variables: tuple[str, ...]
    unset: tuple[str, ...]
    problem: str = ""
    """The error of a reference; empty if there is none."""


def filled(text: str, environ: Mapping[str, str]) -> SubstitutedText:
    """Substitute variables in a text. An empty variable counts as not set.

    Example:
        >>> filled("${HOST:-localhost}:$PORT, 5$$, $5", {"PORT": "80"}).text
        'localhost:80, 5$, $5'
    """
    variables: list[str] = []
    unset: list[str] = []
    problems: list[str] = []

    def put(match: re.Match[str]) -> str:
        if match["dollar"]:
            return "$"
        name, default = match["plain"], None
        if name is None:
            inside = _INSIDE.fullmatch(match["braced"])
            if inside is None or not match["end"]:
                problems.append(match[0])
                return match[0]
            name, default = inside[1], inside[2]
        variables.append(name)
        value = environ.get(name) or default
        if value is None:
            unset.append(name)
            return match[0]
        return value

    put_in = _REFERENCE.sub(put, text)
    problem = f"{problems[0]!r} is no variable" if problems else ""
    # Half a text would be neither what was written nor what was meant.
    done = text if unset or problem else put_in
    return SubstitutedText(
        done, tuple(dict.fromkeys(variables)), tuple(dict.fromkeys(unset)), problem
    )


def escaped(text: str) -> str:
    """Escape a text so that no part of it is read as a variable.

    Example:
        >>> escaped("costs $5 or $HOME"), filled(escaped("$HOME"), {}).text
        ('costs $$5 or $$HOME', '$HOME')
    """
    return text.replace("$", "$$")


def fill(root: Node, environ: Mapping[str, str]) -> tuple[Node, tuple[SettingsError, ...]]:
    """Substitute the variables in every text of a file.

    Returns:
        The file, and an error for each reference that cannot be parsed. Variables that are not
        set are listed in their nodes.
    """
    problems: list[SettingsError] = []

    def change(node: Node) -> Node:
        if not isinstance(node.value, str):
            return node
        found = filled(node.value, environ)
        if found.problem:
            fix = "write ${NAME} or ${NAME:-default}, and $$ for a dollar"
            problems.append(node.place.error(found.problem, fix))
        written = node.value if found.variables else ""
        return Node(found.text, node.place, written, found.variables, found.unset)

    return root.mapped(change), tuple(problems)
