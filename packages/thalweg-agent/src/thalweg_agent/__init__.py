"""`create_deep_agent`: an agent with a plan, files, a shell, subagents, skills and approvals."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg_agent.absent import (
        ProviderProfile,
        register_harness_profile,
        register_provider_profile,
    )
    from thalweg_agent.graph.create import create_deep_agent
    from thalweg_agent.graph.small import create_small_agent
    from thalweg_agent.graph.state import DeepAgentState, ThreadState
    from thalweg_agent.middleware.async_subagents import AsyncSubAgent, AsyncSubAgentMiddleware
    from thalweg_agent.middleware.filesystem import FilesystemMiddleware
    from thalweg_agent.middleware.memory import MemoryFilesMiddleware, MemoryMiddleware
    from thalweg_agent.middleware.rubric import RubricMiddleware
    from thalweg_agent.middleware.skills.middleware import SkillsMiddleware
    from thalweg_agent.middleware.subagents.middleware import (
        CompiledSubAgent,
        SubAgent,
        SubAgentMiddleware,
    )
    from thalweg_agent.profiles import (
        GeneralPurposeSubagentProfile,
        HarnessProfile,
        HarnessProfileConfig,
    )
    from thalweg_agent.tools.kit import FsToolName
    from thalweg_agent.tools.rights import FilesystemPermission

    __version__: str

__all__ = [
    "AsyncSubAgent",
    "AsyncSubAgentMiddleware",
    "CompiledSubAgent",
    "DeepAgentState",
    "FilesystemMiddleware",
    "FilesystemPermission",
    "FsToolName",
    "GeneralPurposeSubagentProfile",
    "HarnessProfile",
    "HarnessProfileConfig",
    "MemoryFilesMiddleware",
    "MemoryMiddleware",
    "ProviderProfile",
    "RubricMiddleware",
    "SkillsMiddleware",
    "SubAgent",
    "SubAgentMiddleware",
    "ThreadState",
    "create_deep_agent",
    "create_small_agent",
    "register_harness_profile",
    "register_provider_profile",
]

_find, _names = lazy_exports(
    __name__,
    {
        "AsyncSubAgent": "thalweg_agent.middleware.async_subagents",
        "AsyncSubAgentMiddleware": "thalweg_agent.middleware.async_subagents",
        "CompiledSubAgent": "thalweg_agent.middleware.subagents.middleware",
        "DeepAgentState": "thalweg_agent.graph.state",
        "FilesystemMiddleware": "thalweg_agent.middleware.filesystem",
        "FilesystemPermission": "thalweg_agent.tools.rights",
        "FsToolName": "thalweg_agent.tools.kit",
        "GeneralPurposeSubagentProfile": "thalweg_agent.profiles",
        "HarnessProfile": "thalweg_agent.profiles",
        "HarnessProfileConfig": "thalweg_agent.profiles",
        "MemoryFilesMiddleware": "thalweg_agent.middleware.memory",
        "MemoryMiddleware": "thalweg_agent.middleware.memory",
        "ProviderProfile": "thalweg_agent.absent",
        "RubricMiddleware": "thalweg_agent.middleware.rubric",
        "SkillsMiddleware": "thalweg_agent.middleware.skills.middleware",
        "SubAgent": "thalweg_agent.middleware.subagents.middleware",
        "SubAgentMiddleware": "thalweg_agent.middleware.subagents.middleware",
        "ThreadState": "thalweg_agent.graph.state",
        "create_deep_agent": "thalweg_agent.graph.create",
        "create_small_agent": "thalweg_agent.graph.small",
        "register_harness_profile": "thalweg_agent.absent",
        "register_provider_profile": "thalweg_agent.absent",
    },
)


def __getattr__(name: str) -> Any:  # noqa: ANN401 (any name of a module)
    if name == "__version__":
        return import_module("importlib.metadata").version("thalweg-agent")
    return _find(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_names(), "__version__"})
