"""Targeted evals: does compaction keep what matters, and can what left be found again?"""
