"""The commands of the recorder and of the replay."""

from typing import Final

FORMER_NAMES = {"install": "on", "uninstall": "off", "sessions": "list"} | {
    name: name for name in ("import", "search", "forget", "mcp")
}
"""Commands before there was the group `record`; they work for one release more."""
COMMANDS: Final = {
    "record": ("thalweg_recorder.cli.record:record", "Record coding agents; search and read back."),
    "replay": (
        "thalweg_recorder.cli.replay:replay",
        "Compare policies on recorded sessions: cost and losses.",
    ),
} | {former: (f"thalweg_recorder.cli.record:former.{former}", "") for former in FORMER_NAMES}
"""Where each command is, and its line of the help."""
