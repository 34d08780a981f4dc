"""The commands of the recorder and of the replay."""

from typing import Final

COMMANDS: Final = {
    "replay": (
        "thalweg_recorder.cli.replay:replay",
        "Compare policies on recorded sessions: cost and losses.",
    ),
    "install": ("thalweg_recorder.cli.installing:install", "Record coding agents from now on."),
    "uninstall": (
        "thalweg_recorder.cli.installing:uninstall",
        "Take the recorder out of coding agents.",
    ),
    "import": (
        "thalweg_recorder.cli.importing:import_sessions",
        "Import sessions of coding agents.",
    ),
    "sessions": ("thalweg_recorder.cli.listing:sessions", "List imported sessions."),
    "search": ("thalweg_recorder.cli.searching:search", "Search all imported sessions."),
    "forget": ("thalweg_recorder.cli.forgetting:forget", "Forget imported sessions for good."),
    "mcp": ("thalweg_recorder.cli.serving:mcp", "Serve recorded sessions to agents over MCP."),
}
"""Where each command is, and its line of the help."""
