"""Subagents: the tool `task`, its reports, and how long their threads are kept.

Begin with `middleware.py`.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg_agent.middleware.subagents.middleware import (
        DEFAULT_GENERAL_PURPOSE_DESCRIPTION,
        DEFAULT_SUBAGENT_PROMPT,
        GENERAL_PURPOSE_SUBAGENT,
        SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY,
        TASK_TOOL_DESCRIPTION,
        CompiledSubAgent,
        LaterValue,
        SubAgent,
        SubagentLimits,
        SubAgentMiddleware,
        TaskToolSchema,
        create_sub_agent,
    )

__all__ = [
    "DEFAULT_GENERAL_PURPOSE_DESCRIPTION",
    "DEFAULT_SUBAGENT_PROMPT",
    "GENERAL_PURPOSE_SUBAGENT",
    "SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY",
    "TASK_TOOL_DESCRIPTION",
    "CompiledSubAgent",
    "LaterValue",
    "SubAgent",
    "SubAgentMiddleware",
    "SubagentLimits",
    "TaskToolSchema",
    "create_sub_agent",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    dict.fromkeys(__all__, "thalweg_agent.middleware.subagents.middleware"),
)
