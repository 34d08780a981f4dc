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
    if _CHATML not in model.template or calls_tools(model):
        return ""
    return (files(__package__ or "") / "plain_tools.jinja").read_text(encoding="utf-8")


def calls_tools(model: Gguf) -> bool:
    """Tell whether a model was taught to call tools, as far as its template says.

    A model that was not may still call one when it is shown how. But it calls them where nobody
    asked as well, and wordings do not change that.
    """
    return "tools" in model.template and not _UNTAUGHT.search(model.name)


def in_words(model: Gguf) -> str:
    """Say in a word or two whether a model calls tools.

    Example:
        >>> in_words(Gguf("Base", "llama", "Q8_0", 8_192, ""))
        'none: a base model, it cannot chat'
    """
    if not model.template:
        return "none: a base model, it cannot chat"
    return "calls tools" if calls_tools(model) else "does not call tools well"
