"""Effects of a valid file that a user may not expect."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from thalweg_server.settings.nodes import Node, NodePosition, Path
from thalweg_server.settings.whole import Settings


@dataclass(frozen=True, slots=True)
class SettingNotice:
    """A setting that does nothing, is read as another one, or looks like a mistake."""

    place: NodePosition
    message: str
    kind: Literal["no effect", "taken as", "warning"]


def doubts(root: Node, settings: Settings | None) -> Iterator[SettingNotice]:
    """Yield a notice for each valid setting that may be a mistake.

    Args:
        root: A file in shape.
        settings: Its settings; `None` if too many values are invalid.
    """
    if settings is None:
        return
    groups = sorted(group.name for group in settings.tool_groups)
    for tool in tools.items if (tools := root.keys.get("tools")) else ():
        group = tool.keys.get("group")
        if groups and group is not None and group.value and group.value not in groups:
            message = f"there is no group {group.value!r} in tool_groups ({', '.join(groups)})"
            yield SettingNotice(group.place, message, "warning")
    yield from _without_effect(root, settings)
    oidc = settings.gateway.oidc
    prefix = root.find(("gateway", "oidc", "owner_prefix"))
    if oidc is not None and prefix is not None and not oidc.owner_prefix and settings.gateway.keys:
        message = "a token whose claim equals the owner of a key has the rights of that key"
        yield SettingNotice(prefix.place, message, "warning")
    yield from _literal_keys(root)


def _literal_keys(root: Node) -> Iterator[SettingNotice]:
    """Yield the keys in the file itself; servers of one's own (`base_url`) often ignore theirs."""
    paths: tuple[tuple[Path, str], ...] = ((("models",), "api_key"), (("gateway", "keys"), "key"))
    for path, key in paths:
        node = root.find(path)
        for part in node.items if node is not None else ():
            found = part.keys.get(key)
            if found is None or "base_url" in part.keys:
                continue
            if isinstance(found.value, str) and not found.variables:
                message = "everyone who can read the file has this key; use a variable"
                yield SettingNotice(found.place, f"{message}, such as $MY_KEY", "warning")


def _without_effect(root: Node, settings: Settings) -> Iterator[SettingNotice]:
    """Yield the settings that were changed and have no effect with the others."""
    memory, summarization, defaults = settings.memory, settings.summarization, Settings()
    is_seeds = memory.retrieval == "seeds"
    rows = (
        ("memory", "storage_path", memory.storage == "json", "unless memory.storage is json"),
        ("memory", "similarity_weight", is_seeds, "unless memory.retrieval is seeds"),
        ("memory", "confidence_weight", is_seeds, "unless memory.retrieval is seeds"),
        ("summarization", "keep", bool(summarization.triggers), "without summarization.trigger"),
    )
    for section, key, has_effect, why in rows:
        node = root.find((section, key))
        value, default = (getattr(getattr(of, section), key) for of in (settings, defaults))
        if node is not None and not has_effect and value != default:
            yield SettingNotice(node.place, f"has no effect {why}", "no effect")
