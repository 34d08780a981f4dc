"""A file to settings: every error at once and every notice, each with its position."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Literal

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from thalweg.engine.sections import KeyPath, as_config_error
from thalweg.errors import SettingsError
from thalweg_server.settings.fields import UnsetVariable, is_secret
from thalweg_server.settings.nodes import Node, Position, fill, read
from thalweg_server.settings.sections import Settings

USUAL = "config.yaml"
"""The file that is read when none is named, if it is in the working folder."""
VARIABLE = "THALWEG_CONFIG"
"""The variable that names another one."""
HOME = "THALWEG_HOME"
"""The variable that names the folder of Thalweg's files."""
_DEFERRED = ("models", "tools", "mcp_servers")
"""Sections whose parts need their variables only when they are used, except these keys."""
_NEEDED_AT_ONCE = ("name", "use")
_UNLESS_SEEDS = "unless memory.retrieval is seeds"
_ALSO_AT_THE_TOP = ("offload", "pricing")
"""Keys of `summarization` that may be at the top of the file as well."""
_BY_SIZE = "has no effect: its size alone decides whether a result is offloaded (result_tokens)"
_FORMER = {
    ("agent", "shell"): "has no effect: commands are disabled until sandbox.use names a sandbox",
    ("memory", "lease_seconds"): "has no effect: leases are renewed while a thread is learned from",
    ("offload", "listing_tokens"): _BY_SIZE,
    ("summarization", "offload", "listing_tokens"): _BY_SIZE,
}
"""Keys of former versions, and why they have no effect."""


@dataclass(frozen=True, slots=True)
class SettingNotice:
    """A setting that has no effect, looks like a mistake, or was converted."""

    position: Position
    message: str
    kind: Literal["no effect", "warning", "small agent", "left out", "changed"]


@dataclass(frozen=True, slots=True)
class SettingsReport:
    """The settings of a file, with its errors and notices."""

    file: str
    """The file, as it was named; empty if there is none."""
    settings: Settings | None
    """Its settings without invalid values; `None` if too many are invalid."""
    problems: tuple[SettingsError, ...]
    """The errors, in the order of the lines."""
    notices: tuple[SettingNotice, ...]
    """Settings that have no effect or look like a mistake, in the order of the lines."""
    root: Node
    """Its values with their positions."""

    def unless_wrong(self) -> Settings:
        """Return the settings.

        Raises:
            SettingsError: Something is wrong; all that is.
        """
        if self.problems or self.settings is None:
            raise SettingsError.of(self.problems)
        return self.settings


def load_settings(
    path: str | PathLike[str] | None = None, *, environ: Mapping[str, str] | None = None
) -> Settings:
    """Read the settings.

    Args:
        path: The file. By default the one that THALWEG_CONFIG names, or `config.yaml` in
            the working folder; if there is none, every setting has its default.
        environ: Variables; those of this process by default.

    Raises:
        SettingsError: The file is missing or cannot be used; it names every error of the file.

    Example:
        >>> load_settings(environ={"THALWEG_CONFIG": "nowhere.yaml"})
        Traceback (most recent call last):
        thalweg.errors.SettingsError: nowhere.yaml: THALWEG_CONFIG names a file that is not...
    """
    return examine(path, environ=environ).unless_wrong()


def examine(
    path: str | PathLike[str] | None = None, *, environ: Mapping[str, str] | None = None
) -> SettingsReport:
    """Read and validate a file, and report every error; arguments as for `load_settings`."""
    environ = os.environ if environ is None else environ
    file = find(path, environ)
    try:
        text = Path(file).read_bytes() if file else b""
    except FileNotFoundError:
        problem = "the file does not exist"
        fix = "name another file, or write one: thalweg config init"
        if path is None and environ.get(VARIABLE):
            problem = f"{VARIABLE} names a file that is not there"
            fix = "correct or unset the variable"
    except OSError as error:
        problem = f"it cannot be read: {(error.strerror or str(error)).lower()}"
        fix = "name another file"
    else:
        return examine_text(text, file, environ)
    return _failed(SettingsError(file, 0, 0, "", problem, fix))


