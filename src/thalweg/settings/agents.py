"""`agent:`, `subagents:` and `skills:`: who answers, whom it can ask, what it can read up."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, PositiveFloat, PositiveInt, model_validator

from thalweg.sections import Section, refuse
from thalweg.settings.fixed import Fixed, Options
from thalweg.settings.parts import Distinct, Name

GENERAL_PURPOSE = "general-purpose"
"""The subagent that is always there; settings may change it."""


def _by_name(given: object) -> object:
    """Convert `[a, b]` to `{a: true, b: true}`."""
    if isinstance(given, list | tuple) and all(isinstance(each, str) for each in given):
        return dict.fromkeys(given, True)
    return given


class AgentSettings(Section):
    """The agent that answers."""

    system_prompt: str | None = None
    """Your instructions; they come first."""
    model: Name | None = None
    """A name in `models:`, or `provider:model`; the first of `models:` when not given."""
    recursion_limit: PositiveInt = 1_000
    """Most steps of one run, each a call of the model or of its tools."""
    profile: Literal["auto", "full", "small"] = "auto"
    """How much it is told and given: `small` for a model with a short window, `auto` by the
    window."""
    interrupt_on: Annotated[Options, BeforeValidator(_by_name)] = Field(default=Fixed[object]())
    """Tools whose calls wait for a person: a list, or `{execute: true}`."""


class SubagentSettings(Section):
    """A subagent. What is not given is as the main agent has it."""

    name: Name
    """What the agent calls it by."""
    description: str = ""
    """What it is good for: by this the agent decides whom it gives a task."""
    system_prompt: str | None = None
    """Its instructions."""
    tools: tuple[Name, ...] | None = None
    """Names of the tools it may use; all of the agent's when not given."""
    model: Name | None = None
    """A name in `models:`, or `provider:model`; the agent's own when not given."""
    skills: tuple[Name, ...] | None = None
    """Names of the skills it may read; all when not given, none for `[]`."""
    timeout_seconds: PositiveFloat | None = None
    """Seconds from its start to its end; as `subagents` has it when not given."""
    max_turns: PositiveInt | None = None
    """Calls of its model; as `subagents` has it when not given."""

    @model_validator(mode="after")
    def _validate_description(self) -> Self:
        if self.name != GENERAL_PURPOSE and not self.description.strip():
            mend = "say when the agent is to ask it"
            refuse(f"subagent {self.name!r} has no description", mend, key="description")
        return self


def _listed(given: object) -> object:
    """Convert `{reader: {…}}` to `[{name: reader, …}]`."""
    if isinstance(given, Mapping):
        return [
            {"name": name, **spec} if isinstance(spec, Mapping) else spec
            for name, spec in given.items()
        ]
    return given


class SubagentsSettings(Section):
    """Subagents: a task of its own for an agent with a context of its own."""

    enabled: bool = True
    """Whether the agent may ask any."""
    timeout_seconds: PositiveFloat = 3_600
    """Seconds that one may take from its start to its end."""
    max_turns: PositiveInt = 100
    """Calls of its model that one may make."""
    max_tokens: PositiveInt | None = None
    """Tokens that one may use, input and output; without end when not given."""
    max_concurrent: PositiveInt = 3
    """How many may be at work for one run at once."""
    max_total_per_run: PositiveInt = 50
    """How many one run may start in all; a call beyond it is answered with the limit."""
    retention_days: PositiveFloat | None = None
    """Days that the thread of one is kept after its end; its report stays. `null`: as long as the
    thread it worked for."""
    max_threads: PositiveInt | None = None
    """How many threads of subagents that ended one thread keeps, the newest; all for `null`."""
    agents: Annotated[Distinct[SubagentSettings], BeforeValidator(_listed)] = ()
    """Whom the agent can ask beside `general-purpose`; one of that name changes it."""


class SkillsSettings(Section):
    """Skills: folders with a SKILL.md, read up by the agent when a task needs them."""

    enabled: bool = True
    """Whether the agent is told of any."""
    paths: tuple[Name, ...] = ("skills",)
    """Folders that hold skills. Of two skills with one name the later counts; a folder that is
    not there is passed over."""
