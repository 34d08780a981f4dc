"""Unit tests of the room `settings`."""
