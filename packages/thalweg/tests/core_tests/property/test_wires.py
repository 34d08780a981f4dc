"""Laws of the wires: nothing is changed, nothing is lost, and what is written is valid."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core_tests.property.wire_strategies import JUNK, TELL, Story, spoiled, stories
from thalweg.engine.entries import (
    Media,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    message_to_json,
)
from thalweg.engine.wires.registry import READERS, WIRES

steady = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
each_wire = pytest.mark.parametrize("name", sorted(WIRES))
each_reader = pytest.mark.parametrize("name", sorted(READERS))


def _stripped(messages: list[Message]) -> list[Message]:
    return [replace(message, origin=None) for message in messages]


@steady
@given(story=stories())
def test_what_nobody_touched_is_written_as_the_very_object_that_was_read(story: Story) -> None:
    """Signed reasoning and cached prefixes depend on it to the byte."""
    for name, wire in WIRES.items():
        items = TELL[name](story)
        written = wire.write(wire.read(items)[0])
        assert written == items, name
        assert all(a is b for a, b in zip(written, items, strict=True)), name


@steady
@given(story=stories(images_in_results=False))
def test_a_message_built_from_its_parts_says_what_the_original_said(story: Story) -> None:
    """What an edit does not touch in a message must survive the edit."""
    for name, wire in WIRES.items():
        items = TELL[name](story)
        assert wire.write(_stripped(wire.read(items)[0])) == items, name


@steady
@given(story=stories())
def test_a_call_goes_out_under_the_id_it_was_given_since(story: Story) -> None:
    """The engine assigns ids of its own where the recorded ones are missing, reused or too long."""
    for name, wire in WIRES.items():
        messages = _stripped(wire.read(TELL[name](story))[0])
        renamed = [_renamed(message, k) for k, message in enumerate(messages)]
        again, _ = wire.read(wire.write(renamed))
        ids = [c.id for m in again for c in m.calls]
        assert ids == [c.id for m in renamed for c in m.calls], name


def _renamed(message: Message, k: int) -> Message:
    parts = (
        replace(part, id=f"view_{k}_{n}") if isinstance(part, ToolCall) else part
        for n, part in enumerate(message.parts)
    )
    return replace(message, parts=tuple(parts))


@steady
@given(story=stories())
def test_images_in_results_stay_in_results(story: Story) -> None:
    """OpenAI's chat is not here: its results hold text only."""
    for name in ("langchain", "openai-responses"):
        items = TELL[name](story)
        assert WIRES[name].write(_stripped(WIRES[name].read(items)[0])) == items, name


@steady
@given(story=stories())
def test_well_formed_histories_are_read_without_a_note(story: Story) -> None:
    """A note is for what is odd."""
    for name, reader in READERS.items():
        assert reader.read(TELL[name](story))[1] == [], name


@each_wire
@steady
@given(data=st.data())
def test_anything_json_like_is_read_and_goes_back_as_it_came(
    name: str, data: st.DataObject
) -> None:
    """Without what a response has and no request may hold."""
    items = data.draw(JUNK | spoiled(name))
    written = WIRES[name].write(WIRES[name].read(items)[0])
    assert len(written) == len(items)
    for after, before in zip(written, items, strict=True):
        sent = _as_sent(name, before)
        assert after is before if sent is before else after == sent


_NOT_SENT = {"openai-chat": {"id", "annotations", "x"}}


def _as_sent(name: str, item: Any) -> Any:  # noqa: ANN401 (JSON)
    """See a message without what no request may hold; what is no message is unchanged."""
    gone = _NOT_SENT.get(name, set())
    if not isinstance(item, dict) or gone.isdisjoint(item) or item.get("role") not in _ROLES[name]:
        return item
    return {key: value for key, value in item.items() if key not in gone}


_ROLES: dict[str, tuple[str, ...]] = {
    "openai-chat": ("system", "developer", "user", "assistant", "tool", "function"),
}


@each_reader
@steady
@given(data=st.data())
def test_no_text_of_anything_json_like_is_lost(name: str, data: st.DataObject) -> None:
    """What a wire does not understand is still found in the log."""
    items = data.draw(JUNK | spoiled(name))
    messages, _ = READERS[name].read(items)
    kept = "\0".join(text for message in messages for text in _kept(message))
    for text in _content(items):
        assert text in kept


