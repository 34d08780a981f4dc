"""`agent:`, `subagents:` and `skills:`."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, PositiveFloat, PositiveInt, model_validator

from thalweg.engine.sections import SettingsSection, refuse
from thalweg_server.settings.fixed import FrozenMapping, Options
from thalweg_server.settings.parts import Distinct, Name

GENERAL_PURPOSE = "general-purpose"
"""The subagent that is always there; settings may change it."""


def _by_name(given: object) -> object:
    """Convert `[a, b]` to `{a: true, b: true}`."""
    if isinstance(given, list | tuple) and all(isinstance(each, str) for each in given):
        return dict.fromkeys(given, True)
    return given


class AgentSettings(SettingsSection):
    """The agent that answers."""

    system_prompt: str | None = None
    """Your instructions, at the beginning of the system prompt."""
    model: Name | None = None
    """A name in `models:`, or `provider:model`; the first of `models:` by default."""
    recursion_limit: PositiveInt = 1_000
    """Most steps of one run, each a call of the model or of its tools."""
    profile: Literal["auto", "full", "small"] = "auto"
    """Size of its instructions and tools: `small` for a model with a short window, `auto` by the
    window."""
    interrupt_on: Annotated[Options, BeforeValidator(_by_name)] = Field(
        default=FrozenMapping[object]()
    )
    """Tools whose calls wait for a person: a list, or `{execute: true}`."""


class SubagentSettings(SettingsSection):
    """A subagent. A setting that is not set is that of the main agent."""

    name: Name
    """The name by which the agent calls it."""
    description: str = ""
    """Its purpose: the agent chooses a subagent by it."""
    system_prompt: str | None = None
    """Its instructions."""
    tools: tuple[Name, ...] | None = None
    """Names of the tools it may use; all of the agent's by default."""
    model: Name | None = None
    """A name in `models:`, or `provider:model`; the agent's own by default."""
    skills: tuple[Name, ...] | None = None
    """Names of the skills it may read; all by default, none for `[]`."""
    timeout_seconds: PositiveFloat | None = None
    """Seconds from its start to its end; those of `subagents` by default."""
    max_turns: PositiveInt | None = None
    """Calls of its model; those of `subagents` by default."""

    @model_validator(mode="after")
    def _validate_description(self) -> Self:
        if self.name != GENERAL_PURPOSE and not self.description.strip():
            fix = "describe when the agent should use it"
            refuse(f"subagent {self.name!r} has no description", fix, key="description")
        return self


def _listed(given: object) -> object:
    """Convert `{reader: {…}}` to `[{name: reader, …}]`."""
    if isinstance(given, Mapping):
        return [
            {"name": name, **spec} if isinstance(spec, Mapping) else spec
            for name, spec in given.items()
        ]
    return given


class SubagentsSettings(SettingsSection):
    """Subagents: a task of its own for an agent with a context of its own."""

    enabled: bool = True
    """Whether the agent has any."""
    timeout_seconds: PositiveFloat = 3_600
    """Seconds that one may take from its start to its end."""
    max_turns: PositiveInt = 100
    """Calls of its model that one may make."""
    max_tokens: PositiveInt | None = None
    """Tokens that one may use, input and output; unlimited by default."""
    max_concurrent: PositiveInt = 3
    """How many may run at once in one run."""
    max_total_per_run: PositiveInt = 50
    """How many one run may start in total; a further call returns an error with the limit."""
    retention_days: PositiveFloat | None = None
    """Days that the thread of one is kept after its end; its report is always kept. `null`: as long
    as the thread that it worked for."""
    max_threads: PositiveInt | None = None
    """How many threads of subagents that ended one thread keeps, the newest; all for `null`."""
    agents: Annotated[Distinct[SubagentSettings], BeforeValidator(_listed)] = ()
    """The subagents besides `general-purpose`; one of that name changes it."""


class SkillsSettings(SettingsSection):
    """Skills: folders with a SKILL.md, which the agent reads when a task needs them."""

    enabled: bool = True
    """Whether the agent has any."""
    paths: tuple[Name, ...] = ("skills",)
    """Folders that hold skills. Of two skills with one name the later counts; a folder that is
    not there is passed over."""
