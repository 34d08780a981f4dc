"""The requests of a trace as messages of a thread, checked by the rules of providers."""

import json
from collections.abc import Iterable, Iterator

from strict_llm.rules import anthropic as anthropic_rules
from strict_llm.rules import chat as chat_rules
from thalweg.engine.entries import Message, Text, ToolCall
from thalweg.engine.window.validity import check
from thalweg.engine.wires.registry import WIRES, split_system
from thalweg_evals.trace import TracedMessage


def as_message(message: TracedMessage) -> Message:
    """Return the message that was sent.

    Example:
        >>> as_message(TracedMessage("user", "Hello")).text
        'Hello'
    """
    calls = tuple(
        ToolCall(call.id, call.name, json.dumps(dict(call.arguments), ensure_ascii=False))
        for call in message.calls
    )
    texts = (Text(message.text),) if message.text else ()
    return Message(
        message.role,
        (*texts, *calls),
        answers=message.answers,
        name=message.name,
        is_error=message.is_error,
    )


def refusals(messages: Iterable[TracedMessage]) -> Iterator[str]:
    """Yield the reasons why a provider would refuse a request; none for a valid one.

    The checks are the common rules of all providers, and those of OpenAI and of Anthropic in their
    own words.

    Example:
        >>> next(
        ...     refusals(
        ...         [TracedMessage("user", "Hello"), TracedMessage("tool", "42", answers="c1")]
        ...     )
        ... )
        'message 2 is a result that no call right before it waits for'
    """
    sent = [as_message(one) for one in messages]
    yield from check(sent)
    chat = {"model": "any", "messages": WIRES["openai-chat"].write(sent)}
    yield from (f"OpenAI: {problem.message}" for problem in chat_rules.problems(chat))
    system, others = split_system("anthropic", WIRES["anthropic"].write(sent))
    body = {"model": "any", "max_tokens": 1, "messages": others}
    body |= {"system": system} if system else {}
    yield from (f"Anthropic: {problem.message}" for problem in anthropic_rules.problems(body))
