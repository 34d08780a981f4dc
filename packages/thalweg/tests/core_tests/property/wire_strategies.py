"""Histories in the dialects of the providers: well-formed ones, and anything JSON-like.

A well-formed history is drawn once as a story and written in each dialect, in the one way the
dialect has to express it.
"""

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_to_dict,
)

WORDS = st.text(min_size=1, max_size=20).filter(str.strip)
NAMES = st.sampled_from(["ls", "read_file", "搜索", "mcp__tasks__add"])
SIGNATURES = st.binary(min_size=3, max_size=12).map(lambda b: base64.b64encode(b).decode())
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.text(max_size=6), VALUES, max_size=3)


@dataclass(frozen=True)
class Call:
    """A call and what it returned."""

    id: str
    name: str
    arguments: dict[str, Any]
    result: str
    failed: bool
    image: str
    """Base64 of a picture the tool returned, or empty."""


@dataclass(frozen=True)
class Step:
    """The user (or the tools) has a turn, then the model."""

    said: str
    """Empty after tool calls: then their results are all the model is sent."""
    image: str
    thought: str
    signature: str
    text: str
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Story:
    """A history, in no dialect."""

    system: str
    steps: tuple[Step, ...]
    cached: bool
    """Whether the provider's own fields are next to text and results."""


@st.composite
def stories(draw: st.DrawFn, *, images_in_results: bool = True) -> Story:
    """Draw a history with parallel calls, thinking, images and failures."""
    images = st.just("") | SIGNATURES
    shown = images if images_in_results else st.just("")
    steps: list[Step] = []
    ids = 0
    for _ in range(draw(st.integers(1, 4))):
        calls = []
        for _ in range(draw(st.integers(0, 3))):
            ids += 1
            calls.append(
                Call(
                    f"c{ids}",
                    draw(NAMES),
                    draw(ARGUMENTS),
                    draw(WORDS),
                    draw(st.booleans()),
                    draw(shown),
                )
            )
        after_calls = bool(steps and steps[-1].calls)
        said = draw(st.just("") | WORDS) if after_calls else draw(WORDS)
        image = draw(images) if said else ""
        text = draw(WORDS) if not calls else draw(st.just("") | WORDS)
        steps.append(
            Step(said, image, draw(st.just("") | WORDS), draw(SIGNATURES), text, tuple(calls))
        )
    return Story(draw(st.just("") | WORDS), tuple(steps), draw(st.booleans()))


def openai_chat(story: Story) -> list[Any]:
    """Write a story as chat messages."""
    items: list[Any] = [{"role": "system", "content": story.system}] if story.system else []
    open_calls: tuple[Call, ...] = ()
    for step in story.steps:
        items += [{"role": "tool", "content": c.result, "tool_call_id": c.id} for c in open_calls]
        if step.said:
            user: dict[str, Any] = {"role": "user", "content": step.said}
            if step.image:
                url = {"url": f"data:image/png;base64,{step.image}", "detail": "low"}
                user["content"] = [
                    {"type": "text", "text": step.said},
                    {"type": "image_url", "image_url": url},
                ]
            items.append(user)
        model: dict[str, Any] = {"role": "assistant", "content": step.text or None}
        if step.thought:
            model["reasoning_content"] = step.thought
        if step.calls:
            model["tool_calls"] = [
                {
                    "id": c.id,
                    "type": "function",
                    "function": {"name": c.name, "arguments": json.dumps(c.arguments)},
                }
                for c in step.calls
            ]
        if story.cached:
            model |= {"refusal": None}
        items.append(model)
        open_calls = step.calls
    return items


def openai_responses(story: Story) -> list[Any]:
    """Write a story as response items."""
    items: list[Any] = [{"role": "developer", "content": story.system}] if story.system else []
    open_calls: tuple[Call, ...] = ()
    for number, step in enumerate(story.steps):
        items += [_output(call) for call in open_calls]
        if step.said:
            content: Any = step.said
            if step.image:
                shown = {
                    "type": "input_image",
                    "image_url": f"data:image/png;base64,{step.image}",
                    "detail": "auto",
                }
                content = [{"type": "input_text", "text": step.said}, shown]
            items.append({"type": "message", "role": "user", "content": content})
        if step.thought:
            summary = [{"type": "summary_text", "text": step.thought}]
            items.append(
                {
                    "type": "reasoning",
                    "id": f"rs{number}",
                    "summary": summary,
                    "encrypted_content": step.signature,
                }
            )
        if step.text:
            said = {"type": "output_text", "text": step.text, "annotations": []}
            items.append(
                {
                    "type": "message",
                    "id": f"m{number}",
                    "role": "assistant",
                    "status": "completed",
                    "content": [said],
                }
            )
        items += [
            {
                "type": "function_call",
                "id": f"fc{c.id}",
                "call_id": c.id,
                "name": c.name,
                "arguments": json.dumps(c.arguments),
            }
            for c in step.calls
        ]
        open_calls = step.calls
    return items


