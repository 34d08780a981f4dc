"""Thalweg: conversations and tasks of any length inside a model's window, with nothing lost."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thalweg.engine.lazy import lazily

if TYPE_CHECKING:
    from thalweg.agent.graph.create import create_deep_agent
    from thalweg.agent.graph.state import DeepAgentState, ThreadState
    from thalweg.agent.tools.kit import FsToolName
    from thalweg.agent.tools.rights import FilesystemPermission
    from thalweg.engine.absent import (
        ProviderProfile,
        register_harness_profile,
        register_provider_profile,
    )
    from thalweg.engine.settings import ContextPolicy
    from thalweg.middleware.async_subagents import AsyncSubAgent, AsyncSubAgentMiddleware
    from thalweg.middleware.context import ContextMiddleware
    from thalweg.middleware.filesystem import FilesystemMiddleware
    from thalweg.middleware.memory.middleware import MemoryMiddleware
    from thalweg.middleware.memory_files import MemoryFilesMiddleware
    from thalweg.middleware.rubric import RubricMiddleware
    from thalweg.middleware.skills.middleware import SkillsMiddleware
    from thalweg.middleware.subagents.middleware import (
        CompiledSubAgent,
        SubAgent,
        SubAgentMiddleware,
    )
    from thalweg.middleware.turn.thread_deletion import adelete_thread, delete_thread
    from thalweg.profiles import (
        GeneralPurposeSubagentProfile,
        HarnessProfile,
        HarnessProfileConfig,
    )

    __version__: str

__all__ = [
    "AsyncSubAgent",
    "AsyncSubAgentMiddleware",
    "CompiledSubAgent",
    "ContextMiddleware",
    "ContextPolicy",
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
    "adelete_thread",
    "create_deep_agent",
    "delete_thread",
    "register_harness_profile",
    "register_provider_profile",
]

_find, _names = lazily(
    __name__,
    {
        "GeneralPurposeSubagentProfile": "thalweg.profiles",
        "HarnessProfile": "thalweg.profiles",
        "HarnessProfileConfig": "thalweg.profiles",
        "ProviderProfile": "thalweg.engine.absent",
        "register_harness_profile": "thalweg.engine.absent",
        "register_provider_profile": "thalweg.engine.absent",
        "AsyncSubAgent": "thalweg.middleware.async_subagents",
        "AsyncSubAgentMiddleware": "thalweg.middleware.async_subagents",
        "RubricMiddleware": "thalweg.middleware.rubric",
        "CompiledSubAgent": "thalweg.middleware.subagents.middleware",
        "ContextMiddleware": "thalweg.middleware.context",
        "ContextPolicy": "thalweg.engine.settings",
        "DeepAgentState": "thalweg.agent.graph.state",
        "FilesystemMiddleware": "thalweg.middleware.filesystem",
        "FilesystemPermission": "thalweg.agent.tools.rights",
        "FsToolName": "thalweg.agent.tools.kit",
        "MemoryFilesMiddleware": "thalweg.middleware.memory_files",
        "MemoryMiddleware": "thalweg.middleware.memory.middleware",
        "SkillsMiddleware": "thalweg.middleware.skills.middleware",
        "SubAgent": "thalweg.middleware.subagents.middleware",
        "SubAgentMiddleware": "thalweg.middleware.subagents.middleware",
        "ThreadState": "thalweg.agent.graph.state",
        "adelete_thread": "thalweg.middleware.turn.thread_deletion",
        "create_deep_agent": "thalweg.agent.graph.create",
        "delete_thread": "thalweg.middleware.turn.thread_deletion",
    },
)


def __getattr__(name: str) -> Any:  # noqa: ANN401 (whatever is asked for)
    if name == "__version__":
        return import_module("importlib.metadata").version("thalweg")
    return _find(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_names(), "__version__"})
