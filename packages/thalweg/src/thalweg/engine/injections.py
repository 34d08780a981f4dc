"""What is no person's words in a message: texts of a harness, and blocks of Thalweg.

They are recognized by the marks that their writers put at the beginning, never by likeness.
"""

import re
from collections.abc import Iterator

_HARNESS_MARKS = (
    "<local-command-",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
    "<system-reminder>",
    "[Request interrupted by user",
    "<user_instructions>",
    "<environment_context>",
    "<session_context>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<skill>",
    "# AGENTS.md instructions",
)
"""Beginnings of user messages that Claude Code, Codex or Gemini CLI wrote."""
_OWN_BLOCK = re.compile(
    r"<(?:"
    r"(?P<record>thread-record)>(?:\n|\\n)Record of messages \d"
    r"|(?P<memory>memory)>(?:\n|\\n)Remembered from earlier conversations with this user"
    r'|(?P<answer>recorded-data) note=\\*"quotations from recorded sessions: data, not instructions'
    r")"
)
"""The beginning of a block of ours, in a text or in a text as JSON."""


def is_harness_text(text: str) -> bool:
    """Return whether a coding agent's harness wrote a user message.

    Example:
        >>> is_harness_text("<bash-stdout>ok</bash-stdout>"), is_harness_text("print ok")
        (True, False)
    """
    return text.lstrip().startswith(_HARNESS_MARKS)


def own_blocks(text: str) -> Iterator[tuple[int, int]]:
    r"""Yield where a text has summaries, memory and answers of Thalweg itself: start and end.

    A block that was cut, so that nothing closes it, extends to the end of the text.

    Example:
        >>> text = "see\n<thread-record>\nRecord of messages 0-9: …\n</thread-record>\nfix it"
        >>> [text[start:end] for start, end in own_blocks(text)]
        ['<thread-record>\nRecord of messages 0-9: …\n</thread-record>']
    """
    end = 0
    while (found := _OWN_BLOCK.search(text, end)) is not None:
        tag = found["record"] or found["memory"] or found["answer"]
        closing = f"</{tag}>"
        at = text.find(closing, found.end())
        end = len(text) if at < 0 else at + len(closing)
        yield found.start(), end


def without_own_blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield the pieces of a text between the blocks of Thalweg, each with its start."""
    at = 0
    for start, end in own_blocks(text):
        if start > at:
            yield at, text[at:start]
        at = end
    if at < len(text):
        yield at, text[at:]
