"""The last look at a request, when every other middleware is done with it.

What they add (a memory, a skill, a reminder) is seen by no middleware that stands before them.
LangChain tells its callbacks what a chat model is about to send, and lets one object.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage

from thalweg.middleware.wording import read_state
from thalweg.tokens import Counter, measure


class TooLarge(BaseException):
    """A request would not fit; it was not sent.

    No `Exception`: a middleware in between that tries again on any would only repeat it.
    """


class Boundary(BaseCallbackHandler):
    """Measure what is sent for one request, and stop what would not fit."""

    raise_error = True
    run_inline = True

    def __init__(self, count: Counter, known: Mapping[int, int], limit: int) -> None:
        self._count = count
        self._once = counted_once(count)
        self._known = known
        self._limit = limit
        self.tokens = 0
        """Of the request as it was about to be sent; 0 when none was."""
        self.model = ""
        """Who was to get it, as `provider:name`: another middleware may have chosen."""

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002 (LangChain's signature)
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,  # noqa: ARG002
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        """Measure; see `BaseCallbackHandler`.

        Raises:
            TooLarge: It is more than the limit.
        """
        ours = messages[0] if messages else []
        if not any(id(message) in self._known for message in ours):
            return  # a call that another middleware makes for itself
        unknown = [message for message in ours if id(message) not in self._known]
        told = kwargs.get("metadata") or {}
        if told.get("ls_provider") and told.get("ls_model_name"):
            self.model = f"{told['ls_provider']}:{told['ls_model_name']}"
        tokens = sum(self._known.get(id(message), 0) for message in ours)
        tokens += sum(measure(message, self._once).tokens for message in read_state(unknown))
        self.tokens = tokens + count_tools(kwargs.get("invocation_params") or {}, self._count)
        if self.tokens > self._limit:
            raise TooLarge


def count_tools(sent: Mapping[str, Any], count: Counter) -> int:
    """Count the tools of a request, as the provider gets them."""
    tools = sent.get("tools") or sent.get("functions")
    return count_text(written(tools), count) if isinstance(tools, Sequence) else 0


def written(tools: Sequence[Any]) -> str:
    """Write tools as one text that is the same whenever they are."""
    return json.dumps(tools, sort_keys=True, ensure_ascii=False, default=str)


@lru_cache(maxsize=64)
def count_text(text: str, count: Counter) -> int:
    """Count a text that comes again with every request, once."""
    return count(text)


def counted_once(count: Counter) -> Counter:
    """Make a counter for texts that come again with every request."""
    return lambda text: count_text(text, count)