def find(path: str | PathLike[str] | None, environ: Mapping[str, str]) -> str:
    """Return the file that is read; empty if there is none."""
    named = fspath(path) if path is not None else environ.get(VARIABLE, "")
    return named or (USUAL if Path(USUAL).exists() else "")


def _failed(error: SettingsError) -> SettingsReport:
    return SettingsReport(error.file, None, (error,), (), Node({}, Position(error.file)))


def examine_text(text: bytes, file: str, environ: Mapping[str, str]) -> SettingsReport:
    """Validate the content of a file."""
    try:
        root, problems = read(text, file)
    except SettingsError as error:
        return _failed(error)
    if (node := root.child("config_version")) is not None:
        problem = "this is a configuration of DeerFlow"
        return _failed(
            node.position.error(
                problem, f"convert it: thalweg config init thalweg.yaml --from {file}"
            )
        )
    notices: list[SettingNotice] = []
    for path, message in _FORMER.items():
        if (node := root.find(*path)) is not None:
            node.is_removed = True
            notices += [SettingNotice(node.position, message, "no effect")] if node.value else []
    problems += fill(root, environ)
    problems += _moved_below(root)
    if environ.get(HOME) and root.find("storage", "home") is None:
        home = Node(environ[HOME], Position("", path=("storage", "home")), f"${HOME}", (HOME,))
        root.put(home, "storage", "home")
    problems += _unset_at_once(root)
    settings, invalid = validated(root)
    problems += invalid
    notices += _doubts(root, settings) if settings is not None else ()
    return SettingsReport(
        root.position.file,
        settings,
        tuple(sorted(problems, key=lambda problem: (problem.line, problem.column))),
        tuple(sorted(notices, key=lambda notice: notice.position.line)),
        root,
    )


def _moved_below(root: Node) -> Iterator[SettingsError]:
    """Move the keys of `summarization` that are at the top of the file."""
    for key in _ALSO_AT_THE_TOP:
        node, other = root.child(key), root.find("summarization", key)
        if node is None:
            continue
        root.put(Node(None, node.position, is_removed=True), key)
        if other is not None and other.value is not None:
            problem = f"{other.position.key} in line {other.position.line} has the same meaning"
            yield node.position.error(problem, "remove one of the two")
        elif node.value is not None:
            root.put(node, "summarization", key)


def _unset_at_once(root: Node) -> Iterator[SettingsError]:
    """Yield an error for each variable that is not set and needed by every command."""
    for node in root.walk():
        path = node.position.path
        if node.unset and (path[0] not in _DEFERRED or path[-1] in _NEEDED_AT_ONCE):
            yield from (UnsetVariable(node.position, name).error for name in node.unset)


def is_private(path: KeyPath) -> bool:
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
    return any(is_secret(step) for step in path if isinstance(step, str))


def validated(root: Node) -> tuple[Settings | None, list[SettingsError]]:
    """Validate a tree.

    Pydantic checks for contradictions only if each value is valid by itself. So invalid values
    are removed, and the rest is validated again.

    Returns:
        The settings without invalid values, `None` if too many are invalid; and the errors.
    """
    problems: dict[str, SettingsError] = {}
    removed: set[str] = set()
    while True:
        try:
            return Settings.model_validate(root.plain()), list(problems.values())
        except ValidationError as error:
            faults = [_fault(root, each) for each in error.errors(include_url=False)]
        for _, problem in faults:
            # Where a value was removed, its key is missing, or its default no better.
            if problem is not None and problem.key not in removed:
                problems.setdefault(problem.key, problem)
        if any(node is root for node, _ in faults):
            return None, list(problems.values())
        for node, _ in faults:
            node.is_removed = True
            removed.add(node.position.key)


