"""One model call of `ContextMiddleware`: from an agent's state to the answer, and its sessions.

May import the engine, the archive and `context.request`. Begin with `turn.py`.
"""
