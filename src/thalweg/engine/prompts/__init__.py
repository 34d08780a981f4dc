"""The texts for a model, each in a file that declares its variables.

Two rules: no such text is in code; a file uses every variable it declares and no other.
"""

from thalweg.engine.prompts.loader import Prompt, prompt, prompts

__all__ = ["Prompt", "prompt", "prompts"]
