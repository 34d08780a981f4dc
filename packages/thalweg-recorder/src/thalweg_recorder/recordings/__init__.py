"""Recorded threads: parsers for the logs that agents write.

Two rules: what cannot be parsed is kept or noted, never silently dropped; no log format parses a
provider's parts itself, it passes the provider's objects to the wire.
"""

from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.recordings.files import find_recordings, read_recording
from thalweg_recorder.recordings.sessions import coding_sessions

__all__ = ["Recording", "coding_sessions", "find_recordings", "read_recording"]
