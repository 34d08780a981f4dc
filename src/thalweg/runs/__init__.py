"""Runs that outlive the process that performs them, and their journals.

Two rules: nothing is shown of a run that is not durable in its journal, and nobody writes to it
but who holds its newest claim.
"""
