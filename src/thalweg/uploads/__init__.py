"""Files that people send: what may come in, and what text is in them."""
