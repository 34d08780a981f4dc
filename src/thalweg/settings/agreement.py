"""What must agree across sections: names are there, and there once."""

import re
from collections.abc import Iterator

from thalweg.errors import SettingsError
from thalweg.sections import nearest
from thalweg.settings.nodes import Node, Path
from thalweg.settings.notices import Notice, warning
from thalweg.settings.whole import Settings

_KEYS: Path = ("gateway", "keys")
_WITH_PROVIDER = re.compile(r"[a-z][\w-]*:.+")
NAMES_A_MODEL: tuple[Path, ...] = (
    ("agent", "model"),
    ("summarization", "model_name"),
    ("memory", "model_name"),
)
"""Settings that name a model, beside those of subagents."""


def disagreements(root: Node) -> Iterator[SettingsError]:
    """Say what does not agree.

    Args:
        root: A file in shape.
    """
    for section, what in (("models", "name"), ("tools", "name"), ("tool_groups", "name")):
        yield from _twice(root, (section,), what)
    yield from _twice(root, ("subagents", "agents"), "name")
    yield from _keys_of_two(root)
    yield from _missing_models(root)


def doubts(root: Node, settings: Settings | None) -> Iterator[Notice]:
    """Yield what can be used and is perhaps not what was meant.

    Args:
        root: A file in shape.
        settings: What it says; `None` where too much of it is wrong.
    """
    groups = set(_names(root, ("tool_groups",)))
    for tool in _items(root, ("tools",)):
        group = tool.keys.get("group")
        if groups and group is not None and group.value and group.value not in groups:
            known = ", ".join(sorted(groups))
            yield warning(group, f"there is no group {group.value!r} in tool_groups ({known})")
    if settings is not None:
        yield from _idle(root, settings)
    oidc = root.find(("gateway", "oidc"))
    prefix = root.find(("gateway", "oidc", "owner_prefix"))
    if oidc is not None and prefix is not None and prefix.value == "" and _items(root, _KEYS):
        yield warning(prefix, "a token whose claim is the owner of a key opens what is that key's")


def _idle(root: Node, settings: Settings) -> Iterator[Notice]:
    """Yield the settings that were changed and have no effect beside the others."""
    memory, summarization = settings.memory, settings.summarization
    rows = (
        ("memory", "storage_path", memory.storage == "json", "unless memory.storage is json"),
        ("memory", "similarity_weight", memory.retrieval == "seeds", _ONLY_SEEDS),
        ("memory", "confidence_weight", memory.retrieval == "seeds", _ONLY_SEEDS),
        ("summarization", "keep", bool(summarization.triggers), "without summarization.trigger"),
    )
    defaults = Settings()
    for section, key, has_effect, why in rows:
        node = root.find((section, key))
        value, default = (getattr(getattr(of, section), key) for of in (settings, defaults))
        if node is not None and not has_effect and value != default:
            yield Notice(node.place, f"has no effect {why}", "no effect")


_ONLY_SEEDS = "unless memory.retrieval is seeds"


def _items(root: Node, section: Path) -> tuple[Node, ...]:
    node = root.find(section)
    return () if node is None else node.items


def _names(root: Node, section: Path) -> dict[str, Node]:
    """Give the names in a list, with the first place of each."""
    found: dict[str, Node] = {}
    for each in _items(root, section):
        name = each.keys.get("name")
        if name is not None and isinstance(name.value, str):
            found.setdefault(name.value.strip(), name)
    return found


def _twice(root: Node, section: Path, key: str) -> Iterator[SettingsError]:
    first = _names(root, section)
    for each in _items(root, section):
        node = each.keys.get(key)
        if node is None or not isinstance(node.value, str):
            continue
        other = first[node.value.strip()]
        if other is not node:
            problem = f"the name {node.value!r} is that of {other.place.key} in line"
            yield _error(node, f"{problem} {other.place.line}", "give each a name of its own")


def _keys_of_two(root: Node) -> Iterator[SettingsError]:
    """One key cannot let two owners in. Keys are secret: only their lines are told."""
    first: dict[object, Node] = {}
    for each in _items(root, ("gateway", "keys")):
        key = each.keys.get("key")
        if key is None or key.unset:
            continue
        other = first.setdefault(key.value, key)
        if other is not key:
            problem = f"it is the key of {other.place.key} in line {other.place.line}, too"
            yield _error(key, problem, "give each owner a key of their own")


def _missing_models(root: Node) -> Iterator[SettingsError]:
    names = tuple(_names(root, ("models",)))
    for node in named_models(root):
        name = str(node.value).strip()
        if name in names or _WITH_PROVIDER.fullmatch(name) or node.unset:
            continue
        usual = f"add it to models:, or write provider:model, such as openai:{name}"
        mend = nearest(name, names, f"{_there_are(names)}{usual}")
        yield _error(node, f"there is no model {name!r} in models:", mend)


def _there_are(names: tuple[str, ...]) -> str:
    return f"use {', '.join(names)}; or " if names else ""


def named_models(root: Node) -> Iterator[Node]:
    """Give every setting that names a model."""
    for path in NAMES_A_MODEL:
        node = root.find(path)
        if node is not None and isinstance(node.value, str):
            yield node
    for agent in _items(root, ("subagents", "agents")):
        node = agent.keys.get("model")
        if node is not None and isinstance(node.value, str):
            yield node


def _error(node: Node, problem: str, mend: str) -> SettingsError:
    at = node.place
    return SettingsError(at.file, at.line, at.key, problem, mend)
