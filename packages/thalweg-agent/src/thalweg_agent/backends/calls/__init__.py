"""Calls of a backend as values, and backends of other packages that take them.

May import the protocol. Begin with `operations.py`.
"""
