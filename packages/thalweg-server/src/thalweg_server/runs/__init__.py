"""Runs that outlive the process that performs them, and their journals.

Two rules: only events that are durable in a run's journal are visible, and only the holder of its
newest claim writes to it.
"""
