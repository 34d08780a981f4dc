"""Execution of one run: the agent's work, its events, approvals, and errors.

Begin with `performing.py`.
"""
