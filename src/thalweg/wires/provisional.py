# ruff: noqa: PERF401
"""Stand-ins for two wires, until the wires are there."""

import json
from collections.abc import Sequence
from typing import Any

from thalweg.entries import Media, Message, Opaque, Origin, Part, Text, Thinking, ToolCall
from thalweg.wires.base import Note


def _content(content: Any) -> list[Part]:  # noqa: ANN401
    if isinstance(content, str):
        return [Text(content)] if content else []
    parts: list[Part] = []
    for block in content if isinstance(content, list) else []:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text":
            parts.append(Text(str(block.get("text"))))
        elif kind == "thinking":
            parts.append(Thinking(str(block.get("thinking")), str(block.get("signature") or "")))
        elif kind == "tool_use":
            arguments = json.dumps(block.get("input"), ensure_ascii=False)
            parts.append(ToolCall(str(block.get("id")), str(block.get("name")), arguments))
        elif kind == "image_url":
            parts.append(Media("image/png", url=str(block["image_url"])))
        elif kind == "image":
            source = block.get("source") or {}
            parts.append(Media(str(source.get("media_type")), data=str(source.get("data"))))
        else:
            parts.append(Opaque("provisional", json.dumps(block)))
    return parts


class _OpenAIChat:
    name = "openai_chat"

    def read(self, items: Sequence[Any]) -> tuple[list[Message], list[Note]]:
        messages = []
        for raw in items:
            parts = _content(raw.get("content"))
            if thinking := raw.get("reasoning_content"):
                parts.insert(0, Thinking(str(thinking)))
            for call in raw.get("tool_calls") or []:
                function = call.get("function") or {}
                parts.append(
                    ToolCall(
                        str(call.get("id") or ""),
                        str(function.get("name")),
                        str(function.get("arguments")),
                    )
                )
            role = {"function": "tool", "developer": "system"}.get(raw["role"], raw["role"])
            messages.append(
                Message(
                    role,
                    tuple(parts),
                    answers=str(raw.get("tool_call_id") or ""),
                    name=str(raw.get("name") or ""),
                    origin=Origin(self.name, (raw,)),
                )
            )
        return messages, []

    def write(self, messages: Sequence[Message]) -> list[Any]:
        raise NotImplementedError


class _Anthropic:
    name = "anthropic"

    def read(self, items: Sequence[Any]) -> tuple[list[Message], list[Note]]:
        messages = []
        for raw in items:
            content = raw.get("content")
            blocks = content if isinstance(content, list) else []
            rest = [b for b in blocks if not (isinstance(b, dict) and b["type"] == "tool_result")]
            for block in blocks:
                if block not in rest:
                    messages.append(
                        Message(
                            "tool",
                            tuple(_content(block.get("content"))),
                            answers=str(block.get("tool_use_id")),
                            is_error=block.get("is_error") is True,
                            origin=Origin(self.name, (raw,)),
                        )
                    )
            if rest or not blocks:
                parts = tuple(_content(rest if blocks else content))
                messages.append(Message(raw["role"], parts, origin=Origin(self.name, (raw,))))
        return messages, []

    def write(self, messages: Sequence[Message]) -> list[Any]:
        raise NotImplementedError


openai_chat = _OpenAIChat()
anthropic = _Anthropic()
