"""Validators of facts: a model proposes, code decides.

Two rules: a fact requires evidence in the user's own words; trust depends on the source of a text,
and nothing raises it.
"""
