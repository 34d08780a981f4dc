"""The turns that memory stores of a thread: the user's requests and the final answers.

Whole messages, none cut. Insertions of the harness, tool calls and tool results are no turns; but
the messages before an answer decide how far the answer is to be trusted.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Literal

from thalweg.engine.entries import Message
from thalweg.redaction.secrets import redact
from thalweg_memory.facts.gates.form import own_words, without_markers
from thalweg_memory.facts.settings import WEB_TOOLS
from thalweg_memory.facts.values import Statement, Trust

OWN_TOOLS = frozenset(
    {"remember", "recall_memory", "forget_memory", "write_todos", "compact_conversation"}
)
"""Tools of the harness whose results hold nobody's words but the user's, the agent's and its own:
what may be recalled is of such trust."""
_MEMORY = re.compile(
    r"<(?P<tag>(?:[\w-]+_)?memor(?:y|ies))(?:\s[^<>]*)?>.*?(?:</(?P=tag)\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
"""A block of memory that was put into a text; one that nothing closes extends to the end."""


def captured_turns(
    messages: Iterable[tuple[int, Message]],
    *,
    thread: str,
    now: str,
    since: int = 0,
    before: Trust = Trust.ASSISTANT,
    web_tools: Sequence[str] = WEB_TOOLS,
    owners: Sequence[str] = (),
    zone: str = "",
) -> list[Statement]:
    """Take the turns out of a stretch of a thread.

    Taken in pieces or at once, a thread yields the same turns, if each piece is passed the trust
    after the one before it (`trust_after`), or begins with the messages before it.

    Args:
        messages: With their positions in the log, oldest first.
        thread: The thread's id.
        now: The time of a message that has none.
        since: Messages below this position only decide how far answers are to be trusted.
        before: The trust that an answer before the first message would have had.
        web_tools: Names of tools whose results are of trust `WEB`; `*` matches anything.
        owners: Names of the memory's owner. Without any, the first name in the thread is the
            owner's. A user's message of another name is another person's: it is told with that
            name, and no fact of the owner's rests on it.
        zone: The owner's time zone, an IANA name; empty for UTC.

    Returns:
        Turns with `seq` 0: the store numbers them.

    Example:
        >>> from thalweg.engine.entries import Text
        >>> said = [(0, Message("user", (Text("I live in Oslo."),), uid="m1"))]
        >>> [(t.text, t.trust.name) for t in captured_turns(said, thread="t", now="")]
        [('I live in Oslo.', 'USER')]
    """
    turns: list[Statement] = []
    trust, names, owners = before, _Names(), [*owners]
    for position, message in messages:
        trust = min(trust, names.trust_of(message, web_tools))
        role = _role(message)
        if role == "user" and message.name and not owners:
            owners = [message.name]
        if role is None or position < since:
            continue
        is_own = role == "user" and (not message.name or message.name in owners)
        text = redact(own_words(without_memory(message.text))).strip()
        if not without_markers(text).strip():
            continue
        turns.append(
            Statement(
                thread=thread,
                seq=0,
                role=role,
                text=text,
                said_at=message.at or now,
                trust=Trust.USER if is_own else min(trust, Trust.ASSISTANT),
                author=message.name,
                position=position,
                uid=message.uid or _digest(thread, position, message),
                zone=zone,
            )
        )
    return turns


def trust_after(
    messages: Iterable[Message],
    before: Trust = Trust.ASSISTANT,
    web_tools: Sequence[str] = WEB_TOOLS,
) -> Trust:
    """Return how far an answer after some messages could be trusted.

    A page that was read once can be repeated in any later run, so trust never rises again
    within a thread.
    """
    names = _Names()
    return min((before, *(names.trust_of(message, web_tools) for message in messages)))


class _Names(dict[str, str]):
    """Names of the tools that were called, by the ids of the calls: a result may have none."""

    def trust_of(self, message: Message, web_tools: Sequence[str]) -> Trust:
        """Return how far a message lowers the trust of text written after it.

        A result whose tool is unknown may be from anywhere.
        """
        self.update((call.id, call.name) for call in message.calls)
        if message.role != "tool":
            return Trust.ASSISTANT
        name = (message.name or self.get(message.answers, "")).casefold()
        if name in OWN_TOOLS:
            return Trust.ASSISTANT
        is_web = not name or any(fnmatchcase(name, pattern.casefold()) for pattern in web_tools)
        return Trust.WEB if is_web else Trust.TOOL


def _role(message: Message) -> Literal["user", "assistant"] | None:
    """Return whose turn a message is; `None` if it is no turn."""
    if message.kind != "said" or '"lc_source"' in message.extra:
        return None
    if message.role == "user":
        return "user"
    if message.role == "assistant" and not message.calls:
        return "assistant"
    return None


def without_memory(text: str) -> str:
    """Remove blocks of memory from a text: recalled memory is never learned as a user's statement.

    Example:
        >>> without_memory("<memory>likes tea</memory>What do I like?")
        'What do I like?'
    """
    return _MEMORY.sub("", text)


def _digest(thread: str, position: int, message: Message) -> str:
    """Name a message that has no id of its own."""
    named = json.dumps([thread, position, message.role, message.text])
    return hashlib.sha256(named.encode()).hexdigest()[:32]
