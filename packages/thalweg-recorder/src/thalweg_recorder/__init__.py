"""The flight recorder: sessions of other agents in the archive, searched and read back.

Two rules: the recorded content of a source remains in the archive, even if the source is deleted;
no row of a source is stored twice.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg_recorder.importing import Imported, import_recording, import_sessions
    from thalweg_recorder.place import open_recorder
    from thalweg_recorder.recordings.agents import AgentPlaces
    from thalweg_recorder.recordings.formats.agent_rows import row_format
    from thalweg_recorder.sessions import RecordedSession, list_sessions

__all__ = [
    "AgentPlaces",
    "Imported",
    "RecordedSession",
    "import_recording",
    "import_sessions",
    "list_sessions",
    "open_recorder",
    "row_format",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "AgentPlaces": "thalweg_recorder.recordings.agents",
        "Imported": "thalweg_recorder.importing",
        "RecordedSession": "thalweg_recorder.sessions",
        "import_recording": "thalweg_recorder.importing",
        "import_sessions": "thalweg_recorder.importing",
        "list_sessions": "thalweg_recorder.sessions",
        "open_recorder": "thalweg_recorder.place",
        "row_format": "thalweg_recorder.recordings.formats.agent_rows",
    },
)
