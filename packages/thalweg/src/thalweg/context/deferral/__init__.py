"""Deferred tools in requests: what a client binds, what a body says, and the tool that finds them.

Begin with `shelf.py`. Loaded only where `ContextPolicy.defer_tools` is on.
"""
