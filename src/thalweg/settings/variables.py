"""`$VAR`, `${VAR}` and `${VAR:-default}` in texts, from the environment; `$$` is a dollar."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from thalweg.errors import SettingsError
from thalweg.settings.nodes import Node

_REFERENCE = re.compile(
    r"\$(?:(?P<dollar>\$)|(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[^{}]*)(?P<end>\}?))", re.ASCII
)
_INSIDE = re.compile(r"([A-Za-z_]\w*)(?::-(.*))?", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Filled:
    """A text with its variables put in."""

    text: str
    variables: tuple[str, ...]
    unset: tuple[str, ...]
    problem: str = ""
    """What is wrong with a reference; empty when nothing is."""


def filled(text: str, environ: Mapping[str, str]) -> Filled:
    """Put variables into a text.

    A variable that is empty is as one that is not set.

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
    return Filled(done, tuple(dict.fromkeys(variables)), tuple(dict.fromkeys(unset)), problem)


def escaped(text: str) -> str:
    """Write a text so that it is read as it is.

    Example:
        >>> escaped("costs $5 or $HOME"), filled(escaped("$HOME"), {}).text
        ('costs $$5 or $$HOME', '$HOME')
    """
    return text.replace("$", "$$")


def fill(node: Node, environ: Mapping[str, str]) -> tuple[Node, tuple[SettingsError, ...]]:
    """Put variables into every text of a file.

    Returns:
        The file; and references that cannot be read. What is not set is noted in its node.
    """
    if isinstance(node.value, str):
        found = filled(node.value, environ)
        changed = replace(
            node,
            value=found.text,
            written=node.value if found.variables else "",
            variables=found.variables,
            unset=found.unset,
        )
        if not found.problem:
            return changed, ()
        mend = "write ${NAME} or ${NAME:-default}, and $$ for a dollar"
        place = node.place
        return changed, (SettingsError(place.file, place.line, place.key, found.problem, mend),)
    if isinstance(node.value, Mapping):
        below = {key: fill(child, environ) for key, child in node.keys.items()}
        problems = tuple(problem for _, said in below.values() for problem in said)
        return replace(node, value={key: child for key, (child, _) in below.items()}), problems
    items = [fill(child, environ) for child in node.items]
    if not items:
        return node, ()
    problems = tuple(problem for _, said in items for problem in said)
    return replace(node, value=tuple(child for child, _ in items)), problems
