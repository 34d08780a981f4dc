"""The commands of the recorder and of the replay."""

from typing import Final

COMMANDS: Final = {
    "replay": (
        "thalweg.cli.replay:replay",
        "Compare policies on recorded sessions: cost and losses.",
    ),
    "install": ("thalweg.cli.recorder.installing:install", "Record coding agents from now on."),
    "uninstall": (
        "thalweg.cli.recorder.installing:uninstall",
        "Take the recorder out of coding agents.",
    ),
    "import": (
        "thalweg.cli.recorder.importing:import_sessions",
        "Import sessions of coding agents.",
    ),
    "sessions": ("thalweg.cli.recorder.listing:sessions", "List imported sessions."),
    "search": ("thalweg.cli.recorder.searching:search", "Search all imported sessions."),
    "forget": ("thalweg.cli.recorder.forgetting:forget", "Forget imported sessions for good."),
    "mcp": ("thalweg.cli.recorder.serving:mcp", "Serve recorded sessions to agents over MCP."),
}
"""Where each command is, and its line of the help."""
