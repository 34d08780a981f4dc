"""Tests of the strict doubles, with the real clients of the providers."""
