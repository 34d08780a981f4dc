"""Adapters of other systems, as installed; protocol: `thalweg_recorder.replay.contestant`.

Two rules: a contestant reports what it would send and what it keeps, never the cost; another
project's packages are imported only by the file that drives it, on demand.
"""
