"""Agents of the server: built from settings, with the tools and models that settings name.

Begin with `agents.py`.
"""
