"""Searches for files by name and by content: globs, ripgrep, and matches of a text.

Begin with `globs.py`.
"""
