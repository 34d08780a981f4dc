"""Finding the file of a local model, and making a chat model of it."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.errors import ConfigError
from thalweg.models.local.gguf import Gguf, read_gguf
from thalweg.models.local.process import Load
from thalweg.models.local.shelf import Shelf
from thalweg.models.local.template import calls_tools, own_template
from thalweg.models.wanted import Wanted

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

LOCAL_WINDOW = 8_192
"""Tokens of a window that nobody named, or what the model was trained for if that is less. On a
CPU a full one of these is read in minutes, and its memory is a fraction of the model's; the tools
of a whole agent fit."""


def local_model(wanted: Wanted, home: Path) -> "BaseChatModel":
    """Make a chat model of a GGUF file. It is loaded when it is first asked something.

    Args:
        wanted: Its `model` is the path of a file, or the name of one that was pulled.
        home: Thalweg's folder, where pulled ones are.

    Raises:
        ConfigError: There is no such file, it is none, or a package is missing.
    """
    path = Shelf(home).find(wanted.model, where=wanted.where)
    for module in ("xllamacpp", "langchain_openai"):
        if find_spec(module) is None:
            problem = f"the package {module} is not installed"
            raise ConfigError(wanted.where, problem, "pip install 'thalweg[local]'")
    from thalweg.models.local.chat import LocalChat  # noqa: PLC0415 (imports LangChain)

    gguf = read_gguf(path)
    window = wanted.window or min(gguf.context or LOCAL_WINDOW, LOCAL_WINDOW)
    options: dict[str, Any] = dict(wanted.options)
    load = Load(
        path=path,
        window=_checked(wanted, gguf, window),
        threads=int(options.pop("threads", 0) or _cores()),
        template=own_template(gguf),
    )
    calls = bool(options.pop("tool_calling", calls_tools(gguf)))
    answer = wanted.max_output or longest_answer(window)
    return LocalChat.of(load, path.stem, answer, options, calls=calls)


def longest_answer(window: int) -> int:
    """Bound an answer whose length nobody named: a small model may never come to an end.

    Example:
        >>> longest_answer(4_096), longest_answer(32_768)
        (512, 4096)
    """
    return max(256, window // 8)


def _checked(wanted: Wanted, gguf: Gguf, window: int) -> int:
    if gguf.context and window > gguf.context:
        problem = f"a window of {window} tokens is more than the {gguf.context} it was trained for"
        raise ConfigError(wanted.where, problem, f"set window to {gguf.context} or less")
    return window


def _cores() -> int:
    """Count the cores that may be used."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
