"""All settings, as one value."""

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from thalweg.context.settings import ContextPolicy
from thalweg.facts.settings import MemorySettings
from thalweg.sections import Section, refuse
from thalweg.settings.agents import AgentSettings, SkillsSettings, SubagentsSettings
from thalweg.settings.fixed import Fixed
from thalweg.settings.gateway import GatewaySettings
from thalweg.settings.models import ModelSettings
from thalweg.settings.sandbox import SandboxSettings
from thalweg.settings.storage import StorageSettings
from thalweg.settings.tools import McpServer, ToolGroup, ToolSettings


def _fixed(given: Mapping[str, McpServer]) -> Mapping[str, McpServer]:
    return Fixed(given)


class Settings(Section):
    """All settings. They never change; new ones are read anew.

    Example:
        >>> Settings().gateway.port
        8001
    """

    models: tuple[ModelSettings, ...] = ()
    """The chat models that may be used; the first answers where nothing else is said."""
    agent: AgentSettings = Field(default_factory=AgentSettings)
    """The agent that answers."""
    summarization: ContextPolicy = Field(default_factory=ContextPolicy)
    """How a thread is kept inside its window. Its `offload` and `pricing` may stand at the top
    of the file as well."""
    memory: MemorySettings = Field(default_factory=MemorySettings)
    """What is remembered across threads."""
    sandbox: SandboxSettings = Field(default_factory=SandboxSettings)
    """Where commands of the agent run."""
    subagents: SubagentsSettings = Field(default_factory=SubagentsSettings)
    """Whom the agent can give a task."""
    skills: SkillsSettings = Field(default_factory=SkillsSettings)
    """What the agent can read up."""
    tools: tuple[ToolSettings, ...] = ()
    """Tools beside the agent's own."""
    tool_groups: tuple[ToolGroup, ...] = ()
    """Groups that tools belong to."""
    mcp_servers: Annotated[Mapping[str, McpServer], AfterValidator(_fixed)] = Field(
        default_factory=dict[str, McpServer], validate_default=True
    )
    """Servers of the Model Context Protocol, by name."""
    storage: StorageSettings = Field(default_factory=StorageSettings)
    """Where everything is kept."""
    gateway: GatewaySettings = Field(default_factory=GatewaySettings)
    """The HTTP side."""

    @model_validator(mode="after")
    def _shell_of_host_is_of_one_owner(self) -> Self:
        if self.sandbox.use == "host" and self.gateway.may_have_more_owners:
            problem = (
                "commands on the host read every owner's files and this process's memory, and more "
                "than one owner may come in (gateway.keys, gateway.oidc)"
            )
            refuse(problem, "use bubblewrap, docker or podman, or let one owner in", key="sandbox")
        return self

    def model_named(self, name: str) -> ModelSettings | None:
        """Find one of `models` by its name."""
        return next((model for model in self.models if model.name == name), None)

    @property
    def default_model(self) -> str | None:
        """The name of the model that answers where a run names none; `None` if there is none."""
        return self.agent.model or next((model.name for model in self.models), None)
