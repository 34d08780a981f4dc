"""The usage of one call: as the provider reports it, or else by our own count."""

from dataclasses import replace

from langchain_core.messages import AIMessage

from thalweg.archive.threads.journal import TurnRecord
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.tokens import Counter
from thalweg.engine.wires.fields import as_usage


def answer_usage(answer: AIMessage, text: str, model: str, count: Counter) -> Usage:
    """Return the usage of an answer.

    Args:
        answer: The answer.
        text: Its text, which is counted if the provider reports no usage.
        model: `provider:name` of the model.
        count: Counts tokens.
    """
    usage = as_usage(answer.usage_metadata) or Usage(output=count(text))
    return replace(usage, model=model)


def request_usage(page: TurnRecord) -> Usage:
    """Return the usage of a request that got no answer: our count, as its provider counts.

    Example:
        >>> page = TurnRecord(kind="call", at=0, length=1, tokens={"system": 90, "messages": 10})
        >>> request_usage(page).input
        100
    """
    factor, _ = page.calibration.get(page.model, (1.0, 0))
    tokens = sum(page.tokens.values())
    cached = 0 if page.is_cold else min(page.same, tokens)
    return Usage(round(factor * tokens), round(factor * cached), model=page.model)
