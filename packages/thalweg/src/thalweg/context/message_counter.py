"""Token counters of the caller's own, which count LangChain's messages."""

from collections.abc import Callable, Iterable

from langchain_core.messages import BaseMessage, HumanMessage

from thalweg.engine.entries import Message
from thalweg.engine.tokens import Counter, exact_counter
from thalweg.engine.wires.langchain import LangChainWire
from thalweg.errors import ConfigError

TokenCounter = Callable[[Iterable[BaseMessage]], int]
"""Returns the tokens of messages, as LangChain's `token_counter` does."""
_PROBE = "Which rivers meet here?"
_FIX = (
    "give a function of a list of messages that returns their tokens, an int; for a counter of "
    "texts: lambda messages: sum(count(message.text) for message in messages)"
)


class MessageCounter:
    """Counts each message by a function of LangChain's messages, media included.

    A text is counted as a user's message, without what the function adds around one.

    Args:
        token_counter: The function. It is called twice here, to validate it.

    Raises:
        ConfigError: It cannot count messages.
    """

    def __init__(self, token_counter: TokenCounter) -> None:
        self._token_counter = token_counter
        counts = [self._probe(text) for text in (_PROBE[:1], _PROBE)]
        if not 1 <= counts[0] < counts[1]:
            problem = f"it returned {counts[0]} for 1 character and {counts[1]} for {len(_PROBE)}"
            raise ConfigError("token_counter", problem, _FIX)
        self._frame = counts[0] - 1

    def _probe(self, text: str) -> int:
        try:
            counted: object = self._token_counter([HumanMessage(text)])
        except Exception as error:
            problem = f"it raised {type(error).__name__}: {error}"
            raise ConfigError("token_counter", problem, _FIX) from error
        if not isinstance(counted, int) or isinstance(counted, bool):
            problem = f"it returned {type(counted).__name__} for a message"
            raise ConfigError("token_counter", problem, _FIX)
        return counted

    def __call__(self, text: str) -> int:
        """Return the tokens of a text."""
        if not text:
            return 0
        return max(1, self._token_counter([HumanMessage(text)]) - self._frame)

    def count_message(self, message: Message) -> int:
        """Return the tokens of a message, which the function gets as an object of LangChain's."""
        written = LangChainWire().write([message])
        return self._token_counter(written) if written else 0


def as_message_counter(token_counter: TokenCounter | None) -> Counter:
    """Return the counter of an engine: by the caller's function, else the exact one."""
    return exact_counter() if token_counter is None else MessageCounter(token_counter)
