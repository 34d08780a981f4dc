"""Middleware for LangChain agents: thin shells around the context engine and the agent's tools."""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazily

if TYPE_CHECKING:
    from thalweg.agent.tools.rights import FilesystemPermission
    from thalweg.engine.absent import (
        SummarizationToolMiddleware,
        create_summarization_tool_middleware,
    )
    from thalweg.middleware.async_subagents import AsyncSubAgent, AsyncSubAgentMiddleware, TaskEvent
    from thalweg.middleware.context import ContextMiddleware
    from thalweg.middleware.filesystem import FilesystemMiddleware
    from thalweg.middleware.memory.middleware import MemoryMiddleware
    from thalweg.middleware.memory_files import MemoryFilesMiddleware
    from thalweg.middleware.rubric import (
        GRADER_SYSTEM_PROMPT,
        RUBRIC_GRADER_MESSAGE_SOURCE,
        CriterionEval,
        CriterionFail,
        CriterionPass,
        GraderResponse,
        GraderVerdict,
        RubricEvaluation,
        RubricMiddleware,
        RubricResult,
        RubricState,
    )
    from thalweg.middleware.skills.middleware import SkillMetadata, SkillsMiddleware, SkillsState
    from thalweg.middleware.skills.tools import SkillToolResolver
    from thalweg.middleware.subagents.middleware import (
        CompiledSubAgent,
        SubAgent,
        SubAgentMiddleware,
    )
    from thalweg.middleware.summarization import (
        DEEPAGENTS_DEFAULT_SUMMARY_PROMPT,
        SummarizationMiddleware,
    )
    from thalweg.middleware.unsupported_content import UnsupportedContentMiddleware

__all__ = [
    "DEEPAGENTS_DEFAULT_SUMMARY_PROMPT",
    "GRADER_SYSTEM_PROMPT",
    "RUBRIC_GRADER_MESSAGE_SOURCE",
    "AsyncSubAgent",
    "AsyncSubAgentMiddleware",
    "CompiledSubAgent",
    "ContextMiddleware",
    "CriterionEval",
    "CriterionFail",
    "CriterionPass",
    "FilesystemMiddleware",
    "FilesystemPermission",
    "GraderResponse",
    "GraderVerdict",
    "MemoryFilesMiddleware",
    "MemoryMiddleware",
    "RubricEvaluation",
    "RubricMiddleware",
    "RubricResult",
    "RubricState",
    "SkillMetadata",
    "SkillToolResolver",
    "SkillsMiddleware",
    "SkillsState",
    "SubAgent",
    "SubAgentMiddleware",
    "SummarizationMiddleware",
    "SummarizationToolMiddleware",
    "TaskEvent",
    "UnsupportedContentMiddleware",
    "create_summarization_tool_middleware",
]

__getattr__, __dir__ = lazily(
    __name__,
    dict.fromkeys(__all__, "thalweg.middleware.rubric")
    | {
        "AsyncSubAgent": "thalweg.middleware.async_subagents",
        "AsyncSubAgentMiddleware": "thalweg.middleware.async_subagents",
        "TaskEvent": "thalweg.middleware.async_subagents",
        "DEEPAGENTS_DEFAULT_SUMMARY_PROMPT": "thalweg.middleware.summarization",
        "SummarizationMiddleware": "thalweg.middleware.summarization",
        "SkillToolResolver": "thalweg.middleware.skills.tools",
        "UnsupportedContentMiddleware": "thalweg.middleware.unsupported_content",
        "SummarizationToolMiddleware": "thalweg.engine.absent",
        "create_summarization_tool_middleware": "thalweg.engine.absent",
        "CompiledSubAgent": "thalweg.middleware.subagents.middleware",
        "ContextMiddleware": "thalweg.middleware.context",
        "FilesystemMiddleware": "thalweg.middleware.filesystem",
        "FilesystemPermission": "thalweg.agent.tools.rights",
        "MemoryFilesMiddleware": "thalweg.middleware.memory_files",
        "MemoryMiddleware": "thalweg.middleware.memory.middleware",
        "SkillMetadata": "thalweg.middleware.skills.middleware",
        "SkillsMiddleware": "thalweg.middleware.skills.middleware",
        "SkillsState": "thalweg.middleware.skills.middleware",
        "SubAgent": "thalweg.middleware.subagents.middleware",
        "SubAgentMiddleware": "thalweg.middleware.subagents.middleware",
    },
)
