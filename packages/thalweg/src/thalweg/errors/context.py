"""Errors of a context: pins, summaries, and requests that a provider refuses."""

from thalweg.errors.base import ThalwegError


class ContextError(ThalwegError):
    """A context cannot be built."""

    code = "context"


class PinError(ContextError):
    """Words to pin are not in a request at the position that was named."""

    code = "context.pin"

    position: int
    """The position that was named."""
    quote: str
    """The words."""

    def __str__(self) -> str:
        return (
            f"no request at position {self.position} says {self.quote[:80]!r}; "
            "copy the words exactly, from a message of the user"
        )


class SummaryError(ContextError):
    """A model's summary is no valid replacement of its messages."""

    code = "context.summary"

    problem: str
    """The problem with it."""
    text: str = ""
    """The beginning of the model's text."""

    def __init__(self, problem: str, text: str = "") -> None:
        super().__init__(problem, text[:200])

    def __str__(self) -> str:
        quoted_text = f": {self.text[:80]!r}" if self.text else ""
        return f"the model returned no usable summary: {self.problem}{quoted_text}"


class WindowExceededError(ContextError):
    """What cannot be compacted is larger than the window, after all steps of reduction."""

    code = "context.window_exceeded"

    needed: int
    """Size of the smallest context that could be built."""
    window: int
    """The limit of the request."""
    irreducible: tuple[str, ...]
    """What cannot be reduced, as `name: tokens`, largest first."""
    unit: str
    """What `needed` and `window` count: `tokens`, as the provider counts them, `bytes`, or `images
    and documents`."""

    def __str__(self) -> str:
        parts = ", ".join(self.irreducible)
        return (
            f"the smallest context needs {self.needed} {self.unit} and {self.window} fit; "
            f"parts that cannot shrink: {parts}; use a larger window or shorten these"
        )


class RefusedError(WindowExceededError):
    """A provider refused a request as too large, and the smaller ones after it."""

    code = "context.refused"

    kind: str
    """The exceeded limit: `tokens`, `sum` (with the answer), `bytes` or `media`."""
    model: str
    """The model that refused it, as `provider:name`."""
    message: str
    """The provider's error text."""

    def __str__(self) -> str:
        limit_phrase = _LIMIT_PHRASES.get(self.kind, self.kind)
        parts = ", ".join(self.irreducible)
        return (
            f"{self.model} refused a request of {self.needed} tokens ({limit_phrase}), and no "
            f"smaller one is possible; its message: {self.message[:300]!r}; "
            f"remaining parts: {parts}"
        )


class RejectedRequestError(ContextError):
    """A provider refused a request's content, and its repair, too.

    The provider's own error is the `__cause__`. The thread remains usable: its next request omits
    the refused content.
    """

    code = "context.rejected"

    model: str
    """The model that refused it, as `provider:name`."""
    status: int
    """The HTTP status."""
    message: str
    """The provider's error text."""
    tried: str
    """The changes before the retry; empty if there were none."""
    thread: str
    """Id of the thread."""

    def __str__(self) -> str:
        attempt = (
            f"sent again with {self.tried}" if self.tried else "no change could make it acceptable"
        )
        return (
            f"{self.model or 'the model'} refused the request ({self.status}): "
            f"{self.message[:300]!r}; {attempt}; the next request omits what was refused; "
            f"to see this request: thalweg thread show {self.thread} --context"
        )


_LIMIT_PHRASES = {
    "tokens": "too many tokens",
    "sum": "too many tokens with the answer",
    "bytes": "too many bytes",
    "media": "too many or too large images or documents",
}
