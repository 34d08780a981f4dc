"""The history of Thalweg's own tables, in PostgreSQL and in SQLite files.

Two rules: one history for the tables of all components, each version in SQL of its own; in
PostgreSQL no row of an owner is in a table without a wall (`thalweg.database.migrations.walls`).

A component that brings tables adds one module to `versions`, whose `NUMBER` follows the newest and
is the new `HEAD`, and appends it to `history.VERSIONS`.
"""