def _fault(root: Node, details: ErrorDetails) -> tuple[Node, SettingsError | None]:
    """Return the value to remove, and its error.

    There is none for a value that is `null` or a variable that is not set.
    """
    context = details.get("ctx", {})
    section = root
    for step in details["loc"]:  # it has steps that are not in the file, such as members of unions
        section = section.child(step) or section
    absent: list[str | int] = [*context.get("key", ())]
    if details["type"] == "missing":
        absent = [details["loc"][-1]]
    node = section
    while absent and (child := node.child(absent[0])) is not None:
        node = child
        del absent[0]
    position = node.position
    if (node.value is None and not absent) or node.unset:
        return node, None
    is_hidden = is_private((*position.path, *absent))
    shown = repr(node.written) if node.variables else "this value" if is_hidden else None
    worded = as_config_error("", {**details, "loc": ()}, quoted_value=shown)
    problem, fix = worded.problem, worded.fix
    if is_hidden and details["type"] == "string_type":
        problem, fix = "it is no text", "put it in quotes"
    if node.variables:
        problem = problem.replace(str(node.value), node.written)
    other = section.find(*context["against"]) if context.get("against") else None
    if other is not None:
        problem += f" ({other.position.key} is in line {other.position.line})"
    error = position.error(problem, fix, *absent)
    return (other if other is not None and absent else node), error


def unset_variables(
    settings: Settings,
) -> tuple[list[SettingsError], list[SettingsError]]:
    """Return errors of variables that are not set: those that are used, and those of other models.

    A model that no setting names is used only if a run does.
    """
    others = [model for model in settings.models if model.name not in settings.used_models]
    used, unused = (
        [each.error for part in parts for each in part.unset]
        for parts in (settings.used_parts, others)
    )
    return used, unused


def _doubts(root: Node, settings: Settings) -> Iterator[SettingNotice]:
    """Yield a notice for each valid setting that may be a mistake."""
    yield from _without_effect(root, settings)
    yield from _small_agents(root, settings)
    groups = sorted(group.name for group in settings.tool_groups)
    tools = root.keys.get("tools")
    for tool in tools.items if groups and tools is not None else ():
        group = tool.keys.get("group")
        if group is not None and group.value and group.value not in groups:
            message = f"there is no group {group.value!r} in tool_groups ({', '.join(groups)})"
            yield SettingNotice(group.position, message, "warning")
    oidc, prefix = settings.gateway.oidc, root.find("gateway", "oidc", "owner_prefix")
    if oidc and prefix is not None and not oidc.owner_prefix and settings.gateway.keys:
        message = "a token whose claim equals the owner of a key has the rights of that key"
        yield SettingNotice(prefix.position, message, "warning")
    for node in root.walk():
        match node.position.path:
            # A server of one's own (`base_url`) often ignores its key.
            case ("models", int() as index, "api_key") if not root.find(
                "models", index, "base_url"
            ):
                is_key = True
            case ("gateway", "keys", int(), "key"):
                is_key = True
            case _:
                is_key = False
        if is_key and isinstance(node.value, str) and not node.variables:
            message = "everyone who can read the file has this key; use a variable, such as $MY_KEY"
            yield SettingNotice(node.position, message, "warning")


def _small_agents(root: Node, settings: Settings) -> Iterator[SettingNotice]:
    """Yield a notice for each model whose window gives its agent fewer tools."""
    for index, model in enumerate(settings.models):
        node = root.find("models", index, "window")
        if node is not None and model.name in settings.short_models:
            message = f"gives a small agent: {settings.small_agent}"
            yield SettingNotice(node.position, message, "small agent")


def _without_effect(root: Node, settings: Settings) -> Iterator[SettingNotice]:
    """Yield the settings that were changed and have no effect with the others."""
    memory, summarization = settings.memory, settings.summarization
    memory_names_retrieval = "retrieval" in memory.model_fields_set
    for section, key, has_effect, why in (
        ("memory", "storage_path", memory.storage == "json", "unless memory.storage is json"),
        ("memory", "similarity_weight", memory.retrieval == "seeds", _UNLESS_SEEDS),
        ("memory", "confidence_weight", memory.retrieval == "seeds", _UNLESS_SEEDS),
        ("summarization", "keep", summarization.triggers, "without summarization.trigger"),
    ):
        node = root.find(section, key)
        value, default = (getattr(getattr(of, section), key) for of in (settings, Settings()))
        # The documents' own weights are our defaults: their block has no other key.
        is_changed = value != default or (why == _UNLESS_SEEDS and not memory_names_retrieval)
        if node is not None and not has_effect and is_changed:
            yield SettingNotice(node.position, f"has no effect {why}", "no effect")
