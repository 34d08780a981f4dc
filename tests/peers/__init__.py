"""Beside the installed peers: the same calls on both sides."""
