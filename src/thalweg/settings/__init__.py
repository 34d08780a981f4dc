"""`config.yaml`: parsed, validated and frozen.

Two rules: an error names the file, the line, the key and a remedy; no secret is ever shown.
"""

from typing import TYPE_CHECKING

from thalweg.lazy import lazily

if TYPE_CHECKING:
    from thalweg.settings.agents import (
        AgentSettings,
        SkillsSettings,
        SubagentSettings,
        SubagentsSettings,
    )
    from thalweg.settings.gateway import GatewayKey, GatewaySettings, OidcSettings
    from thalweg.settings.loading import load_settings
    from thalweg.settings.models import ModelSettings
    from thalweg.settings.reloading import SettingsFile
    from thalweg.settings.sandbox import SandboxSettings
    from thalweg.settings.storage import StorageSettings
    from thalweg.settings.tools import McpServer, ToolGroup, ToolSettings
    from thalweg.settings.whole import Settings

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

__getattr__, __dir__ = lazily(
    __name__,
    {
        "AgentSettings": "thalweg.settings.agents",
        "GatewayKey": "thalweg.settings.gateway",
        "GatewaySettings": "thalweg.settings.gateway",
        "McpServer": "thalweg.settings.tools",
        "ModelSettings": "thalweg.settings.models",
        "OidcSettings": "thalweg.settings.gateway",
        "Settings": "thalweg.settings.whole",
        "SandboxSettings": "thalweg.settings.sandbox",
        "SettingsFile": "thalweg.settings.reloading",
        "SkillsSettings": "thalweg.settings.agents",
        "StorageSettings": "thalweg.settings.storage",
        "SubagentSettings": "thalweg.settings.agents",
        "SubagentsSettings": "thalweg.settings.agents",
        "ToolGroup": "thalweg.settings.tools",
        "ToolSettings": "thalweg.settings.tools",
        "load_settings": "thalweg.settings.loading",
    },
)
