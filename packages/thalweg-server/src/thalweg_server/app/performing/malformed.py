"""Recognition of errors by which a provider's client reports an answer that it cannot read."""

import json
from collections.abc import Iterator
from traceback import walk_tb
from types import FrameType
from typing import Final
from urllib.parse import urlsplit

_CHAT_MODELS: Final = "langchain_core.language_models.chat_models"
_READERS: Final = frozenset(
    {
        "_create_chat_result",  # langchain-openai
        "_format_output",  # langchain-anthropic
        "agenerate_from_stream",  # these four: a stream without any part of an answer
        "generate_from_stream",
        "astream",
        "stream",
    }
)
"""Functions that convert a response to messages and fail if it is none.

They raise `ValueError`, `TypeError` or `AttributeError`. Found by sending HTML, text, truncated
JSON and empty bodies to langchain-openai 1.7 and langchain-anthropic 1.7."""
_ADDRESSES: Final = ("openai_api_base", "anthropic_api_url", "base_url")


def unreadable_answer(error: BaseException) -> str | None:
    """Return the host that sent an answer which is none of a chat model.

    Args:
        error: The error of a run.

    Returns:
        The host, with its port; empty if the client does not name it. `None` for another error.
    """
    if not isinstance(error, ValueError | TypeError | AttributeError):
        return None
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    calls = [frame for frame in frames if frame.f_globals.get("__name__") == _CHAT_MODELS]
    if not calls:
        return None
    is_json = isinstance(error, json.JSONDecodeError)
    if not is_json and frames[-1].f_code.co_name not in _READERS:
        return None
    return next(_hosts(calls), "")


def _hosts(calls: list[FrameType]) -> Iterator[str]:
    for frame in calls:
        model = frame.f_locals.get("self")
        for field in _ADDRESSES:
            address = getattr(model, field, None)
            if isinstance(address, str) and (host := urlsplit(address).netloc):
                yield host.rpartition("@")[2]
