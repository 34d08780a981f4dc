"""Runs of agents inside an agent: their limits, their task ledger, and their reports.

Two rules: a subagent always returns a report, however its run ended; it returns changes of the
state, never a whole state.
"""
