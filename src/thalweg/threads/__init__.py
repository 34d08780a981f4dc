"""A thread at work: its log, its journal, and the engine that stands on both.

Two rules: whatever leaves a context is in the log before; every turn can be made again from
the log and the journal alone.
"""
