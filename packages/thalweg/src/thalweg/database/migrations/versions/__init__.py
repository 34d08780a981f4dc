"""The versions, oldest first. A version that was released never changes.

A version contains the SQL of its tables and imports no component: the statements are those of its
date. It adds row-level security to each table with rows of owners (`database.migrations.walls`).
"""
