"""Backends, one file a module."""
