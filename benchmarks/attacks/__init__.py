"""Attacks on a gateway, one row each: what was tried, and what came through."""
