"""Skills in an agent's runs: found, loaded, and pinned.

Begin with `middleware.py`.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg_agent.middleware.skills.middleware import (
        MAX_SKILL_COMPATIBILITY_LENGTH,
        MAX_SKILL_DESCRIPTION_LENGTH,
        MAX_SKILL_FILE_SIZE,
        MAX_SKILL_LOAD_WARNING_LENGTH,
        MAX_SKILL_NAME_LENGTH,
        MAX_SKILLS_LOAD_WARNINGS,
        SKILLS_SYSTEM_PROMPT,
        SkillMetadata,
        SkillsMiddleware,
        SkillSource,
        SkillsState,
        SkillToolResolver,
        disclosed_skill_tool_names,
    )

__all__ = [
    "MAX_SKILLS_LOAD_WARNINGS",
    "MAX_SKILL_COMPATIBILITY_LENGTH",
    "MAX_SKILL_DESCRIPTION_LENGTH",
    "MAX_SKILL_FILE_SIZE",
    "MAX_SKILL_LOAD_WARNING_LENGTH",
    "MAX_SKILL_NAME_LENGTH",
    "SKILLS_SYSTEM_PROMPT",
    "SkillMetadata",
    "SkillSource",
    "SkillToolResolver",
    "SkillsMiddleware",
    "SkillsState",
    "disclosed_skill_tool_names",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    dict.fromkeys(__all__, "thalweg_agent.middleware.skills.middleware"),
)
