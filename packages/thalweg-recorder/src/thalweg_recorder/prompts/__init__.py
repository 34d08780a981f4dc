"""The texts of this package for a model, each in a file that declares its variables."""

from thalweg.engine.prompts import Prompt, load, load_all


def prompt(name: str) -> Prompt:
    """Load a prompt; cached.

    Raises:
        ValueError: The file is malformed, or declares other variables than it uses.
    """
    return load(__name__, name)


def prompts() -> list[Prompt]:
    """Load every prompt, sorted by name."""
    return load_all(__name__)
