"""Replay: recorded threads under one or more policies, offline, with a report."""
