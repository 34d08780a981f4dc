"""Deferred tools in requests: the tools a client binds, a body's content, and the search tool.

Begin with `tool_layout.py`. Loaded only if `ContextPolicy.defer_tools` is on.
"""
