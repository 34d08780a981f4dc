"""The usage of one answer: as the provider reports it, or else by our own count."""

from dataclasses import replace

from langchain_core.messages import AIMessage

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
