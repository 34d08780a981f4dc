"""State that outlives a process: liveness of processes, and LangGraph's checkpoints.

Two rules: the operating system or the database server determines liveness, never a clock; an
owner never sees another owner's checkpoints.
"""
