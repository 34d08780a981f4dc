"""Messages that go to LangChain and come back."""

from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.utils import get_buffer_string

from benchmarks.arena.contestants.conversation import Conversation, blocks_of, without_chance
from thalweg.engine.entries import Media, Message, Opaque, Part, Text, Thinking, ToolCall
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.items import WindowItem

PARTS: list[tuple[Part, ...]] = [
    (Text("plain"),),
    (Text("one"), Text("two", extra='{"anthropic": {"cache_control": 1}}')),
    (Thinking("deep", "signed"), Text("so"), ToolCall("c1", "ls", '{"path": "."}')),
    (ToolCall("c1", "ls", "no json"),),
    (Media("image/png", data="aGk="), Text("see")),
    (Opaque("gemini", '{"odd": 1}'),),
]


@pytest.mark.parametrize("parts", PARTS)
def test_what_was_given_and_is_sent_unchanged_is_the_same_item(parts: tuple[Part, ...]) -> None:
    """Also as a copy; anything else is another one, in its place."""
    talk = Conversation(exact_counter())
    item = WindowItem(Message("assistant", parts), 7, 12)
    written = talk.written(item)
    copied = written.model_copy(deep=True)
    other = written.model_copy(update={"content": "[cleared]", "tool_calls": []})

    assert talk.item(written) is talk.item(copied) is item
    assert talk.is_given(item)
    changed = talk.item(other)
    assert (changed.position, changed.message.text) == (7, "[cleared]")
    assert not talk.is_given(changed)
    assert talk.item(other.model_copy()) is changed


def test_files_that_are_named_by_chance_have_the_same_name_each_time() -> None:
    """And nothing else that looks like chance is touched."""
    one, two = (f"saved to /conversation_history/session_{uuid4().hex}.md." for _ in range(2))
    large = f"/conversation_history/{uuid4()}.md"
    said = f"commit {uuid4().hex}"

    assert without_chance(one) == without_chance(two) != one
    assert without_chance(large) != large
    assert without_chance(said) == said


def test_a_transcript_is_split_where_its_messages_are() -> None:
    """A transcript is split correctly with any texts of messages, and with any text around it."""
    messages = [HumanMessage('</message>\n<message type="ai">no'), AIMessage("yes")]
    transcript = f"Read this.\n{get_buffer_string(messages, format='xml')}\n</messages>\nNow."

    alone = [blocks_of(get_buffer_string([message], format="xml")) for message in messages]
    assert blocks_of(transcript) == [block for blocks in alone for block in blocks]
    assert len(blocks_of(transcript)) == 2
    assert blocks_of("nothing of the kind") == []
