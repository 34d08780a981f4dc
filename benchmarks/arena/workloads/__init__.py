"""Scripted workloads: long threads that are the same every time, with their questions.

Recorded threads are real but differ in everything at once, and may not be shipped. A workload is
synthetic: its sizes, pauses and later uses follow those of recorded sessions, and since the script
generates the content, every answer and every goal is certain.

Two rules: the same name yields the same thread, to the byte, on every machine; nothing here depends
on any policy.
"""

from benchmarks.arena.workloads.scripted import (
    SCHEME,
    TURNS,
    WORKLOADS,
    is_scripted,
    scripted,
    scripted_places,
)

__all__ = ["SCHEME", "TURNS", "WORKLOADS", "is_scripted", "scripted", "scripted_places"]
