"""Skills that agents can load."""

from __future__ import annotations

from thalweg.api.catalogue import Skill, Skills


class TenantSkills:
    """The skills of the settings."""

    async def list(self) -> Skills:
        """List all skills by name."""
        raise NotImplementedError

    async def get(self, name: str) -> Skill:
        """Give one skill with its whole text.

        Raises:
            NoSuchSkillError: There is none.
        """
        raise NotImplementedError
