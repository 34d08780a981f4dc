"""Thalweg: conversations and tasks of any length inside a model's window, with nothing lost."""

__all__: list[str] = []
