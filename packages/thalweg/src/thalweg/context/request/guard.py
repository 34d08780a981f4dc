"""The request guard: it checks a request after every other middleware.

Middleware does not see what inner middleware adds (a memory, a skill, a reminder). LangChain calls
its callbacks before a chat model sends a request, and a callback may raise.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage

from thalweg.context.request.message_writer import read_state
from thalweg.engine.tokens import Counter, measure


class TooLarge(BaseException):
    """A request would not fit; it was not sent.

    No `Exception`: a middleware in between that tries again on any would only repeat it.
    """


class RequestGuard(BaseCallbackHandler):
    """Measures all messages sent for one request, and stops a request that would not fit."""

    raise_error = True
    run_inline = True

    def __init__(
        self,
        count: Counter,
        sent: Sequence[tuple[BaseMessage, int]],
        limit: int,
        priced: str = "",
    ) -> None:
        self._count = count
        self._once = counted_once(count)
        self._sent = sent  # kept, so that no other object gets the identity of one of them
        self._known = {id(message): tokens for message, tokens in sent}
        self._named: dict[str, list[tuple[BaseMessage, int]]] = {}
        for message, tokens in sent:
            if message.id:
                self._named.setdefault(message.id, []).append((message, tokens))
        self._limit = limit
        self._priced = priced  # whose price images have
        self.tokens = 0
        """Of the request as it was about to be sent; 0 when none was."""
        self.model = ""
        """Who was to get it, as `provider:name`: another middleware may have chosen."""
        self.behind: list[BaseMessage] = []
        """What other middleware added at its end: in no log yet, if it ever will be."""

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
        batch = messages[0] if messages else []
        last = next((k for k in reversed(range(len(batch))) if self._is_known(batch[k])), None)
        if last is None:
            return  # a call that another middleware makes for itself
        self.behind = batch[last + 1 :]
        metadata = kwargs.get("metadata") or {}
        if metadata.get("ls_provider") and metadata.get("ls_model_name"):
            name = str(metadata["ls_model_name"]).removeprefix("models/")
            self.model = f"{metadata['ls_provider']}:{name}"
        tokens = sum(self._tokens(message) for message in batch)
        self.tokens = tokens + count_tools(kwargs.get("invocation_params") or {}, self._count)
        if self.tokens > self._limit:
            raise TooLarge

    def _is_known(self, message: BaseMessage) -> bool:
        return id(message) in self._known or message.id in self._named

    def _tokens(self, message: BaseMessage) -> int:
        known = self._known.get(id(message))
        if known is not None:
            return known
        match self._named.get(message.id or ""):
            case [(original, tokens)] if original == message:
                return tokens
        return sum(measure(read, self._once, self._priced).tokens for read in read_state([message]))


def count_tools(sent: Mapping[str, Any], count: Counter) -> int:
    """Count the tools of a request that the model sees: not those that are deferred."""
    tools = sent.get("tools") or sent.get("functions")
    if not isinstance(tools, Sequence):
        return 0
    shown = [one for one in tools if not (isinstance(one, Mapping) and one.get("defer_loading"))]
    return count_text(written(shown), count) if shown else 0


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
