"""Middleware of the deep agent, each also for other LangChain agents."""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg_agent.absent import (
        SummarizationToolMiddleware,
        UnsupportedContentMiddleware,
        create_summarization_tool_middleware,
    )
    from thalweg_agent.middleware.async_subagents import (
        AsyncSubAgent,
        AsyncSubAgentMiddleware,
        TaskEvent,
    )
    from thalweg_agent.middleware.filesystem import FilesystemMiddleware
    from thalweg_agent.middleware.memory import MemoryFilesMiddleware, MemoryMiddleware
    from thalweg_agent.middleware.rubric import (
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
    from thalweg_agent.middleware.skills.middleware import (
        SkillMetadata,
        SkillsMiddleware,
        SkillsState,
    )
    from thalweg_agent.middleware.skills.tools import SkillToolResolver
    from thalweg_agent.middleware.subagents.middleware import (
        CompiledSubAgent,
        SubAgent,
        SubAgentMiddleware,
    )
    from thalweg_agent.middleware.summarization import (
        DEEPAGENTS_DEFAULT_SUMMARY_PROMPT,
        SummarizationMiddleware,
    )
    from thalweg_agent.tools.rights import FilesystemPermission

__all__ = [
    "DEEPAGENTS_DEFAULT_SUMMARY_PROMPT",
    "GRADER_SYSTEM_PROMPT",
    "RUBRIC_GRADER_MESSAGE_SOURCE",
    "AsyncSubAgent",
    "AsyncSubAgentMiddleware",
    "CompiledSubAgent",
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

__getattr__, __dir__ = lazy_exports(
    __name__,
    dict.fromkeys(__all__, "thalweg_agent.middleware.rubric")
    | {
        "AsyncSubAgent": "thalweg_agent.middleware.async_subagents",
        "AsyncSubAgentMiddleware": "thalweg_agent.middleware.async_subagents",
        "TaskEvent": "thalweg_agent.middleware.async_subagents",
        "DEEPAGENTS_DEFAULT_SUMMARY_PROMPT": "thalweg_agent.middleware.summarization",
        "SummarizationMiddleware": "thalweg_agent.middleware.summarization",
        "SkillToolResolver": "thalweg_agent.middleware.skills.tools",
        "UnsupportedContentMiddleware": "thalweg_agent.absent",
        "SummarizationToolMiddleware": "thalweg_agent.absent",
        "create_summarization_tool_middleware": "thalweg_agent.absent",
        "CompiledSubAgent": "thalweg_agent.middleware.subagents.middleware",
        "FilesystemMiddleware": "thalweg_agent.middleware.filesystem",
        "FilesystemPermission": "thalweg_agent.tools.rights",
        "MemoryFilesMiddleware": "thalweg_agent.middleware.memory",
        "MemoryMiddleware": "thalweg_agent.middleware.memory",
        "SkillMetadata": "thalweg_agent.middleware.skills.middleware",
        "SkillsMiddleware": "thalweg_agent.middleware.skills.middleware",
        "SkillsState": "thalweg_agent.middleware.skills.middleware",
        "SubAgent": "thalweg_agent.middleware.subagents.middleware",
        "SubAgentMiddleware": "thalweg_agent.middleware.subagents.middleware",
    },
)
