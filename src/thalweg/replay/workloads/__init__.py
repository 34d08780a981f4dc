"""Scripted workloads: long threads that are the same every time, with their questions.

Recorded threads are real but differ in everything at once, and may not be shipped. A workload
is made up: its sizes, pauses and later uses follow what recorded sessions show, and since the
script knows what it said, every answer and every goal is known.

Two rules: the same name gives the same thread, to the byte, on every machine; nothing here
knows of any policy.
"""

from thalweg.replay.workloads.scripted import (
    SCHEME,
    TURNS,
    WORKLOADS,
    is_scripted,
    scripted,
    scripted_places,
)

__all__ = ["SCHEME", "TURNS", "WORKLOADS", "is_scripted", "scripted", "scripted_places"]
