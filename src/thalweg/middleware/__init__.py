"""Middleware for LangChain agents: thin shells around the context engine and the agent's tools."""

from typing import TYPE_CHECKING

from thalweg.lazy import lazily

if TYPE_CHECKING:
    from thalweg.absent import SummarizationToolMiddleware, create_summarization_tool_middleware
    from thalweg.middleware.async_subagents import AsyncSubAgent, AsyncSubAgentMiddleware, TaskEvent
    from thalweg.middleware.context import ContextMiddleware
    from thalweg.middleware.filesystem import FilesystemMiddleware
    from thalweg.middleware.memory import MemoryMiddleware
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
    from thalweg.middleware.skill_tools import SkillToolResolver
    from thalweg.middleware.skills import SkillMetadata, SkillsMiddleware, SkillsState
    from thalweg.middleware.subagents import CompiledSubAgent, SubAgent, SubAgentMiddleware
    from thalweg.middleware.summarization import (
        DEEPAGENTS_DEFAULT_SUMMARY_PROMPT,
        SummarizationMiddleware,
    )
    from thalweg.middleware.unsupported_content import UnsupportedContentMiddleware
    from thalweg.tools.rights import FilesystemPermission

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
    {
        "AsyncSubAgent": "thalweg.middleware.async_subagents",
        "AsyncSubAgentMiddleware": "thalweg.middleware.async_subagents",
        "TaskEvent": "thalweg.middleware.async_subagents",
        "CriterionEval": "thalweg.middleware.rubric",
        "CriterionFail": "thalweg.middleware.rubric",
        "CriterionPass": "thalweg.middleware.rubric",
        "GRADER_SYSTEM_PROMPT": "thalweg.middleware.rubric",
        "GraderResponse": "thalweg.middleware.rubric",
        "GraderVerdict": "thalweg.middleware.rubric",
        "RUBRIC_GRADER_MESSAGE_SOURCE": "thalweg.middleware.rubric",
        "RubricEvaluation": "thalweg.middleware.rubric",
        "RubricMiddleware": "thalweg.middleware.rubric",
        "RubricResult": "thalweg.middleware.rubric",
        "RubricState": "thalweg.middleware.rubric",
        "DEEPAGENTS_DEFAULT_SUMMARY_PROMPT": "thalweg.middleware.summarization",
        "SummarizationMiddleware": "thalweg.middleware.summarization",
        "SkillToolResolver": "thalweg.middleware.skill_tools",
        "UnsupportedContentMiddleware": "thalweg.middleware.unsupported_content",
        "SummarizationToolMiddleware": "thalweg.absent",
        "create_summarization_tool_middleware": "thalweg.absent",
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
