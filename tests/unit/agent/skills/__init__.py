"""Skills: the format, the list, what is relevant."""
