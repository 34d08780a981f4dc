"""Nodes into settings: all that is wrong is said at once, each with its place."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import SecretStr, ValidationError
from pydantic_core import ErrorDetails

from thalweg.errors import SettingsError
from thalweg.sections import in_words
from thalweg.settings.fixed import Fixed, hides_all, is_secret
from thalweg.settings.models import ModelSettings
from thalweg.settings.nodes import Node, Path
from thalweg.settings.parts import Deferred, Unset
from thalweg.settings.tools import ToolSettings
from thalweg.settings.whole import Settings

DEFERRED = ("models", "tools", "mcp_servers")
"""Sections whose parts need their variables only when they are used."""
_NEEDED_AT_ONCE = frozenset(("name", "use"))
_MOST_ROUNDS = 200


def is_private(path: Path) -> bool:
    """Tell whether what is at a path is never shown.

    Example:
        >>> is_private(("models", 0, "api_key")), is_private(("models", 0, "window"))
        (True, False)
    """
    if path[:2] == ("storage", "url"):
        return True
    if path[:2] == ("gateway", "keys"):
        return path[-1] != "owner"
    if path[:1] == ("mcp_servers",) and "env" in path[2:3]:
        return True
    if path[:2] == ("sandbox", "env"):
        return True
    names = [step for step in path if isinstance(step, str)]
    return any(map(hides_all, names)) or any(map(is_secret, names))


def checked(root: Node) -> tuple[Settings | None, tuple[SettingsError, ...]]:
    """Make settings of a file in shape.

    Whatever is wrong is said, left out, and the rest is looked at again: so a file has all its
    errors told at once.

    Returns:
        The settings, without what is wrong, and what that is. `None` where too much is wrong.
    """
    root = _hushed(root)
    problems: list[SettingsError] = []
    contradicted: set[str] = set()
    for _ in range(_MOST_ROUNDS):
        try:
            settings = Settings.model_validate(root.plain())
        except ValidationError as error:
            found = [_found(root, each) for each in error.errors(include_url=False)]
        else:
            return _with_unset(settings, root), tuple(problems)
        before = root
        # Where something was cut out, the default may be no better, or contradict what is left.
        told = {(each.key, each.problem) for each in problems}
        problems += [
            each.problem
            for each in found
            if not each.is_silent
            and each.problem.key not in contradicted
            and (each.problem.key, each.problem.problem) not in told
        ]
        contradicted |= {each.problem.key for each in found if each.is_contradiction}
        for path in sorted({each.cut for each in found if each.cut}, key=_from_the_end):
            root = root.cut(path)
        if root == before:
            break
    return None, tuple(problems)


def _hushed(root: Node) -> Node:
    """Make secrets of options that come from variables such as `$MY_TOKEN`."""
    for section, kind in (("models", ModelSettings), ("tools", ToolSettings)):
        node = root.keys.get(section)
        for index, part in enumerate(node.items if node is not None else ()):
            for key, value in part.keys.items():
                if key not in kind.model_fields or key == "options":
                    root = root.put((section, index, key), _hidden(value))
    return root


def _hidden(node: Node) -> Node:
    if isinstance(node.value, str) and any(map(is_secret, node.variables)):
        return replace(node, value=SecretStr(node.value))
    if isinstance(node.value, Mapping):
        return replace(node, value={k: _hidden(each) for k, each in node.keys.items()})
    if node.items:
        return replace(node, value=tuple(map(_hidden, node.items)))
    return node


def _from_the_end(path: Path) -> tuple[object, ...]:
    """Sort paths so that one that is cut moves none that is still to be."""
    return tuple((0, -step) if isinstance(step, int) else (1, step) for step in path)


@dataclass(frozen=True, slots=True)
class _Found:
    """Something that pydantic found."""

    problem: SettingsError
    cut: Path
    """What is left out so that the rest can be looked at; empty where nothing can be."""
    is_silent: bool
    """Whether nothing is said: `null` stands for what is not given."""
    is_contradiction: bool
    """Whether two settings are at fault."""


def _found(root: Node, error: ErrorDetails) -> _Found:
    node, path, rest = _walk(root, error)
    said = error.get("ctx", {})
    place = node.place
    key = ".".join((place.key, *rest)).strip(".") if rest else place.key
    private = is_private((*path, *rest))
    shown = repr(node.written) if node.variables else "what is written" if private else None
    worded = in_words("", {**error, "loc": ()}, shown=shown)
    problem = worded.problem
    if node.variables and isinstance(node.value, str):
        problem = problem.replace(node.value, node.written)
    cut = path[:-1] if error["type"] == "missing" and rest else path
    against = _beside(root, path, said["against"]) if said.get("against") else None
    if against is not None:
        problem += f" ({against.place.key} is in line {against.place.line})"
        cut = (*path, said["against"]) if rest else path
    mend = worded.mend
    if private and error["type"] == "string_type":
        problem, mend = "it is no text", "put it in quotes"
    return _Found(
        SettingsError(place.file, place.line, key, problem, mend),
        cut,
        is_silent=(node.value is None and not rest) or bool(node.unset),
        is_contradiction=bool(said.get("against")),
    )


def _walk(root: Node, error: ErrorDetails) -> tuple[Node, Path, tuple[str, ...]]:
    """Find what an error is about.

    Returns:
        The innermost value that is there, its path, and the keys below it that are not.
    """
    node = root
    path: Path = ()
    steps: list[str | int] = [*error["loc"]]
    key = error.get("ctx", {}).get("key")
    if key:
        steps.append(key)
    missing: list[str] = []
    for step in steps:
        child = node.child(step)
        if child is not None:
            node, path = child, (*path, step)
        elif step is steps[-1] and isinstance(step, str) and (key or error["type"] == "missing"):
            missing.append(step)
    if error["type"] == "missing":
        return node, (*path, *missing), tuple(missing)
    return node, path, tuple(missing)


def _beside(root: Node, path: Path, name: str) -> Node | None:
    """Find what a setting contradicts: a sibling, or what is below, where it is not given."""
    return root.find((*path[:-1], name)) or root.find((*path, name))


def _with_unset(settings: Settings, root: Node) -> Settings:
    """Note in models, tools and servers which of their variables are not set."""
    changed: dict[str, object] = {}
    for section in DEFERRED:
        parts = getattr(settings, section)
        nodes = root.keys.get(section)
        if nodes is None:
            continue
        if isinstance(parts, Mapping):
            changed[section] = Fixed(
                (name, part.lacking(unset_in(nodes.keys[name]))) for name, part in parts.items()
            )
        else:
            changed[section] = _noted(parts, nodes.items)
    return settings.model_copy(update=changed)


def _noted(parts: Sequence[Deferred], nodes: Sequence[Node]) -> tuple[Deferred, ...]:
    return tuple(part.lacking(unset_in(node)) for part, node in zip(parts, nodes, strict=True))


def unset_in(node: Node) -> tuple[Unset, ...]:
    """Give the variables below a node that are not set."""
    return tuple(
        Unset(each.place.file, each.place.line, each.place.key, variable)
        for _, each in node.walk()
        for variable in each.unset
    )


def unset_at_once(root: Node) -> Iterator[SettingsError]:
    """Say which variables are not set that are needed whatever is used."""
    for path, node in root.walk():
        is_deferred = path[:1] and path[0] in DEFERRED and path[-1] not in _NEEDED_AT_ONCE
        if not is_deferred:
            for variable in node.unset:
                yield Unset(node.place.file, node.place.line, node.place.key, variable).error()
