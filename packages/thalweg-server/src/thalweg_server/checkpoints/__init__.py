"""LangGraph's checkpoints for many owners, in SQLite or PostgreSQL.

Begin with `owners.py`.
"""
