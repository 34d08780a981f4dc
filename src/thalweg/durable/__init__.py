"""Durable work on an existing engine: what a dead process left is taken up by another."""
