"""One request to a provider: adapted to the model, measured, checked, and repaired if refused.

May import the engine. Begin with `messages.py` and `last_check.py`.
"""
