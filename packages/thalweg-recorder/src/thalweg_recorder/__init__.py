"""The flight recorder: sessions of other agents in the archive, searched and read back.

Two rules: what a source once contained remains in the archive, even if the source is deleted; no
row of a source is stored twice.
"""

from thalweg_recorder.importing import Imported, import_recording, import_sessions
from thalweg_recorder.place import open_recorder, recorder_home
from thalweg_recorder.sessions import RecordedSession, list_sessions

__all__ = [
    "Imported",
    "RecordedSession",
    "import_recording",
    "import_sessions",
    "list_sessions",
    "open_recorder",
    "recorder_home",
]
