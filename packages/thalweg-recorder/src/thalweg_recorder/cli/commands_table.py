"""The commands of the recorder and of the replay."""

from typing import Final

COMMANDS: Final = {
    "record": ("thalweg_recorder.cli.record:record", "Record coding agents; search and read back."),
    "replay": (
        "thalweg_recorder.cli.replay:replay",
        "Compare policies on recorded sessions: cost and losses.",
    ),
}
"""Where each command is, and its line of the help."""
