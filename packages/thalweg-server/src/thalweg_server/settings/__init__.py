"""`config.yaml`: parsed, validated and frozen.

Two rules: an error names the file, the line, the column, the key and a remedy; no secret is ever
shown.
"""

from thalweg_server.settings.loading import load_settings
from thalweg_server.settings.reloading import SettingsFile
from thalweg_server.settings.sections import (
    AgentSettings,
    GatewayKey,
    GatewaySettings,
    McpServer,
    ModelSettings,
    OidcSettings,
    SandboxSettings,
    Settings,
    SkillsSettings,
    StorageSettings,
    SubagentSettings,
    SubagentsSettings,
    ToolGroup,
    ToolSettings,
)

__all__ = [
    "AgentSettings",
    "GatewayKey",
    "GatewaySettings",
    "McpServer",
    "ModelSettings",
    "OidcSettings",
    "SandboxSettings",
    "Settings",
    "SettingsFile",
    "SkillsSettings",
    "StorageSettings",
    "SubagentSettings",
    "SubagentsSettings",
    "ToolGroup",
    "ToolSettings",
    "load_settings",
]
