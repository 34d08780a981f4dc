"""`tools:`, `tool_groups:` and `mcp_servers:`."""

from typing import Any, Literal, Self

from pydantic import Field, SecretStr, model_validator

from thalweg.engine.sections import SettingsSection, refuse
from thalweg_server.settings.fixed import FrozenMapping, Options, Secrets, thawed
from thalweg_server.settings.parts import Deferred, Import, Name, Open


class ToolGroup(SettingsSection):
    """A name under which tools are put together."""

    name: Name
    """The name of the group."""


class ToolSettings(Open):
    """A tool that is imported. Keys that are not listed here are its options."""

    name: Name
    """The name by which the model calls it."""
    group: str = ""
    """The group it belongs to, of `tool_groups`."""
    use: Import
    """Its location: `module:attribute`, a LangChain tool or a function with a docstring."""
    options: Options = Field(default=FrozenMapping[object]())
    """Arguments for it, if the attribute is a class or takes any.

    They may be keys of the tool itself, too."""

    def arguments(self) -> dict[str, Any]:
        """Return the options as a constructor takes them, with the values of secrets."""
        return {name: thawed(value) for name, value in self.options.items()}


class McpServer(Deferred):
    """A server of the Model Context Protocol: a command that is started, or an address."""

    enabled: bool = True
    """Whether its tools are there."""
    description: str = ""
    """Its purpose, for people."""
    command: Name | None = None
    """What to start, without its arguments."""
    args: tuple[str, ...] = Field(default=(), repr=False)
    """Arguments of the command."""
    env: Secrets = Field(default=FrozenMapping[SecretStr]())
    """Variables of the command besides the usual few, such as PATH."""
    url: Name | None = Field(default=None, repr=False)
    """Its address, if it is running already."""
    transport: Literal["stdio", "streamable_http", "sse", "websocket"] | None = None
    """The protocol: `stdio` to a command and `streamable_http` to an address by default."""
    headers: Secrets = Field(default=FrozenMapping[SecretStr]())
    """Headers of every request to its address."""

    @model_validator(mode="after")
    def _validate_address(self) -> Self:
        if self.command and self.url:
            fix = "leave one out"
            refuse("it has a command and an address", fix, key="url", conflicting_key="command")
        if not self.command and not self.url:
            refuse("it has neither a command nor an address", "write command: or url:")
        return self

    @model_validator(mode="after")
    def _validate_transport(self) -> Self:
        if self.transport is None:
            return self
        if self.command and self.transport != "stdio":
            problem = f"{self.transport} has no effect on a command"
            refuse(problem, "use stdio, or url:", key="transport", conflicting_key="command")
        if self.url and self.transport == "stdio":
            problem, fix = "stdio does not reach an address", "use streamable_http, sse, websocket"
            refuse(problem, fix, key="transport", conflicting_key="url")
        return self
