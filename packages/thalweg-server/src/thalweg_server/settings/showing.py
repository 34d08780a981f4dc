"""Every setting with the origin of its value; secrets masked."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import SecretStr

from thalweg.engine.compaction.thresholds import Threshold
from thalweg.engine.sections import SettingsSection, dotted
from thalweg_server.settings.fixed import is_secret
from thalweg_server.settings.nodes import Node, Path
from thalweg_server.settings.parts import MASK, Open
from thalweg_server.settings.whole import Settings
from thalweg_server.settings.writing import Reference, inline

_ONE_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})", re.ASCII)
_USER_OF_ADDRESS = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_SECRET_OF_ADDRESS = re.compile(
    r"([?&][\w.-]*(?:key|token|secret|password|signature|sig)[\w.-]*=)[^&#\s]+", re.IGNORECASE
)
_FLAG = re.compile(r"--?([\w-]+)(=)?(.*)", re.DOTALL)
_DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """One setting, as it may be shown."""

    path: Path
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
        root: The file that they come from, in shape.
    """
    yield from _below(settings, (), root)


def _below(value: object, path: Path, root: Node) -> Iterator[ShownSetting]:
    parts = _parts(value)
    for step, each in parts.items():
        if isinstance(value, Open) and step == "options":
            yield from _options(each, path, root)
        else:
            yield from _below(each, (*path, step), root)
    if not parts:
        yield _leaf(value, path, root)


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


def _options(options: Mapping[str, object], path: Path, root: Node) -> Iterator[ShownSetting]:
    for name, value in options.items():
        listed = (*path, "options", name)
        below = listed if root.find(listed) is not None else (*path, name)
        # Beside the other keys, wherever it was written: it is read as the same.
        leaf = _leaf(value, below, root)
        yield replace(leaf, path=(*path, name), is_given=True)


def _leaf(value: object, path: Path, root: Node) -> ShownSetting:
    node = root.find(path)
    masked = _masked(value, node)
    if node is None:
        return ShownSetting(path, masked, _DEFAULT, is_given=False)
    variables = sorted({variable for _, each in node.walk() for variable in each.variables})
    unset = {variable for _, each in node.walk() for variable in each.unset}
    named = [f"${v}{' (not set)' if v in unset else ''}" for v in variables]
    at = [str(node.place)] if node.place.file else []
    return ShownSetting(path, masked, ", ".join((*at, *named)), is_given=True)


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
    return _bare(value)


def _bare(value: object) -> object:
    """Mask a secret, and those inside an address."""
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


@dataclass(frozen=True, slots=True)
class YamlLine:
    """A line of YAML and its comment."""

    text: str
    origin: str = ""


def yaml_lines(settings: Iterable[ShownSetting]) -> Iterator[YamlLine]:
    """Write settings as a file that can be read again, except for masked values."""
    above: Path = ()
    for each in settings:
        *sections, last = each.path
        for depth, step in enumerate(sections):
            if each.path[: depth + 1] == above[: depth + 1]:
                continue
            if isinstance(step, str):
                yield YamlLine(f"{'  ' * depth}{inline(step)}:")
        value = inline(each.value)
        dash = "  " * len(sections)
        key = f"{inline(last)}: " if isinstance(last, str) else ""
        is_first = bool(sections) and isinstance(sections[-1], int)
        is_first = is_first and each.path[:-1] != above[: len(each.path) - 1]
        lead = f"{dash[:-2]}- " if is_first else dash
        yield YamlLine(f"{lead}{key}{value}", each.origin)
        above = each.path


def nested(settings: Iterable[ShownSetting]) -> dict[str, object]:
    """Return settings as nested mappings and lists, as JSON has them."""
    top: dict[str, object] = {}
    for each in settings:
        at: dict[str, object] | list[object] = top
        for step, below in zip(each.path, (*each.path[1:], None), strict=True):
            new: object = each.value if below is None else [] if isinstance(below, int) else {}
            if isinstance(at, dict):
                at = at.setdefault(str(step), new)  # type: ignore[assignment]  # a value comes last
            else:
                if step == len(at):
                    at.append(new)
                at = at[-1]  # type: ignore[assignment]
    return top
