"""Files that people send: what may come in, and what text is in them.

Two rules: what a file is, its content and its name say alike, or it does not come in; what
others wrote is parsed in a process of its own, which may be killed.
"""
