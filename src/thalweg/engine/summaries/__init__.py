"""Summaries by a model: request, parse, check against the originals, join, render.

Two rules: pure; a model's text is data, and a claim that the originals do not support is
dropped.
"""
