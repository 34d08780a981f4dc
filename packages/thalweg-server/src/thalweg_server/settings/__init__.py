"""`config.yaml`: parsed, validated and frozen.

Two rules: an error names the file, the line, the column, the key and a remedy; no secret is ever
shown.
"""

from thalweg_server.settings.loading import load_settings
from thalweg_server.settings.reloading import SettingsFile
from thalweg_server.settings.sections import (
    AgentSettings,
    GatewaySettings,
    McpServer,
    ModelSettings,
    Settings,
    SubagentSettings,
    SubagentsSettings,
    ToolSettings,
)

__all__ = [
    "AgentSettings",
    "GatewaySettings",
    "McpServer",
    "ModelSettings",
    "Settings",
    "SettingsFile",
    "SubagentSettings",
    "SubagentsSettings",
    "ToolSettings",
    "load_settings",
]
