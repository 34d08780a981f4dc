"""Formats of logs for research, in addition to those that Thalweg reads itself.

`FORMATS` is an argument of `read_recording` and `find_recordings`. One file per format, as in
`thalweg_recorder.recordings.formats`.
"""

from benchmarks.formats import atif, dialogues, event_stream, inspect_log, swe_agent, traces
from thalweg_recorder.recordings.files import FORMATS as SHIPPED

*_SPECIFIC, _ANY_CHAT = SHIPPED
FORMATS = (
    swe_agent.FORMAT,
    traces.FORMAT,
    atif.FORMAT,
    inspect_log.FORMAT,
    *_SPECIFIC,
    dialogues.FORMAT,
    event_stream.FORMAT,
    _ANY_CHAT,
)
"""Every format, specific ones before general ones."""
