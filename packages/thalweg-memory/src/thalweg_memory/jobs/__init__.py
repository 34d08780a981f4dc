"""Durable work off the run's path: learning from threads.

Two rules: work is found in the store, never only in a process; doing it twice changes nothing.
"""
