"""How a conversation is written for a model in a file."""

import re
from importlib.resources import files
from typing import Final

from thalweg.models.local.gguf import Gguf

_CHATML: Final = "<|im_start|>"
_UNTAUGHT: Final = re.compile(r"qwen\W?2(\.5)?\W?coder", re.IGNORECASE)
"""Models whose own template offers tools in marks that they were never taught to answer in: they
write the call into a block of code, and llama.cpp takes that for plain words."""


def own_template(model: Gguf) -> str:
    """Give the template to use in place of the model's own; empty where its own is good.

    Example:
        >>> coder = Gguf("Qwen2.5 Coder 7B", "qwen2", "Q4_K_M", 32_768, "<|im_start|> tools")
        >>> own_template(coder)[:3], own_template(Gguf("Other", "llama", "Q8_0", 8_192, "tools"))
        ('{#-', '')
    """
    if _CHATML not in model.template:
        return ""
    if "tools" in model.template and not _UNTAUGHT.search(model.name):
        return ""
    return (files(__package__ or "") / "plain_tools.jinja").read_text(encoding="utf-8")


def in_words(model: Gguf) -> str:
    """Say in a word or two how tools are offered to a model.

    Example:
        >>> in_words(Gguf("Base", "llama", "Q8_0", 8_192, ""))
        'none: a base model, it cannot chat'
    """
    if not model.template:
        return "none: a base model, it cannot chat"
    if own_template(model):
        return "tools by ours"
    return "tools" if "tools" in model.template else "no tools of its own"