@each_reader
@steady
@given(data=st.data())
def test_anything_json_like_can_be_built_again(name: str, data: st.DataObject) -> None:
    """An edit may touch any message, however odd, and a request must still be made."""
    messages, _ = READERS[name].read(data.draw(JUNK | spoiled(name)))
    for target in WIRES.values():
        target.write(_stripped(messages))


FOREIGN = Opaque("elsewhere", '{"type": "odd"}')


@each_wire
@pytest.mark.parametrize("parts", [(FOREIGN,), (Text(""), FOREIGN), (Thinking("hm"), FOREIGN)])
@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
def test_a_message_of_foreign_parts_alone_is_still_a_message(
    name: str, parts: tuple[Part, ...], role: Role
) -> None:
    """Without it, a message would be empty, or two of one role would be side by side."""
    call = Message("assistant", (ToolCall("c1", "ls", "{}"),))
    (*_, last) = WIRES[name].write([call, Message(role, parts, answers="c1" * (role == "tool"))])
    assert json.dumps(FOREIGN.json)[1:-1] in json.dumps(WIRES[name].read([last])[0][-1].text)


@each_wire
def test_a_foreign_part_beside_words_is_left_out(name: str) -> None:
    """It means nothing to another provider, and the words are message enough."""
    (written,) = WIRES[name].write([Message("user", (Text("hi"), FOREIGN))])
    assert "odd" not in str(written)


def _content(value: object) -> Iterator[str]:
    """Every text of a JSON value, but the words that only name a kind or a role."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for inner in value:
            yield from _content(inner)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name not in {"type", "role"} or not isinstance(inner, str):
                yield from _content(inner)


def _kept(message: Message) -> Iterator[str]:
    yield from _unfolded(json.loads(message_to_json(message)))
    for part in message.parts:
        if isinstance(part, Media):
            yield f"data:{part.mime};base64,{part.data}"


def _unfolded(value: object) -> Iterator[str]:
    """Every text, and every text of the JSON that texts hold."""
    for text in _all_texts(value):
        yield text
        if text[:1] in {"{", "[", '"'}:
            try:
                inner = json.loads(text)
            except ValueError:
                continue
            yield from _unfolded(inner)


def _all_texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for inner in value:
            yield from _all_texts(inner)
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _all_texts(inner)


@steady
@given(story=stories())
def test_calls_and_results_cross_from_wire_to_wire(story: Story) -> None:
    """Reasoning does not: it is sent to no model but its author."""
    for source, target in product(READERS, WIRES):
        if source == target:
            continue
        pair = f"{source} to {target}"
        messages, _ = READERS[source].read(TELL[source](story))
        crossed, notes = WIRES[target].read(WIRES[target].write(messages))
        assert notes == [], pair
        assert _calls(crossed) == _calls(messages), pair
        assert _results(crossed) == _results(messages), pair
        assert _said(crossed) == _said(messages), pair
        assert not [p for m in crossed for p in m.parts if isinstance(p, Thinking)], pair


def _calls(messages: list[Message]) -> list[tuple[str, str, Any]]:
    return [(c.id, c.name, json.loads(c.arguments)) for m in messages for c in m.calls]


def _results(messages: list[Message]) -> list[tuple[str, str]]:
    return [(m.answers, m.text) for m in messages if m.role == "tool"]


def _said(messages: list[Message]) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in messages if m.role != "tool" and m.text]


@steady
@given(story=stories(), data=st.data())
def test_openai_takes_what_any_wire_read(story: Story, data: st.DataObject) -> None:
    """Results follow their calls at once, as text; the model's text is never empty."""
    for messages in _read_and_touched(story, data):
        waiting: list[str] = []
        for item in WIRES["openai-chat"].write(messages):
            if item["role"] == "tool":
                assert item["tool_call_id"] == waiting.pop(0)
                assert isinstance(item["content"], str)
                continue
            assert waiting == []
            waiting = [call["id"] for call in item.get("tool_calls") or ()]
            assert item["content"] or waiting


def _read_and_touched(story: Story, data: st.DataObject) -> Iterator[list[Message]]:
    """Read a story by each wire, and take the origin from some messages, as an edit does."""
    for name, reader in READERS.items():
        messages = reader.read(TELL[name](story))[0]
        touched = data.draw(st.lists(st.booleans(), min_size=len(messages), max_size=len(messages)))
        pairs = zip(messages, touched, strict=True)
        yield [replace(m, origin=None) if t else m for m, t in pairs]
