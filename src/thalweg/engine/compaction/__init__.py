"""When a thread is compacted, and which edits do it.

Pure. Begin with `policy.py` (when), then `plan.py` (which edits) and `structured_summary.py` (what
replaces the messages).
"""
