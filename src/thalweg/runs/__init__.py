"""Runs that outlive the process that performs them, and their journals."""
