"""Nodes to settings: every error at once, each with its position."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pydantic import SecretStr, ValidationError
from pydantic_core import ErrorDetails

from thalweg.engine.sections import as_config_error
from thalweg.errors import SettingsError
from thalweg_server.settings.fixed import FrozenMapping, hides_all, is_secret
from thalweg_server.settings.nodes import Node, Path
from thalweg_server.settings.parts import unset_error
from thalweg_server.settings.sections.models import ModelSettings
from thalweg_server.settings.sections.tools import ToolSettings
from thalweg_server.settings.whole import Settings

DEFERRED = ("models", "tools", "mcp_servers")
"""Sections whose parts need their variables only when they are used."""
_NEEDED_AT_ONCE = frozenset(("name", "use"))


def is_private(path: Path) -> bool:
    """Return whether the value at a path is never shown.

    Example:
        >>> is_private(("models", 0, "api_key")), is_private(("models", 0, "window"))
        (True, False)
    """
    match path:
        case ("storage", "url", *_) | ("sandbox", "env", *_) | ("mcp_servers", _, "env", *_):
            return True
        case ("gateway", "keys", *_):
            return path[-1] != "owner"
    return any(hides_all(step) or is_secret(step) for step in path if isinstance(step, str))


def checked(root: Node) -> tuple[Settings | None, tuple[SettingsError, ...]]:
    """Validate a file in shape.

    Pydantic checks for contradictions only if each value is valid by itself. So invalid values
    are removed, and the rest is validated again.

    Returns:
        The settings without invalid values, `None` if too many are invalid; and the errors.
    """
    root = _with_hidden_options(root)
    problems: dict[str, SettingsError] = {}
    removed: set[str] = set()
    while True:
        try:
            settings = Settings.model_validate(root.plain())
        except ValidationError as error:
            faults = [_fault(root, each) for each in error.errors(include_url=False)]
        else:
            return _with_unset(settings, root), tuple(problems.values())
        for fault in faults:
            # Where a value was removed, its key is missing, or its default no better.
            if not fault.is_silent and fault.error.key not in removed:
                problems.setdefault(fault.error.key, fault.error)
        removed |= {fault.error.key for fault in faults}
        before = root
        for path in sorted({fault.remove for fault in faults}, key=_from_the_end):
            root = root.put(path, None) if path and root.find(path) else root
        if root == before:
            return None, tuple(problems.values())


def _with_hidden_options(root: Node) -> Node:
    """Make secrets of options that come from variables such as `$MY_TOKEN`."""
    for section, kind in (("models", ModelSettings), ("tools", ToolSettings)):
        for path, node in root.walk():
            match path:
                case (name, int(), str() as key) if name == section and (
                    key not in kind.model_fields or key == "options"
                ):
                    root = root.put(path, node.mapped(_hidden))
    return root


def _hidden(node: Node) -> Node:
    is_hidden = isinstance(node.value, str) and any(map(is_secret, node.variables))
    return replace(node, value=SecretStr(str(node.value))) if is_hidden else node


def _from_the_end(path: Path) -> tuple[object, ...]:
    """Sort key: removing a path in this order moves no later one."""
    return tuple((0, -step) if isinstance(step, int) else (1, step) for step in path)


@dataclass(frozen=True, slots=True)
class _Fault:
    """An error of pydantic, at its position in the file."""

    error: SettingsError
    remove: Path
    """Path to remove before the rest is validated again; empty if there is none."""
    is_silent: bool
    """Whether it is not reported: the value is `null` or a variable that is not set."""


def _fault(root: Node, details: ErrorDetails) -> _Fault:
    context = details.get("ctx", {})
    section, above = _innermost(root, details["loc"])
    is_missing = details["type"] == "missing"
    below: Path = details["loc"][-1:] if is_missing else context.get("key", ())
    node, path = _innermost(section, below)
    absent = tuple(map(str, below[len(path) :]))
    path = (*above, *path)
    place = replace(node.place, key=".".join((node.place.key, *absent)).strip("."))
    is_hidden = is_private((*path, *absent))
    shown = repr(node.written) if node.variables else "what is written" if is_hidden else None
    worded = as_config_error("", {**details, "loc": ()}, quoted_value=shown)
    problem, fix = worded.problem, worded.fix
    if is_hidden and details["type"] == "string_type":
        problem, fix = "it is no text", "put it in quotes"
    if node.variables and isinstance(node.value, str):
        problem = problem.replace(node.value, node.written)
    other = section.find(context.get("against", ())) if context.get("against") else None
    if other is not None:
        problem += f" ({other.place.key} is in line {other.place.line})"
    return _Fault(
        place.error(problem, fix),
        (*above, *context["against"]) if other is not None and absent else path,
        is_silent=(node.value is None and not absent) or bool(node.unset),
    )


def _innermost(node: Node, steps: Path) -> tuple[Node, Path]:
    """Return the innermost value on a path that the file has; steps it lacks are skipped."""
    path: Path = ()
    for step in steps:
        child = node.child(step)
        if child is not None:
            node, path = child, (*path, step)
    return node, path


def _with_unset(settings: Settings, root: Node) -> Settings:
    """Note in models, tools and servers which of their variables are not set."""
    changed: dict[str, object] = {}
    for section in DEFERRED:
        parts, node = getattr(settings, section), root.keys.get(section)
        if node is None:
            continue
        if isinstance(parts, Mapping):
            changed[section] = FrozenMapping(
                (name, part.lacking(node.keys[name].unset_below())) for name, part in parts.items()
            )
        else:
            pairs = zip(parts, node.items, strict=True)
            changed[section] = tuple(part.lacking(each.unset_below()) for part, each in pairs)
    return settings.model_copy(update=changed)


def unset_at_once(root: Node) -> Iterator[SettingsError]:
    """Yield an error for each variable that is not set and needed by every command."""
    for path, node in root.walk():
        is_deferred = path[:1] and path[0] in DEFERRED and path[-1] not in _NEEDED_AT_ONCE
        if node.unset and not is_deferred:
            yield from map(unset_error, node.unset_below())
