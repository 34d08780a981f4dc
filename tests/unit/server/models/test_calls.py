"""Calls of tools in the words of an answer."""

import json

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from thalweg.server.models.local.calls import read_calls, with_calls
from thalweg.server.models.local.chat import with_one_tool

names = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
arguments = st.dictionaries(names, st.text(max_size=20) | st.integers() | st.booleans())
calls = st.lists(st.tuples(names, arguments), min_size=1, max_size=3)


@given(made=calls, fenced=st.booleans(), indent=st.none() | st.just(2))
def test_calls_are_read_as_they_were_written(
    made: list[tuple[str, dict[str, object]]], *, fenced: bool, indent: int | None
) -> None:
    asked = ({"name": name, "arguments": args} for name, args in made)
    text = "\n".join(json.dumps(call, indent=indent) for call in asked)
    words, found = read_calls(f"```json\n{text}\n```" if fenced else text)

    assert (words, [(call["name"], call["args"]) for call in found]) == ("", made)


@given(st.text(max_size=80) | st.text(alphabet='{}[]":,a `\n', max_size=30))
def test_words_without_a_call_stay_as_they_are(text: str) -> None:
    words, found = read_calls(text)

    assert found or words == text


def test_words_behind_an_object_make_it_an_example() -> None:
    text = 'Write {"name": "ls", "arguments": {}} to list files.'

    assert read_calls(text) == (text, [])


def test_an_answer_whose_calls_were_read_keeps_them() -> None:
    call = {"name": "ls", "args": {}, "id": "c1"}
    message = AIMessage('{"name": "x"}', tool_calls=[call])
    result = with_calls(ChatResult(generations=[ChatGeneration(message=message)]))

    assert [one["name"] for one in message.tool_calls] == ["ls"]
    assert result.generations[0].text == '{"name": "x"}'


def test_a_call_of_a_tool_that_is_not_there_reaches_the_agent() -> None:
    message = AIMessage('I will.\n{"name": "fly", "arguments": {"to": "Oslo"}}')
    result = with_calls(ChatResult(generations=[ChatGeneration(message=message)]))
    read = result.generations[0].message

    assert isinstance(read, AIMessage)
    assert [(call["name"], call["args"]) for call in read.tool_calls] == [("fly", {"to": "Oslo"})]
    assert (read.text, result.generations[0].text) == ("I will.", "I will.")


def test_one_tool_that_must_be_called_is_the_only_one_offered() -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in ("ls", "cat")]
    named = {"type": "function", "function": {"name": "cat"}}
    asked = with_one_tool({"tools": tools, "tool_choice": named, "stop": None})

    assert asked == {"tools": tools[1:], "tool_choice": "required", "stop": None}
    assert with_one_tool({"tools": tools, "tool_choice": "auto"})["tools"] == tools
