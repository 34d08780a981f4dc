"""References in a request, as the model can follow them: by the name of the tool, or as notes.

Edits and structured summaries name the tool `recall`. In a request it may have another name, or not
be there at all: then a note states that the content is in the archive.
"""

import re
from dataclasses import replace

from thalweg.engine.entries import RECALL, Message, Part, Text, ToolCall
from thalweg.engine.prompts import prompt

_HANDLE = r"[a-z2-7]{16}(?:#[0-9A-Z-]{1,21})?"
_POINTER = rf'recall\(handle="{_HANDLE}"\)'
_RECALL_NAME = re.compile(r'\brecall(?=\((?:handle|query)=\\?")|(?<= older requests: )recall(?=\))')
"""The name of the tool, wherever it is to be called; quotes in arguments are escaped."""


def _prompt_pattern(name: str, **patterns: str) -> str:
    text = re.escape(prompt(name).text)
    for variable, pattern in patterns.items():
        text = text.replace(re.escape(f"{{{variable}}}"), pattern)
    return text


_NOTES = (
    (re.compile(_prompt_pattern("record_reading", handle=_HANDLE)), prompt("record_kept").text),
    (
        re.compile(_prompt_pattern("older_requests", count=r"(\d+)")),
        prompt("older_kept").text.replace("{count}", r"\1"),
    ),
    (re.compile(rf"(?<=moved to the archive); {_POINTER}"), ""),
    (re.compile(_POINTER.replace('"', r'\\?"')), prompt("kept").text),
)
"""Texts that a model without the tool cannot follow, and their replacements."""


def text_for_tool(text: str, tool: str) -> str:
    """Return a text whose references name a tool; as notes if it is empty.

    Example:
        >>> shown = '[2 lines moved to the archive; recall(handle="abcdefghijklmnop")]'
        >>> text_for_tool(shown, "look_back")
        '[2 lines moved to the archive; look_back(handle="abcdefghijklmnop")]'
        >>> text_for_tool(shown, "")
        '[2 lines moved to the archive]'
    """
    if tool == RECALL:
        return text
    if tool:
        return _RECALL_NAME.sub(tool, text)
    for pattern, note in _NOTES:
        text = pattern.sub(note, text)
    return text


def message_for_tool(message: Message, tool: str) -> Message:
    """Return a message whose references name a tool; the same object if nothing changes."""
    if tool == RECALL:
        return message
    parts = tuple(_part_for_tool(part, tool) for part in message.parts)
    return message if parts == message.parts else replace(message, parts=parts, origin=None)


def _part_for_tool(part: Part, tool: str) -> Part:
    match part:
        case Text(text=text):
            return replace(part, text=text_for_tool(text, tool))
        case ToolCall(arguments=arguments):
            return replace(part, arguments=text_for_tool(arguments, tool))
        case _:
            return part
