"""Every setting with the origin of its value, secrets masked; values as YAML."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import SecretStr

from thalweg.engine.compaction.thresholds import Threshold
from thalweg.engine.sections import KeyPath, SettingsSection, dotted
from thalweg_server.settings.fields import MASK, Open, is_secret, mapped
from thalweg_server.settings.nodes import Node, escaped
from thalweg_server.settings.sections import Settings

_ONE_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})", re.ASCII)
_USER_OF_ADDRESS = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_SECRET_OF_ADDRESS = re.compile(
    r"([?&][\w.-]*(?:key|token|secret|password|signature|sig)[\w.-]*=)[^&#\s]+", re.IGNORECASE
)
_FLAG = re.compile(r"--?([\w-]+)(=)?(.*)", re.DOTALL)
_WIDE = 10_000


class Reference(str):
    """A text that is a variable: its dollar is not escaped when it is written."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """One setting, as it may be shown."""

    path: KeyPath
    value: object
    """Plain: as JSON has it."""
    origin: str
    """`config.yaml:12`, a variable, or `default`."""
    is_given: bool
    """Whether it is not merely the default."""

    @property
    def key(self) -> str:
        """The path in words: `models[0].window`."""
        return dotted(self.path)


def shown(settings: Settings, root: Node) -> Iterator[ShownSetting]:
    """Yield every setting, in the order of the sections.

    Args:
        settings: The settings.
        root: The file that they come from, as its report has it.
    """
    return _below(settings, (), root)


def _below(value: object, path: KeyPath, node: Node | None) -> Iterator[ShownSetting]:
    parts = _parts(value)
    for step, each in parts.items():
        below = node and node.child(step)
        if isinstance(value, Open) and step == "options":
            # Shown as keys of the section itself: both are read as the same.
            for name, option in each.items():
                yield _leaf(
                    option,
                    (*path, name),
                    (below and below.child(name)) or (node and node.child(name)),
                )
        else:
            yield from _below(each, (*path, step), below)
    if not parts:
        yield _leaf(value, path, node)


def _parts(value: object) -> Mapping[str | int, Any]:
    """Return the parts to show separately: a section's settings, or a collection of sections."""
    match value:
        case SettingsSection() if not isinstance(value, Threshold):
            return {name: getattr(value, name) for name in type(value).model_fields}
        case Mapping() | tuple():
            inner = value if isinstance(value, Mapping) else dict(enumerate(value))
            return inner if any(map(_parts, inner.values())) else {}
        case _:
            return {}


def _leaf(value: object, path: KeyPath, node: Node | None) -> ShownSetting:
    if node is None:
        return ShownSetting(path, _masked(value, node), "default", is_given=False)
    variables = sorted(
        {(name, name in each.unset) for each in node.walk() for name in each.variables}
    )
    named = [f"${name}{' (not set)' if is_unset else ''}" for name, is_unset in variables]
    at = [f"{node.position.file}:{node.position.line}"] if node.position.file else []
    return ShownSetting(path, _masked(value, node), ", ".join((*at, *named)), is_given=True)


def _masked(value: object, node: Node | None) -> object:
    """Return a value as it may be shown, with the variable of its node in place of a secret."""
    if isinstance(value, Threshold):
        value = {"type": value.type, "value": value.value}
    if isinstance(value, Mapping):
        return {k: _masked(each, node and node.child(k)) for k, each in value.items()}
    if isinstance(value, list | tuple):
        return _arguments([_masked(each, node and node.child(k)) for k, each in enumerate(value)])
    if node is not None and node.variables:
        is_hidden = isinstance(value, SecretStr) or any(map(is_secret, node.variables))
        if is_hidden or node.unset:
            is_one = _ONE_VARIABLE.fullmatch(node.written)
            return MASK if is_hidden and not is_one else Reference(node.written)
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    if not isinstance(text, str):
        return text
    if isinstance(value, SecretStr) and not (text.startswith("postgres") and "://" in text):
        return MASK
    return _SECRET_OF_ADDRESS.sub(rf"\1{MASK}", _USER_OF_ADDRESS.sub(MASK, text))


def _arguments(items: list[object]) -> list[object]:
    """Mask the value of `--api-key` in the arguments of a command."""
    masked: list[object] = []
    is_next = False
    for item in items:
        flag = _FLAG.fullmatch(item) if isinstance(item, str) else None
        if flag is None:
            masked.append(MASK if is_next and not isinstance(item, Reference) else item)
            is_next = False
            continue
        secret = is_secret(flag[1])
        masked.append(f"{str(item).partition('=')[0]}={MASK}" if secret and flag[2] else item)
        is_next = secret and not flag[2]
    return masked


def inline(value: object) -> str:
    """Write a plain value in one line of YAML."""
    import yaml  # type: ignore[import-untyped]  # noqa: PLC0415 (slow; only texts need it)

    def escape(each: object) -> object:
        is_text = isinstance(each, str) and not isinstance(each, Reference)
        return escaped(str(each)) if is_text else str(each) if isinstance(each, str) else each

    data = mapped(value, escape)
    options = {"default_flow_style": True, "width": _WIDE}
    dumped: str = yaml.safe_dump(data, allow_unicode=True, sort_keys=False, **options)
    text = dumped.removesuffix("...\n").rstrip("\n")
    if "\n" not in text:
        return text
    quoted: str = yaml.safe_dump(data, default_style='"', **options)
    return quoted.rstrip("\n")


def yaml_lines(settings: Iterable[ShownSetting]) -> Iterator[tuple[KeyPath, str]]:
    """Write settings as a file that can be read again, except for masked values.

    Yields:
        The path of a setting or of a section, and its line.
    """
    above: KeyPath = ()
    for each in settings:
        *sections, last = each.path
        for depth, step in enumerate(sections, 1):
            if each.path[:depth] != above[:depth] and isinstance(step, str):
                yield each.path[:depth], f"{'  ' * (depth - 1)}{inline(step)}:"
        indent = "  " * len(sections)
        if sections and isinstance(sections[-1], int) and each.path[:-1] != above[: len(sections)]:
            indent = f"{indent[:-2]}- "  # the first key of an item
        key = f"{inline(last)}: " if isinstance(last, str) else ""
        yield each.path, f"{indent}{key}{inline(each.value)}"
        above = each.path


def nested(settings: Iterable[ShownSetting]) -> dict[str, Any]:
    """Return settings as nested mappings and lists, as JSON has them."""
    top: dict[str | int, Any] = {}
    for each in settings:
        *above, last = each.path
        at = top
        for step in above:
            at = at.setdefault(step, {})
        at[last] = each.value
    settings_of_json: dict[str, Any] = _with_lists(top)
    return settings_of_json


def _with_lists(value: Any) -> Any:  # noqa: ANN401 (as JSON has it)
    """Return mappings whose keys are indices as lists."""
    if not isinstance(value, dict):
        return value
    changed = {key: _with_lists(each) for key, each in value.items()}
    is_list = changed and all(isinstance(key, int) for key in changed)
    return list(changed.values()) if is_list else changed
