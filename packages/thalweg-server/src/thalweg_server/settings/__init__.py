"""`config.yaml`: parsed, validated and frozen.

Two rules: an error names the file, the line, the key and a remedy; no secret is ever shown.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg_server.settings.loading import load_settings
    from thalweg_server.settings.reloading import SettingsFile
    from thalweg_server.settings.sections.agents import (
        AgentSettings,
        SkillsSettings,
        SubagentSettings,
        SubagentsSettings,
    )
    from thalweg_server.settings.sections.gateway import GatewayKey, GatewaySettings, OidcSettings
    from thalweg_server.settings.sections.models import ModelSettings
    from thalweg_server.settings.sections.sandbox import SandboxSettings
    from thalweg_server.settings.sections.storage import StorageSettings
    from thalweg_server.settings.sections.tools import McpServer, ToolGroup, ToolSettings
    from thalweg_server.settings.whole import Settings

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

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "AgentSettings": "thalweg_server.settings.sections.agents",
        "GatewayKey": "thalweg_server.settings.sections.gateway",
        "GatewaySettings": "thalweg_server.settings.sections.gateway",
        "McpServer": "thalweg_server.settings.sections.tools",
        "ModelSettings": "thalweg_server.settings.sections.models",
        "OidcSettings": "thalweg_server.settings.sections.gateway",
        "Settings": "thalweg_server.settings.whole",
        "SandboxSettings": "thalweg_server.settings.sections.sandbox",
        "SettingsFile": "thalweg_server.settings.reloading",
        "SkillsSettings": "thalweg_server.settings.sections.agents",
        "StorageSettings": "thalweg_server.settings.sections.storage",
        "SubagentSettings": "thalweg_server.settings.sections.agents",
        "SubagentsSettings": "thalweg_server.settings.sections.agents",
        "ToolGroup": "thalweg_server.settings.sections.tools",
        "ToolSettings": "thalweg_server.settings.sections.tools",
        "load_settings": "thalweg_server.settings.loading",
    },
)
