"""The tables of a memory in SQLite or PostgreSQL: rows, commits, jobs, and undo.

May import `thalweg.database`. Begin with `tables.py`.
"""
