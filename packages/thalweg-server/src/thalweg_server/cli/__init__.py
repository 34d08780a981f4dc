"""The commands of thalweg-server."""
