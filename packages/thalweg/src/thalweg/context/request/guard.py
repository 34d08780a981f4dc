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
        price_model: str = "",
    ) -> None:
        self._count = count
        self._cached_count = cached_counter(count)
        self._sent = sent  # kept, so that no other object gets the identity of one of them
        self._tokens_by_identity = {id(message): tokens for message, tokens in sent}
        self._sent_by_id: dict[str, list[tuple[BaseMessage, int]]] = {}
        for message, tokens in sent:
            if message.id:
                self._sent_by_id.setdefault(message.id, []).append((message, tokens))
        self._limit = limit
        self._price_model = price_model  # whose price images have
        self.tokens = 0
        """Tokens of the request as it was about to be sent; 0 if none was."""
        self.model = ""
        """The model it was sent to, as `provider:name`: another middleware may have changed it."""
        self.behind: list[BaseMessage] = []
        """Messages that other middleware added at its end; they are in no log yet."""

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
        last_known = next(
            (index for index in reversed(range(len(batch))) if self._is_known(batch[index])), None
        )
        if last_known is None:
            return  # a call that another middleware makes for itself
        self.behind = batch[last_known + 1 :]
        self.model = model_in(kwargs.get("metadata") or {}) or self.model
        tokens = sum(self._tokens(message) for message in batch)
        self.tokens = tokens + count_tools(kwargs.get("invocation_params") or {}, self._count)
        if self.tokens > self._limit:
            raise TooLarge

    def _is_known(self, message: BaseMessage) -> bool:
        return id(message) in self._tokens_by_identity or message.id in self._sent_by_id

    def _tokens(self, message: BaseMessage) -> int:
        tokens_sent = self._tokens_by_identity.get(id(message))
        if tokens_sent is not None:
            return tokens_sent
        match self._sent_by_id.get(message.id or ""):
            case [(original, tokens)] if original == message:
                return tokens
        return sum(
            measure(parsed, self._cached_count, self._price_model).tokens
            for parsed in read_state([message])
        )


def model_in(metadata: Mapping[str, Any]) -> str:
    """Return the model of a call from its metadata, as `provider:name`; empty if it has none.

    Example:
        >>> model_in({"ls_provider": "google_genai", "ls_model_name": "models/gemini-3-pro"})
        'google_genai:gemini-3-pro'
    """
    provider, name = metadata.get("ls_provider"), metadata.get("ls_model_name")
    return f"{provider}:{str(name).removeprefix('models/')}" if provider and name else ""


def count_tools(parameters: Mapping[str, Any], count: Counter) -> int:
    """Count the tools of a request that the model sees: not those that are deferred."""
    tools = parameters.get("tools") or parameters.get("functions")
    if not isinstance(tools, Sequence):
        return 0
    shown = [
        tool for tool in tools if not (isinstance(tool, Mapping) and tool.get("defer_loading"))
    ]
    return count_text(tools_as_json(shown), count) if shown else 0


def tools_as_json(tools: Sequence[Any]) -> str:
    """Serialize tools as JSON, so that equal tools have equal texts."""
    return json.dumps(tools, sort_keys=True, ensure_ascii=False, default=str)


@lru_cache(maxsize=64)
def count_text(text: str, count: Counter) -> int:
    """Count a text that recurs in every request; the count is cached."""
    return count(text)


def cached_counter(count: Counter) -> Counter:
    """Make a counter that caches the counts of texts that recur in every request."""
    if hasattr(count, "count_message"):
        return count
    return lambda text: count_text(text, count)
