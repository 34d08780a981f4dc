"""The words a model reads, each in a file with its variables declared.

Two rules: no such words stand in code; a file uses every variable it declares and no other.
"""

from thalweg.prompts.loader import Prompt, prompt, prompts

__all__ = ["Prompt", "prompt", "prompts"]
