"""What one answer of a chat model cost, as its provider counts or else as we do."""

from langchain_core.messages import AIMessage

from thalweg.archive.threads.journal import AuxiliaryUsage
from thalweg.engine.tokens import Counter
from thalweg.engine.wires.fields import cache_written


def spent_on(answer: AIMessage, words: str, model: str, count: Counter) -> AuxiliaryUsage:
    """Return the usage of an answer.

    Args:
        answer: The answer.
        words: Its text, which is counted if the provider reports no usage.
        model: `provider:name` of the model.
        count: Counts tokens.
    """
    usage = answer.usage_metadata
    if usage is None:
        return AuxiliaryUsage(calls=1, output=count(words), model=model)
    details = usage.get("input_token_details", {})
    return AuxiliaryUsage(
        calls=1,
        input=usage["input_tokens"],
        cached=details.get("cache_read") or 0,
        written=cache_written(details),
        output=usage["output_tokens"],
        model=model,
    )
