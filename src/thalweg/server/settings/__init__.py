"""`config.yaml`: parsed, validated and frozen.

Two rules: an error names the file, the line, the key and a remedy; no secret is ever shown.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazily

if TYPE_CHECKING:
    from thalweg.server.settings.loading import load_settings
    from thalweg.server.settings.reloading import SettingsFile
    from thalweg.server.settings.sections.agents import (
        AgentSettings,
        SkillsSettings,
        SubagentSettings,
        SubagentsSettings,
    )
    from thalweg.server.settings.sections.gateway import GatewayKey, GatewaySettings, OidcSettings
    from thalweg.server.settings.sections.models import ModelSettings
    from thalweg.server.settings.sections.sandbox import SandboxSettings
    from thalweg.server.settings.sections.storage import StorageSettings
    from thalweg.server.settings.sections.tools import McpServer, ToolGroup, ToolSettings
    from thalweg.server.settings.whole import Settings

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
        "AgentSettings": "thalweg.server.settings.sections.agents",
        "GatewayKey": "thalweg.server.settings.sections.gateway",
        "GatewaySettings": "thalweg.server.settings.sections.gateway",
        "McpServer": "thalweg.server.settings.sections.tools",
        "ModelSettings": "thalweg.server.settings.sections.models",
        "OidcSettings": "thalweg.server.settings.sections.gateway",
        "Settings": "thalweg.server.settings.whole",
        "SandboxSettings": "thalweg.server.settings.sections.sandbox",
        "SettingsFile": "thalweg.server.settings.reloading",
        "SkillsSettings": "thalweg.server.settings.sections.agents",
        "StorageSettings": "thalweg.server.settings.sections.storage",
        "SubagentSettings": "thalweg.server.settings.sections.agents",
        "SubagentsSettings": "thalweg.server.settings.sections.agents",
        "ToolGroup": "thalweg.server.settings.sections.tools",
        "ToolSettings": "thalweg.server.settings.sections.tools",
        "load_settings": "thalweg.server.settings.loading",
    },
)
