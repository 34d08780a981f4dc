"""Errors of a context: pins, summaries, and requests that a provider refuses."""

from thalweg.errors.base import ThalwegError


class ContextError(ThalwegError):
    """A context cannot be built."""

    code = "context"


class PinError(ContextError):
    """Words to pin are not in a request at the position that was named.

    Attributes:
        position: The position that was named.
        quote: The words.
    """

    code = "context.pin"

    def __init__(self, position: int, quote: str) -> None:
        super().__init__(position, quote)
        self.position = position
        self.quote = quote

    def __str__(self) -> str:
        return (
            f"no request at position {self.position} says {self.quote[:80]!r}; "
            "copy the words exactly, from a message of the user"
        )


class SummaryError(ContextError):
    """A model's summary is no valid replacement of its messages.

    Attributes:
        problem: What is wrong with it.
        text: The beginning of the model's text.
    """

    code = "context.summary"

    def __init__(self, problem: str, text: str = "") -> None:
        super().__init__(problem, text[:200])
        self.problem = problem
        self.text = text[:200]

    def __str__(self) -> str:
        wrote = f": {self.text[:80]!r}" if self.text else ""
        return f"the model returned no usable summary: {self.problem}{wrote}"


class WindowExceededError(ContextError):
    """What cannot be compacted is larger than the window, after all steps of reduction.

    Attributes:
        needed: Tokens in the smallest context that could be built.
        window: Tokens the request may fill.
        irreducible: What cannot be reduced, as `name: tokens`, largest first.
    """

    code = "context.window_exceeded"

    def __init__(self, needed: int, window: int, irreducible: tuple[str, ...]) -> None:
        super().__init__(needed, window, irreducible)
        self.needed = needed
        self.window = window
        self.irreducible = irreducible

    def __str__(self) -> str:
        parts = ", ".join(self.irreducible)
        return (
            f"the smallest context needs {self.needed} tokens and {self.window} fit; "
            f"parts that cannot shrink: {parts}; use a larger window or shorten these"
        )


class RefusedError(WindowExceededError):
    """A provider refused a request as too large, and the smaller ones after it.

    Attributes:
        kind: What was too much: `tokens`, `sum` (with the answer), `bytes` or `media`.
        model: The model that refused it, as `provider:name`.
        said: The provider's error text.
    """

    code = "context.refused"

    def __init__(
        self,
        needed: int,
        window: int,
        irreducible: tuple[str, ...],
        *,
        kind: str,
        model: str,
        said: str,
    ) -> None:
        super().__init__(needed, window, irreducible)
        self.kind = kind
        self.model = model
        self.said = said

    def __reduce__(self) -> tuple[object, ...]:
        return _refused, (*self.args, self.kind, self.model, self.said)

    def __str__(self) -> str:
        what = _TOO_MUCH.get(self.kind, self.kind)
        parts = ", ".join(self.irreducible)
        return (
            f"{self.model} refused a request of {self.needed} tokens ({what}), and no "
            f"smaller one is possible; its message: {self.said[:300]!r}; remaining parts: {parts}"
        )


class RejectedRequestError(ContextError):
    """A provider refused a request's content, and its repair, too.

    The provider's own error is the `__cause__`. The thread remains usable: its next request omits
    what was refused.

    Attributes:
        model: The model that refused it, as `provider:name`.
        status: The HTTP status.
        said: The provider's error text.
        tried: The changes before the retry; empty if there were none.
        thread: Id of the thread.
    """

    code = "context.rejected"

    def __init__(self, model: str, status: int, said: str, tried: str, thread: str) -> None:
        super().__init__(model, status, said, tried, thread)
        self.model = model
        self.status = status
        self.said = said
        self.tried = tried
        self.thread = thread

    def __str__(self) -> str:
        tried = (
            f"sent again with {self.tried}" if self.tried else "no change could make it acceptable"
        )
        return (
            f"{self.model or 'the model'} refused the request ({self.status}): "
            f"{self.said[:300]!r}; {tried}; the next request omits what was refused; "
            f"to see this request: thalweg thread show {self.thread} --context"
        )


_TOO_MUCH = {
    "tokens": "too many tokens",
    "sum": "too many tokens with the answer",
    "bytes": "too many bytes",
    "media": "too many or too large images or documents",
}


def _refused(
    needed: int, window: int, irreducible: tuple[str, ...], kind: str, model: str, said: str
) -> RefusedError:
    return RefusedError(needed, window, irreducible, kind=kind, model=model, said=said)
