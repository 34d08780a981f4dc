"""Recorded threads: the logs that agents leave behind, read.

Two rules: what cannot be understood is kept or noted, never silently dropped; no log reads a
provider's parts itself, it hands the provider's objects to the wire.
"""

from thalweg.recordings.base import Recording
from thalweg.recordings.files import find_recordings, read_recording
from thalweg.recordings.sessions import coding_sessions

__all__ = ["Recording", "coding_sessions", "find_recordings", "read_recording"]
