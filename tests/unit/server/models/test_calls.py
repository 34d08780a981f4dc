"""Calls of tools in the words of an answer."""

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from thalweg.server.models.local.calls import ChunkBuffer, read_calls, with_calls
from thalweg.server.models.local.chat import with_one_tool

names = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
arguments = st.dictionaries(names, st.text(max_size=20) | st.integers() | st.booleans())
calls = st.lists(st.tuples(names, arguments), min_size=1, max_size=3)


def written(made: list[tuple[str, dict[str, object]]], indent: int | None = None) -> str:
    calls = ({"name": name, "arguments": args} for name, args in made)
    return "\n".join(json.dumps(call, indent=indent) for call in calls)


def chunks(text: str, cuts: list[int]) -> list[ChatGenerationChunk]:
    ends = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    pieces = [text[a:b] for a, b in pairwise(ends)]
    return [ChatGenerationChunk(message=AIMessageChunk(content=piece)) for piece in pieces]


def heard(held: ChunkBuffer, stream: list[ChatGenerationChunk]) -> AIMessageChunk:
    told = [out for chunk in stream for out in held.take(chunk)] + list(held.end())
    whole = AIMessageChunk(content="")
    for chunk in told:
        whole = whole + chunk.message  # type: ignore[assignment]  # of two chunks a chunk
    return whole


@given(made=calls, fenced=st.booleans(), indent=st.none() | st.just(2))
def test_calls_are_read_as_they_were_written(
    made: list[tuple[str, dict[str, object]]], *, fenced: bool, indent: int | None
) -> None:
    text = f"```json\n{written(made, indent)}\n```" if fenced else written(made, indent)

    assert read_calls(text) == ("", made)


@given(st.text(max_size=80))
def test_words_without_a_call_stay_as_they_are(text: str) -> None:
    words, found = read_calls(text)

    assert found or words == text


@given(text=st.text(max_size=60), cuts=st.lists(st.integers(0, 60)), is_offered=st.booleans())
def test_a_stream_without_a_call_is_passed_on_to_the_letter(
    text: str, cuts: list[int], *, is_offered: bool
) -> None:
    whole = heard(ChunkBuffer(is_offered=is_offered), chunks(text, cuts))

    assert whole.text == text or whole.tool_calls


@given(made=calls, cuts=st.lists(st.integers(0, 200)))
def test_a_stream_that_is_a_call_becomes_one_and_says_nothing(
    made: list[tuple[str, dict[str, object]]], cuts: list[int]
) -> None:
    whole = heard(ChunkBuffer(is_offered=True), chunks(written(made), cuts))

    assert [(call["name"], call["args"]) for call in whole.tool_calls] == made
    assert whole.text == ""


def test_nothing_is_held_back_where_no_tool_is_offered() -> None:
    held = ChunkBuffer(is_offered=False)
    (told,) = held.take(ChatGenerationChunk(message=AIMessageChunk(content='{"a": 1}')))

    assert told.text == '{"a": 1}'


def test_an_answer_whose_calls_were_read_keeps_them() -> None:
    call = {"name": "ls", "args": {}, "id": "c1"}
    message = AIMessage('{"name": "x"}', tool_calls=[call])
    result = ChatResult(generations=[ChatGeneration(message=message)])

    assert with_calls(result) is result


def test_a_call_of_a_tool_that_is_not_there_reaches_the_agent() -> None:
    message = AIMessage('I will.\n{"name": "fly", "arguments": {"to": "Oslo"}}')
    result = with_calls(ChatResult(generations=[ChatGeneration(message=message)]))
    read = result.generations[0].message

    assert isinstance(read, AIMessage)
    assert [(call["name"], call["args"]) for call in read.tool_calls] == [("fly", {"to": "Oslo"})]
    assert read.text == "I will."


def test_one_tool_that_must_be_called_is_the_only_one_offered() -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in ("ls", "cat")]
    named = {"type": "function", "function": {"name": "cat"}}
    asked = with_one_tool({"tools": tools, "tool_choice": named, "stop": None})

    assert asked == {"tools": tools[1:], "tool_choice": "required", "stop": None}
    assert with_one_tool({"tools": tools, "tool_choice": "auto"})["tools"] == tools
