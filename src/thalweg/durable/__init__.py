"""What outlives a process: who lives, and LangGraph's checkpoints.

Two rules: who lives is told by the operating system or the database server, never by a clock; and
owners never see each other's checkpoints.
"""
