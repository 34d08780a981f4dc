"""Thalweg: conversations and tasks of any length inside a model's window, with nothing lost."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thalweg.lazy import lazily

if TYPE_CHECKING:
    from thalweg.absent import ProviderProfile, register_harness_profile, register_provider_profile
    from thalweg.context.settings import ContextPolicy
    from thalweg.graph.create import create_deep_agent
    from thalweg.graph.state import DeepAgentState, ThreadState
    from thalweg.middleware.async_subagents import AsyncSubAgent, AsyncSubAgentMiddleware
    from thalweg.middleware.context import ContextMiddleware
    from thalweg.middleware.filesystem import FilesystemMiddleware
    from thalweg.middleware.memory import MemoryMiddleware
    from thalweg.middleware.rubric import RubricMiddleware
    from thalweg.middleware.skills import SkillsMiddleware
    from thalweg.middleware.subagents import CompiledSubAgent, SubAgent, SubAgentMiddleware
    from thalweg.profiles import GeneralPurposeSubagentProfile, HarnessProfile, HarnessProfileConfig
    from thalweg.tools.kit import FsToolName
    from thalweg.tools.rights import FilesystemPermission

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
    "MemoryMiddleware",
    "ProviderProfile",
    "RubricMiddleware",
    "SkillsMiddleware",
    "SubAgent",
    "SubAgentMiddleware",
    "ThreadState",
    "create_deep_agent",
    "register_harness_profile",
    "register_provider_profile",
]

_find, _names = lazily(
    __name__,
    {
        "GeneralPurposeSubagentProfile": "thalweg.profiles",
        "HarnessProfile": "thalweg.profiles",
        "HarnessProfileConfig": "thalweg.profiles",
        "ProviderProfile": "thalweg.absent",
        "register_harness_profile": "thalweg.absent",
        "register_provider_profile": "thalweg.absent",
        "AsyncSubAgent": "thalweg.middleware.async_subagents",
        "AsyncSubAgentMiddleware": "thalweg.middleware.async_subagents",
        "RubricMiddleware": "thalweg.middleware.rubric",
        "CompiledSubAgent": "thalweg.middleware.subagents",
        "ContextMiddleware": "thalweg.middleware.context",
        "ContextPolicy": "thalweg.context.settings",
        "DeepAgentState": "thalweg.graph.state",
        "FilesystemMiddleware": "thalweg.middleware.filesystem",
        "FilesystemPermission": "thalweg.tools.rights",
        "FsToolName": "thalweg.tools.kit",
        "MemoryMiddleware": "thalweg.middleware.memory",
        "SkillsMiddleware": "thalweg.middleware.skills",
        "SubAgent": "thalweg.middleware.subagents",
        "SubAgentMiddleware": "thalweg.middleware.subagents",
        "ThreadState": "thalweg.graph.state",
        "create_deep_agent": "thalweg.graph.create",
    },
)


def __getattr__(name: str) -> Any:  # noqa: ANN401 (whatever is asked for)
    if name == "__version__":
        return import_module("importlib.metadata").version("thalweg")
    return _find(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_names(), "__version__"})