def _output(call: Call) -> dict[str, Any]:
    output: Any = call.result
    if call.image:
        shown = {"type": "input_image", "image_url": f"data:image/png;base64,{call.image}"}
        output = [{"type": "input_text", "text": call.result}, shown]
    return {"type": "function_call_output", "call_id": call.id, "output": output}


def anthropic(story: Story) -> list[Any]:
    """Write a story as Anthropic's messages."""
    cache = {"cache_control": {"type": "ephemeral"}} if story.cached else {}
    items: list[Any] = [{"role": "system", "content": story.system}] if story.system else []
    open_calls: tuple[Call, ...] = ()
    for step in story.steps:
        blocks: list[Any] = [_tool_result(call, cache) for call in open_calls]
        if step.said:
            blocks.append({"type": "text", "text": step.said, **cache})
        if step.image:
            blocks.append(_anthropic_image(step.image))
        items.append({"role": "user", "content": _short(blocks)})
        blocks = []
        if step.thought:
            blocks.append(
                {"type": "thinking", "thinking": step.thought, "signature": step.signature}
            )
            blocks.append({"type": "redacted_thinking", "data": step.signature})
        if step.text:
            blocks.append({"type": "text", "text": step.text})
        blocks += [
            {"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments}
            for c in step.calls
        ]
        items.append({"role": "assistant", "content": _short(blocks)})
        open_calls = step.calls
    return items


def _short(blocks: list[Any]) -> Any:  # noqa: ANN401 (JSON)
    plain = len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
    return blocks[0]["text"] if plain else blocks


def _anthropic_image(data: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def _tool_result(call: Call, cache: dict[str, Any]) -> dict[str, Any]:
    content: Any = call.result
    if call.image:
        content = [{"type": "text", "text": call.result}, _anthropic_image(call.image)]
    failed = {"is_error": True} if call.failed else {}
    return {"type": "tool_result", "tool_use_id": call.id, "content": content, **failed, **cache}


def gemini(story: Story) -> list[Any]:
    """Write a story as contents; calls have ids or not."""
    items: list[Any] = (
        [{"role": "system", "parts": [{"text": story.system}]}] if story.system else []
    )
    open_calls: tuple[Call, ...] = ()
    for step in story.steps:
        parts: list[Any] = [_response(call, with_id=story.cached) for call in open_calls]
        if step.said:
            parts.append({"text": step.said})
        if step.image:
            parts.append({"inlineData": {"mimeType": "image/png", "data": step.image}})
        items.append({"role": "user", "parts": parts})
        parts = []
        if step.thought:
            parts.append(
                {"text": step.thought, "thought": True, "thoughtSignature": step.signature}
            )
        if step.text:
            parts.append({"text": step.text})
        for call in step.calls:
            asked = {"name": call.name, "args": call.arguments} | (
                {"id": call.id} if story.cached else {}
            )
            parts.append({"functionCall": asked, "thoughtSignature": step.signature})
        items.append({"role": "model", "parts": parts})
        open_calls = step.calls
    return items


def _response(call: Call, *, with_id: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "name": call.name,
        "response": {"error" if call.failed else "output": call.result},
    }
    if call.image:
        body["parts"] = [{"inlineData": {"mimeType": "image/png", "data": call.image}}]
    return {"functionResponse": body | ({"id": call.id} if with_id else {})}


def langchain(story: Story) -> list[Any]:
    """Write a story as LangChain's messages, the model's content in ChatAnthropic's form."""
    items: list[Any] = [SystemMessage(story.system, id="s")] if story.system else []
    open_calls: tuple[Call, ...] = ()
    for number, step in enumerate(story.steps):
        items += [_tool_message(call) for call in open_calls]
        if step.said:
            shown = {"type": "image", "base64": step.image, "mime_type": "image/png"}
            items.append(
                HumanMessage(
                    [{"type": "text", "text": step.said}, shown] if step.image else step.said
                )
            )
        blocks: list[Any] = []
        if step.thought:
            blocks.append(
                {"type": "thinking", "thinking": step.thought, "signature": step.signature}
            )
        if step.text:
            blocks.append({"type": "text", "text": step.text})
        if story.cached:
            blocks += [
                {"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments}
                for c in step.calls
            ]
        items.append(
            AIMessage(
                _short(blocks) if blocks else "",
                id=f"run-{number}",
                tool_calls=[
                    {"id": c.id, "name": c.name, "args": c.arguments, "type": "tool_call"}
                    for c in step.calls
                ],
                usage_metadata={
                    "input_tokens": 9,
                    "output_tokens": number,
                    "total_tokens": 9 + number,
                },
                response_metadata={"model_name": "m"},
            )
        )
        open_calls = step.calls
    return items


def _tool_message(call: Call) -> ToolMessage:
    content: Any = call.result
    if call.image:
        shown = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{call.image}"}}
        content = [{"type": "text", "text": call.result}, shown]
    artifact = {"path": call.name} if call.failed else None
    status = "error" if call.failed else "success"
    return ToolMessage(
        content, tool_call_id=call.id, name=call.name, status=status, artifact=artifact
    )


TELL: dict[str, Callable[[Story], list[Any]]] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "langchain": langchain,
}
"""The provider's objects of a story, by wire. A new wire also adds its roles and fields to `_ROLES`
and `_FIELDS`, and writes images and extra fields if it has them."""


def _words(text: str) -> st.SearchStrategy[str]:
    return st.sampled_from(text.split())


_KINDS = _words(
    "text thinking redacted_thinking reasoning tool_use tool_call function_call tool_result "
    "image document image_url input_audio file input_text output_text input_image refusal "
    "message function_call_output custom_tool_call custom_tool_call_output computer_call "
    "computer_call_output web_search_call human ai tool system function chat remove "
    "AIMessageChunk base64 url server_tool_use "
)
_ROLES = st.sampled_from(
    ["system", "developer", "user", "assistant", "tool", "function", "model", "human", "ai", "chat"]
)
_FIELDS = _words(
    "content text thinking signature data name id call_id tool_use_id tool_call_id input args "
    "arguments function custom tool_calls invalid_tool_calls function_call reasoning_content "
    "reasoning refusal x additional_kwargs usage_metadata usage status artifact summary "
    "encrypted_content output action image_url file_data url source media_type mime_type "
    "format base64 parts functionCall function_call functionResponse response inlineData "
    "fileData mimeType fileUri thought thoughtSignature is_error uuid kwargs lc extra "
)
_JUNK_LEAVES = (
    LEAVES
    | st.sampled_from(["data:image/png;base64,QUJD", "data:,x", "{", '{"a": 1}', "[1]", "NaN"])
    | st.text(st.characters(), max_size=6)
)


def _junk_object(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    named = st.dictionaries(_FIELDS, inner, max_size=6)
    typed = st.fixed_dictionaries({}, optional={"type": _KINDS, "role": _ROLES})
    return st.tuples(named, typed).map(lambda pair: pair[0] | pair[1])


JUNK = st.lists(
    _junk_object(
        st.recursive(
            _JUNK_LEAVES,
            lambda inner: st.lists(inner, max_size=3) | _junk_object(inner),
            max_leaves=12,
        )
    )
    | _JUNK_LEAVES,
    max_size=4,
)


@st.composite
def spoiled(draw: st.DrawFn, name: str) -> list[Any]:
    """Draw a well-formed history as JSON, then spoil a few places of it."""
    told = TELL[name](draw(stories()))
    items: list[Any] = messages_to_dict(told) if name == "langchain" else told
    if name == "langchain" and draw(st.booleans()):
        items = [{**item["data"], "type": item["type"]} for item in items]
    items = json.loads(json.dumps(items))
    for _ in range(draw(st.integers(1, 4))):
        holder = draw(st.sampled_from(list(_holders(items))))
        place = draw(
            st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder)))
        )
        match draw(st.sampled_from(["replace", "delete", "add"])):
            case "replace":
                holder[place] = draw(_SPOILT)
            case "delete" if len(items) > 1 or holder is not items:
                del holder[place]
            case _ if isinstance(holder, dict):
                holder[draw(_FIELDS)] = draw(_SPOILT)
            case _:
                holder.insert(place, draw(_SPOILT))
    return items


def _holders(value: Any) -> Iterator[Any]:  # noqa: ANN401 (JSON)
    if isinstance(value, (dict, list)) and value:
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _holders(inner)


_SPOILT = _JUNK_LEAVES | st.lists(_JUNK_LEAVES, max_size=2) | _junk_object(_JUNK_LEAVES)
