"""Search for skills: those that a request is about, and the tool `find_skills` for the agent."""

from collections.abc import Sequence
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.messages import AnyMessage, HumanMessage

from thalweg.context.ready_tools import ReadyTool
from thalweg.engine.tokens import exact_counter
from thalweg_agent.prompts import prompt
from thalweg_agent.skills.format import SkillMetadata
from thalweg_agent.skills.listing import write_found

FOUND_TOKENS = 1_500
"""Most tokens of an answer of `find_skills`."""


def relevant_names(skills: Sequence[SkillMetadata], messages: Sequence[AnyMessage]) -> list[str]:
    """Name the skills that the latest request is about, best first."""
    from thalweg_agent.skills.ranking import (  # noqa: PLC0415 (who has few never asks)
        relevant_skills,
    )

    return [skill["name"] for skill in relevant_skills(skills, _request(messages))]


def _request(messages: Sequence[AnyMessage]) -> str:
    """Return the latest text of a person, not of the harness."""
    for message in reversed(messages):
        if isinstance(message, HumanMessage) and not message.additional_kwargs.get("lc_source"):
            return str(message.text)
    return ""


def _find(runtime: ToolRuntime[Any, Any], query: object = "", **made_up: Any) -> str:  # noqa: ANN401 (a model's)
    del made_up
    query = "" if query is None else str(query)
    from thalweg_agent.skills.ranking import relevant_skills  # noqa: PLC0415 (as above)

    skills = runtime.state.get("skills_metadata") or ()
    found = write_found(relevant_skills(skills, query), FOUND_TOKENS, exact_counter())
    return found or prompt("find_skills_nothing").render(count=len(skills), query=repr(query[:200]))


FIND_SKILLS = ReadyTool(
    func=_find,
    name="find_skills",
    description=prompt("find_skills").render(),
    args_schema={
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What the task is about, in a few words."}
        },
        "required": ["query"],
    },
)
