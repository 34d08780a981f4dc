"""The engine and the harness inside any LangChain agent: thin shells around the rooms below."""

from typing import TYPE_CHECKING

from thalweg.lazy import lazily

if TYPE_CHECKING:
    from thalweg.middleware.context import ContextMiddleware
    from thalweg.middleware.filesystem import FilesystemMiddleware
    from thalweg.middleware.memory import MemoryMiddleware
    from thalweg.middleware.skills import SkillMetadata, SkillsMiddleware, SkillsState
    from thalweg.middleware.subagents import CompiledSubAgent, SubAgent, SubAgentMiddleware
    from thalweg.tools.rights import FilesystemPermission

__all__ = [
    "CompiledSubAgent",
    "ContextMiddleware",
    "FilesystemMiddleware",
    "FilesystemPermission",
    "MemoryMiddleware",
    "SkillMetadata",
    "SkillsMiddleware",
    "SkillsState",
    "SubAgent",
    "SubAgentMiddleware",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "CompiledSubAgent": "thalweg.middleware.subagents",
        "ContextMiddleware": "thalweg.middleware.context",
        "FilesystemMiddleware": "thalweg.middleware.filesystem",
        "FilesystemPermission": "thalweg.tools.rights",
        "MemoryMiddleware": "thalweg.middleware.memory",
        "SkillMetadata": "thalweg.middleware.skills",
        "SkillsMiddleware": "thalweg.middleware.skills",
        "SkillsState": "thalweg.middleware.skills",
        "SubAgent": "thalweg.middleware.subagents",
        "SubAgentMiddleware": "thalweg.middleware.subagents",
    },
)
