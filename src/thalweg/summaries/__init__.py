"""Summaries by a model: asked for, read, checked against the originals, joined, shown.

Two rules: pure; what a model wrote is data, and no claim of it is kept that the originals do
not bear out.
"""
