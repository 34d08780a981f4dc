"""Skills that agents can load."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from thalweg.errors import NoSuchSkillError
from thalweg_agent.skills.format import parse_skill
from thalweg_server.api.catalogue import Skill, Skills
from thalweg_server.settings.sections import Settings

FILE = "SKILL.md"


class TenantSkills:
    """The skills of the settings; they are the same for all owners."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings

    async def list(self) -> Skills:
        """List all skills by name."""
        found = await asyncio.to_thread(skills_below, self._settings())
        return Skills(items=tuple(skill.model_copy(update={"text": None}) for skill in found))

    async def get(self, name: str) -> Skill:
        """Return one skill with its whole text.

        Raises:
            NoSuchSkillError: There is none.
        """
        found = await asyncio.to_thread(skills_below, self._settings())
        for skill in found:
            if skill.name == name:
                return skill
        raise NoSuchSkillError(name)


def skills_below(settings: Settings) -> list[Skill]:
    """Read the skills of the folders that settings name; of two with one name the later counts."""
    if not settings.skills.enabled:
        return []
    found: dict[str, Skill] = {}
    for folder in settings.skills.paths:
        for path in sorted(Path(folder).glob(f"*/{FILE}")):
            skill = _read(path)
            if skill is not None:
                found[skill.name] = skill
    return [found[name] for name in sorted(found)]


def _read(path: Path) -> Skill | None:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    parsed = parse_skill(text, str(path), path.parent.name).skill
    if parsed is None:
        return None
    return Skill(
        name=parsed["name"],
        description=parsed["description"],
        path=str(path),
        license=parsed.get("license") or "",
        text=text,
    )
