"""The archive: every message of every thread, durable, searchable, by handle."""
