"""Contestants: who keeps a recorded thread inside a window, ours and others, behind one protocol.

Two rules: a contestant says what it would send and what it kept, never what that costs; what
belongs to another project is imported only by the file that drives it, when it is asked for.
"""
