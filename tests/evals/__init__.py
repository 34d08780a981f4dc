"""Tests of the targeted evals."""
