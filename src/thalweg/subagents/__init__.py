"""Runs of agents inside an agent: their limits, their ledger, the report each gives back."""
