"""The same calls on ours and on the installed peer; skipped where it is not installed."""
