"""Runs of agents inside an agent: their limits, their ledger, the report each gives back.

Two rules: a child always comes back with a report, whatever stopped it; what it changed comes
back as changes, never as the whole of a state.
"""
