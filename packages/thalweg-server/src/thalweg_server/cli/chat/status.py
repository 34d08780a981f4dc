"""The line at the bottom of a chat: model, thread, tokens of the window, cost."""

from dataclasses import dataclass

from thalweg_server.api.usage import Usage
from thalweg_server.client.runs import MemoryMode

NOTHING = Usage()
NO_PRICE = "price unknown"
"""The cost of calls of a model without a published price, or on a machine of one's own."""
_CENT = 0.01
_THOUSAND, _MILLION = 1_000, 1_000_000


@dataclass(frozen=True, slots=True)
class Status:
    """The values of the status line.

    Attributes:
        model: The model that answered last, or is to answer.
        chosen_model: The model that the user chose, if any.
        tokens: Of the newest request.
        limit: Tokens that a request may have.
        before: Usage of the thread before this run.
        now: Usage of this run so far.
    """

    model: str = ""
    thread: str = ""
    tokens: int = 0
    limit: int = 0
    before: Usage = NOTHING
    now: Usage = NOTHING
    memory: MemoryMode = "on"
    chosen_model: str = ""

    @property
    def spent(self) -> Usage:
        """The usage of the thread."""
        return both(self.before, self.now)


def both(one: Usage, other: Usage) -> Usage:
    """Return the sum; its cost is `None` where either has calls without a price.

    Example:
        >>> both(Usage(calls=1, cost=0.5), Usage(calls=2, cost=0.25)).cost
        0.75
        >>> both(Usage(calls=1), Usage(calls=2, cost=0.25)).cost is None
        True
    """
    prices = [use.cost for use in (one, other) if use.calls or use.cost is not None]
    known = [price for price in prices if price is not None]
    return Usage(
        calls=one.calls + other.calls,
        input_tokens=one.input_tokens + other.input_tokens,
        cached_tokens=one.cached_tokens + other.cached_tokens,
        written_tokens=one.written_tokens + other.written_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cost=sum(known) if prices and len(known) == len(prices) else None,
        currency=other.currency if other.calls else one.currency,
    )


def status_line(status: Status, width: int) -> str:
    """Format it on one line; the least important parts are omitted if the line is too short.

    Example:
        >>> status_line(Status("small", "t1", 1_234, 8_000, memory="off"), 80)
        'small · t1 · 1.2k of 8.0k (15%) · memory off'
    """
    spent = status.spent
    parts = [
        (0, short_name(status.model)),
        (3, status.thread),
        (0, _window(status)),
        (2, _tokens(spent)),
        (1, _cost(spent)),
        (4, f"memory {status.memory}"),
    ]
    for least in (5, 4, 3, 2, 1):
        line = " · ".join(text for rank, text in parts if text and rank < least)
        if len(line) <= width:
            return line
    return line[: max(0, width)]


def short_name(model: str) -> str:
    """Return a model's name without the scheme, path and credentials of its server's address.

    Example:
        >>> short_name("openai:m@http://127.0.0.1:8080/v1"), short_name("ollama:qwen3:4b")
        ('m@127.0.0.1:8080', 'ollama:qwen3:4b')
    """
    name, at, address = model.rpartition("@http")
    if not at:
        return model
    host = address.partition("://")[2].partition("/")[0].rpartition("@")[2]
    return f"{name.partition(':')[2]}@{host}"


def _window(status: Status) -> str:
    if not status.limit:
        return ""
    share = round(100 * status.tokens / status.limit)
    return f"{short(status.tokens)} of {short(status.limit)} ({share}%)"


def _tokens(spent: Usage) -> str:
    if not spent.calls:
        return ""
    cached = f" ({short(spent.cached_tokens)} cached)" if spent.cached_tokens else ""
    return f"in {short(spent.input_tokens)}{cached}, out {short(spent.output_tokens)}"


def _cost(spent: Usage) -> str:
    if spent.cost is None:
        return NO_PRICE if spent.calls else ""
    return money(spent.cost, spent.currency)


def short(number: int) -> str:
    """Write a number of tokens short.

    Example:
        >>> [short(number) for number in (0, 999, 1_000, 128_000, 1_500_000)]
        ['0', '999', '1.0k', '128k', '1.5M']
    """
    if number < _THOUSAND:
        return str(number)
    if number < 100 * _THOUSAND:
        return f"{number / _THOUSAND:.1f}k"
    if number < _MILLION:
        return f"{number / _THOUSAND:.0f}k"
    return f"{number / _MILLION:.1f}M"


def money(amount: float, currency: str) -> str:
    """Write an amount so that its first digits are seen.

    Example:
        >>> money(0.00042, "USD"), money(1.5, "USD"), money(0.0, "EUR")
        ('$0.0004', '$1.50', '0.00 EUR')
    """
    digits = f"{amount:.2f}" if amount >= _CENT or not amount else f"{amount:.4f}"
    return f"${digits}" if currency == "USD" else f"{digits} {currency}"
