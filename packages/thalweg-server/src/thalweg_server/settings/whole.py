"""All settings, as one value."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from thalweg.engine.sections import KeyPath, SettingsSection, name_remedy, refuse
from thalweg.engine.settings import ContextPolicy
from thalweg_memory.facts.settings import MemorySettings
from thalweg_server.settings.fixed import FrozenMapping
from thalweg_server.settings.parts import Distinct
from thalweg_server.settings.sections.agents import AgentSettings, SkillsSettings, SubagentsSettings
from thalweg_server.settings.sections.gateway import GatewaySettings
from thalweg_server.settings.sections.models import ModelSettings
from thalweg_server.settings.sections.sandbox import SandboxSettings
from thalweg_server.settings.sections.storage import StorageSettings
from thalweg_server.settings.sections.tools import McpServer, ToolGroup, ToolSettings

_WITH_PROVIDER = re.compile(r"[a-z][\w-]*:.+")


class Settings(SettingsSection):
    """All settings. They never change.

    Example:
        >>> Settings().gateway.port
        8001
    """

    models: Distinct[ModelSettings] = ()
    """The chat models that may be used; the first is the default."""
    agent: AgentSettings = Field(default_factory=AgentSettings)
    """The agent that answers."""
    summarization: ContextPolicy = Field(default_factory=ContextPolicy)
    """How a thread is kept inside its window. Its `offload` and `pricing` may be at the top
    of the file as well."""
    memory: MemorySettings = Field(default_factory=MemorySettings)
    """Memory across threads."""
    sandbox: SandboxSettings = Field(default_factory=SandboxSettings)
    """Where commands of the agent run."""
    subagents: SubagentsSettings = Field(default_factory=SubagentsSettings)
    """Agents that the agent can delegate tasks to."""
    skills: SkillsSettings = Field(default_factory=SkillsSettings)
    """Instructions that the agent can read."""
    tools: Distinct[ToolSettings] = ()
    """Tools besides the agent's own."""
    tool_groups: Distinct[ToolGroup] = ()
    """Groups that tools belong to."""
    mcp_servers: Annotated[Mapping[str, McpServer], AfterValidator(FrozenMapping)] = Field(
        default=FrozenMapping[McpServer]()
    )
    """Servers of the Model Context Protocol, by name."""
    storage: StorageSettings = Field(default_factory=StorageSettings)
    """Where everything is kept."""
    gateway: GatewaySettings = Field(default_factory=GatewaySettings)
    """The HTTP side."""

    @model_validator(mode="after")
    def _validate_host_shell(self) -> Self:
        if self.sandbox.use == "host" and self.gateway.may_have_more_owners:
            problem = (
                "commands on the host read every owner's files and this process's memory, and more "
                "than one owner has access (gateway.keys, gateway.oidc)"
            )
            refuse(
                problem, "use bubblewrap, docker or podman, or allow one owner only", key="sandbox"
            )
        return self

    @classmethod
    def _elsewhere(cls, key: str) -> str:
        """Return the remedy for a key of a section that is at the top of the file."""
        kinds = ((name, field.annotation) for name, field in cls.model_fields.items())
        found = [
            f"{name}.{key}" for name, kind in kinds if key in getattr(kind, "model_fields", ())
        ]
        return f"did you mean {' or '.join(found)}?" if found else ""

    @model_validator(mode="after")
    def _validate_model_names(self) -> Self:
        known = tuple(model.name for model in self.models)
        for key, name in self.model_references():
            if name not in known and not _WITH_PROVIDER.fullmatch(name):
                usual = f"add it to models:, or write provider:model, such as openai:{name}"
                fix = name_remedy(
                    name, known, f"use {', '.join(known)}; or {usual}" if known else usual
                )
                refuse(f"there is no model {name!r} in models:", fix, key=key)
        return self

    def model_references(self) -> Iterator[tuple[KeyPath, str]]:
        """Yield every setting that names a model: its path and the name."""
        named: tuple[tuple[KeyPath, str | None], ...] = (
            (("agent", "model"), self.agent.model),
            (("summarization", "model_name"), self.summarization.model_name),
            (("memory", "model_name"), self.memory.model_name),
            *(
                (("subagents", "agents", index, "model"), agent.model)
                for index, agent in enumerate(self.subagents.agents)
            ),
        )
        yield from ((key, name.strip()) for key, name in named if name is not None)

    def model_named(self, name: str) -> ModelSettings | None:
        """Find one of `models` by its name."""
        return next((model for model in self.models if model.name == name), None)

    @property
    def default_model(self) -> str | None:
        """The name of the model that answers if a run names none; `None` if there is none."""
        return self.agent.model or next((model.name for model in self.models), None)
