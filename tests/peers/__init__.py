"""Ours and the installed peers, asked the same."""
