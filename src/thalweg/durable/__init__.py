"""Durable work on an existing engine: what a dead process left is taken up by another.

Two rules: who lives is told by the operating system or the database server, never by a clock; and
dbos is known to `engine` alone, which imports it when it opens.
"""
