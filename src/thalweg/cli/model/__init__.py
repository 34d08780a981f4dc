"""`thalweg model`: models in files.

Two rules: nothing counts as a model before it was checked; what is removed is asked about.
"""

from thalweg.cli.model.commands import model

__all__ = ["model"]
