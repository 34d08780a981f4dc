"""Tool calls in the text of an answer, for models that write them in a form of their own.

llama.cpp parses calls in the form of the model's template. Of Qwen2.5-Coder, which writes them into
blocks of code, it parses none (docs/models.md).
"""

import json
from uuid import uuid4

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import ToolCall, tool_call
from langchain_core.outputs import ChatGeneration, ChatResult


def with_calls(result: ChatResult) -> ChatResult:
    """Return an answer with the calls at the end of its text, whether such tools exist or not."""
    message = result.generations[0].message
    if not isinstance(message, AIMessage) or message.tool_calls:
        return result
    words, calls = read_calls(message.text)
    if not calls:
        return result
    read = message.model_copy(update={"content": words, "tool_calls": calls})
    return result.model_copy(update={"generations": [ChatGeneration(message=read)]})


def read_calls(text: str) -> tuple[str, list[ToolCall]]:
    r"""Separate the tool calls at the end of an answer from the text before them.

    Example:
        >>> words, calls = read_calls('Let me look.\n{"name": "ls", "arguments": {"path": "/"}}')
        >>> words, calls[0]["name"], calls[0]["args"]
        ('Let me look.', 'ls', {'path': '/'})
        >>> read_calls("An object is written {}.")
        ('An object is written {}.', [])
    """
    words, brace, rest = text.partition("{")
    rest, calls = brace + rest, list[ToolCall]()
    while rest.startswith("{"):
        try:
            found, end = json.JSONDecoder().raw_decode(rest)
        except ValueError:
            return text, []
        name, arguments = found.get("name"), found.get("arguments", found.get("parameters", {}))
        if not (isinstance(name, str) and name and isinstance(arguments, dict)):
            return text, []
        calls.append(tool_call(name=name, args=arguments, id=f"call_{uuid4().hex}"))
        rest = rest[end:].lstrip(" \n,`")
    if rest.strip() or not calls:
        return text, []
    return words.rstrip().removesuffix("```json").strip(), calls
