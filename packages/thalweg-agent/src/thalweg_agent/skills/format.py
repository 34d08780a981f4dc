"""The Agent Skills format (https://agentskills.io): the front matter of a SKILL.md.

Skills are written by hand: reading a file never raises. A defect that makes a skill unusable is a
problem, described in one sentence; an irregularity in a usable skill is an oddity.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from typing_extensions import TypedDict

FILE_NAME = "SKILL.md"
MAX_SKILL_FILE_SIZE = 10 * 1024 * 1024
"""Bytes; a larger file is no skill."""
MAX_SKILL_NAME_LENGTH = 64
MAX_SKILL_DESCRIPTION_LENGTH = 1024
MAX_SKILL_COMPATIBILITY_LENGTH = 500
MAX_FRONT_MATTER_LENGTH = 64 * 1024
"""Characters that are searched for the end of the front matter."""
INCLUDE_TOOLS = "include_tools"
"""Key of `metadata` under which a skill names the tools that its instructions use."""
_MAX_NODES = 1_000
"""Most values of nested `metadata` that are rendered: aliases can make it infinite."""


class SkillMetadata(TypedDict):
    """The front matter of a skill, as a thread's state keeps it."""

    path: str
    """Path of its SKILL.md in the backend."""
    name: str
    description: str
    """Its purpose and when to use it."""
    license: str | None
    compatibility: str | None
    """Its requirements on the environment."""
    metadata: dict[str, str]
    allowed_tools: list[str]
    """Tools that it recommends. It cannot grant any."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """The result of parsing a SKILL.md."""

    skill: SkillMetadata | None
    problem: str = ""
    """Why there is no skill; empty if there is one."""
    oddities: tuple[str, ...] = ()


def parse_skill(content: str, path: str, folder: str) -> Parsed:
    """Parse the front matter of a SKILL.md.

    A name that breaks the rules is an oddity, as is a description or compatibility that is too
    long and shortened. Without name or description there is no skill.

    Args:
        content: The whole file.
        path: Path of the file.
        folder: Name of the folder that contains it.

    Example:
        >>> text = chr(10).join(["---", "name: pdf", "description: Fill in forms", "---", "# PDF"])
        >>> parse_skill(text, "/skills/pdf/SKILL.md", "pdf").skill["description"]
        'Fill in forms'
    """
    if len(content) > MAX_SKILL_FILE_SIZE:
        return Parsed(None, f"content too large ({len(content)} bytes)")
    front, _ = split_front_matter(content)
    if front is None:
        return Parsed(None, "no valid YAML frontmatter found")
    loaded = _load(front)
    if isinstance(loaded, str):
        return Parsed(None, loaded)
    fields, was_repaired = loaded
    name, description = _text(fields.get("name")), _text(fields.get("description"))
    if not name or not description:
        return Parsed(None, "missing required 'name' or 'description'")
    oddities = ["unquoted colons in its front matter were read as text"] if was_repaired else []
    is_valid, fault = validate_skill_name(name, folder)
    if not is_valid:
        oddities.append(fault)
    compatibility = _text(fields.get("compatibility"))
    skill = SkillMetadata(
        name=name,
        description=_bounded("description", description, MAX_SKILL_DESCRIPTION_LENGTH, oddities),
        path=path,
        metadata=as_metadata(fields.get("metadata"), oddities),
        license=_text(fields.get("license")) or None,
        compatibility=_bounded(
            "compatibility", compatibility, MAX_SKILL_COMPATIBILITY_LENGTH, oddities
        )
        or None,
        allowed_tools=_allowed_tools(fields.get("allowed-tools"), oddities),
    )
    return Parsed(skill, oddities=tuple(oddities))


def split_front_matter(content: str) -> tuple[str | None, str]:
    """Split a SKILL.md at its `---` lines; without front matter all of it is body.

    Example:
        >>> split_front_matter("No front matter")
        (None, 'No front matter')
    """
    text = content.removeprefix("\ufeff")
    first = text.find("\n")
    if first < 0 or text[:first].rstrip() != "---":
        return None, content
    at = first + 1
    while at < min(len(text), MAX_FRONT_MATTER_LENGTH):
        end = text.find("\n", at)
        line_end = len(text) if end < 0 else end
        if text.startswith("---", at) and not text[at + 3 : line_end].strip():
            return text[first + 1 : at], text[line_end + 1 :]
        at = line_end + 1
    return None, content


def validate_skill_name(name: str, folder: str) -> tuple[bool, str]:
    """Validate a name: 1 to 64 lower-case letters, digits and single hyphens.

    It must be equal to the name of its folder.

    Returns:
        Whether it is valid, and the error; empty if it is.
    """
    if not name:
        return False, "name is required"
    if len(name) > MAX_SKILL_NAME_LENGTH:
        return False, f"name exceeds {MAX_SKILL_NAME_LENGTH} characters"
    parts = name.split("-")
    if not all(part and all(map(_is_name_letter, part)) for part in parts):
        return False, "name must be lowercase alphanumeric with single hyphens only"
    if name != folder:
        return False, f"name '{name}' must match directory name '{folder}'"
    return True, ""


def _is_name_letter(letter: str) -> bool:
    return (letter.isalpha() and letter.islower()) or letter.isdigit()


def annotations(skill: SkillMetadata) -> str:
    """Return license and compatibility on one line; empty if it has neither."""
    pairs = (("License", skill["license"]), ("Compatibility", skill["compatibility"]))
    return ", ".join(f"{title}: {value}" for title, value in pairs if value)


def as_metadata(given: object, oddities: list[str]) -> dict[str, str]:
    """Parse `metadata` as a mapping of texts; anything else is dropped and noted."""
    if not isinstance(given, Mapping):
        if given:
            oddities.append(f"non-dict metadata was ignored ({type(given).__name__})")
        return {}
    include = given.get(INCLUDE_TOOLS)
    if isinstance(include, list) or (isinstance(include, str) and "," in include):
        oddities.append(
            f"metadata.{INCLUDE_TOOLS} should be a space-separated string of tool names"
        )
    return {_written(key): _written(value) for key, value in given.items()}


def _written(value: object) -> str:
    return str(value) if _is_small(value) else "…"


def _is_small(value: object) -> bool:
    left, waiting = _MAX_NODES, [value]
    while waiting:
        one = waiting.pop()
        left -= 1
        if left < 0:
            return False
        if isinstance(one, Mapping):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set):
            waiting += one
    return True


def _allowed_tools(given: object, oddities: list[str]) -> list[str]:
    if isinstance(given, str):
        return [tool for tool in re.split(r"[\s,]+", given) if tool]
    if isinstance(given, list):
        return [tool.strip() for tool in given if isinstance(tool, str) and tool.strip()]
    if given is not None:
        oddities.append(f"'allowed-tools' was ignored ({type(given).__name__})")
    return []


def _text(value: object) -> str:
    return "" if value is None else _written(value).strip()


def _bounded(title: str, text: str, most: int, oddities: list[str]) -> str:
    if len(text) > most:
        oddities.append(f"{title} is {len(text)} characters; the first {most} are kept")
    return text[:most]


@lru_cache(maxsize=1_024)
def _load(front: str) -> tuple[dict[object, object], bool] | str:
    """Parse YAML, and if that fails once more with values quoted that contain a colon."""
    loaded = _yaml(front)
    if isinstance(loaded, str) and (repaired := _quote_values(front.splitlines())) != front:
        again = _yaml(repaired)
        return (again, True) if isinstance(again, dict) else loaded
    return (loaded, False) if isinstance(loaded, dict) else loaded


def _yaml(text: str) -> dict[object, object] | str:
    import yaml  # type: ignore[import-untyped]  # noqa: PLC0415 (slow; only skills need it)

    fast = getattr(yaml, "CSafeLoader", yaml.SafeLoader) if _is_flat(text) else yaml.SafeLoader
    try:
        loaded = yaml.load(text, fast)  # noqa: S506 (both are safe loaders)
    except Exception as error:  # noqa: BLE001  # a tag like !!bool raises whatever its text causes
        return f"invalid YAML: {' '.join(str(error).split())}"
    return loaded if isinstance(loaded, dict) else "frontmatter is not a mapping"


def _is_flat(text: str) -> bool:
    """Return whether text cannot nest deeply enough to crash the C loader, ten times as fast."""
    opened = sum(map(text.count, ("[", "{", "- ", "? ", "-\t", "?\t")))
    return opened <= _MAX_DEPTH and " " * _MAX_DEPTH not in text


_MAX_DEPTH = 200

_PLAIN_FIELD = re.compile(r"([A-Za-z_-]+): +([^\s'\"\[{|>&*!#%@`].*: .*)")


def _quote_values(lines: Iterable[str]) -> str:
    """Quote the text after the first colon of a line that has another colon."""
    repaired: list[str] = []
    for line in lines:
        field = _PLAIN_FIELD.fullmatch(line.rstrip())
        quoted = field and field[2].replace("\\", "\\\\").replace('"', '\\"')
        repaired.append(f'{field[1]}: "{quoted}"' if field else line)
    return "".join(f"{line}\n" for line in repaired)
