"""Secrets, which neither an archive of recorded sessions nor a memory may store."""
