"""Sections of `config.yaml`, one file per section."""
