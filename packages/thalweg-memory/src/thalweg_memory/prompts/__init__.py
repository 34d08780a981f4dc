"""The texts of this package for a model, each in a file that declares its variables."""

from functools import partial

from thalweg.engine.prompts import load, load_all

prompt = partial(load, __name__)
"""Load a prompt of this package by its name; see `load`."""
prompts = partial(load_all, __name__)
"""Load every prompt of this package, sorted by name."""
