"""Subagents: the tool `task`, its reports, and how long their threads are kept.

Begin with `middleware.py`.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazily

if TYPE_CHECKING:
    from thalweg.middleware.subagents.middleware import (
        DEFAULT_GENERAL_PURPOSE_DESCRIPTION,
        DEFAULT_SUBAGENT_PROMPT,
        GENERAL_PURPOSE_SUBAGENT,
        SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY,
        TASK_TOOL_DESCRIPTION,
        CompiledSubAgent,
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
    "SubAgent",
    "SubAgentMiddleware",
    "SubagentLimits",
    "TaskToolSchema",
    "create_sub_agent",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "CompiledSubAgent": "thalweg.middleware.subagents.middleware",
        "DEFAULT_GENERAL_PURPOSE_DESCRIPTION": "thalweg.middleware.subagents.middleware",
        "DEFAULT_SUBAGENT_PROMPT": "thalweg.middleware.subagents.middleware",
        "GENERAL_PURPOSE_SUBAGENT": "thalweg.middleware.subagents.middleware",
        "SubagentLimits": "thalweg.middleware.subagents.middleware",
        "SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY": "thalweg.middleware.subagents.middleware",
        "SubAgent": "thalweg.middleware.subagents.middleware",
        "SubAgentMiddleware": "thalweg.middleware.subagents.middleware",
        "TASK_TOOL_DESCRIPTION": "thalweg.middleware.subagents.middleware",
        "TaskToolSchema": "thalweg.middleware.subagents.middleware",
        "create_sub_agent": "thalweg.middleware.subagents.middleware",
    },
)
