"""`ContextMiddleware`: the context of a LangChain agent, from its state to the provider and back.

Begin with `middleware.py` and `turn/turn.py`. May import the archive and the engine.
"""
