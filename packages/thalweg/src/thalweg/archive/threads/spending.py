"""What one answer of a chat model cost, as its provider counts or else as we do."""

from dataclasses import replace

from langchain_core.messages import AIMessage

from thalweg.engine.pricing.usage import Usage
from thalweg.engine.tokens import Counter
from thalweg.engine.wires.fields import as_usage


def spent_on(answer: AIMessage, words: str, model: str, count: Counter) -> Usage:
    """Return the usage of an answer.

    Args:
        answer: The answer.
        words: Its text, which is counted if the provider reports no usage.
        model: `provider:name` of the model.
        count: Counts tokens.
    """
    usage = as_usage(answer.usage_metadata) or Usage(output=count(words))
    return replace(usage, model=model)
