"""Chat models by a script that settings can name, and settings that name them."""

import asyncio
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool

from thalweg.testing import ScriptedModel
from thalweg_server.settings import Settings


def calls(text: str, *made: tuple[str, str, dict[str, Any]]) -> AIMessage:
    """Write text and call tools: each an id, a name and arguments."""
    asked = [{"id": id_, "name": name, "args": args} for id_, name, args in made]
    return AIMessage(text, tool_calls=asked)


def echo(messages: Sequence[BaseMessage]) -> AIMessage | str:
    """Do what the newest words of the user request; answer a tool's result with its first words."""
    last = messages[-1]
    words = str(last.text)
    if last.type == "tool":
        return f"The tool said: {words.splitlines()[0][:80] if words else 'nothing'}"
    requests = [str(m.text) for m in messages if m.type == "human"]
    return _SAYS.get(requests[-1].split(" ", 1)[0], _plain)(requests)


def _plain(requests: Sequence[str]) -> AIMessage | str:
    return f"You said: {requests[-1]}. Before it: {len(requests) - 1} requests."


def _write(requests: Sequence[str]) -> AIMessage:
    return calls("I write.", ("w1", "write_file", {"file_path": "/a.txt", "content": requests[-1]}))


def _delegate(requests: Sequence[str]) -> AIMessage:
    asked = {"description": "look", "prompt": "look it up", "subagent_type": "general-purpose"}
    return calls("I delegate.", (f"t{len(requests)}", "task", asked))


def _use(requests: Sequence[str]) -> AIMessage:
    _, name, *words = requests[-1].split()
    return calls(f"I use {name}.", ("u1", name, {"words": " ".join(words)}))


def _dictate(requests: Sequence[str]) -> AIMessage | str:
    """Write a long answer, slowly unless the environment of the process disables that."""
    return f"{' word' * 3} stop {' word' * 30} about {len(requests)} requests"


def _fail(requests: Sequence[str]) -> AIMessage:
    message = f"the key sk-verysecret123 is wrong: {requests[-1]}"
    raise RuntimeError(message)


_SAYS: dict[str, Callable[[Sequence[str]], AIMessage | str]] = {
    "write": _write,
    "delegate": _delegate,
    "use": _use,
    "dictate": _dictate,
    "fail": _fail,
}


class Talker(ScriptedModel):
    """Answers by `echo`, all at once."""

    script: Callable[[Sequence[BaseMessage]], AIMessage | str] = echo


SUMMARIZED: list[Sequence[BaseMessage]] = []
"""The requests of every `Summarizer` of this process."""


def summarize(messages: Sequence[BaseMessage]) -> str:
    """Record a request for a summary, and answer it."""
    SUMMARIZED.append(messages)
    return "The conversation is about rivers."


class Summarizer(ScriptedModel):
    """Answers by `summarize`."""

    script: Callable[[Sequence[BaseMessage]], AIMessage | str] = summarize


def lister(messages: Sequence[BaseMessage]) -> AIMessage | str:
    """List files with a command where that is asked for; else as `echo`."""
    last = messages[-1]
    if last.type == "human" and str(last.text) == "list":
        return calls("I list.", ("l1", "execute", {"command": "ls"}))
    return echo(messages)


class Lister(Talker):
    """Answers by `lister`."""

    script: Callable[[Sequence[BaseMessage]], AIMessage | str] = lister


class Streamer(Talker):
    """The same, word by word."""

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 (LangChain's signature)
    ) -> Iterator[ChatGenerationChunk]:
        del run_manager, kwargs
        said = self._generate(messages, stop).generations[0].message
        assert isinstance(said, AIMessage)
        for word in str(said.text).split(" "):
            if word == "stop" and "THALWEG_TEST_FAST" not in os.environ:
                time.sleep(60)
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"{word} "))
        pieces = [
            tool_call_chunk(
                index=number, id=call["id"], name=call["name"], args=json.dumps(call["args"])
            )
            for number, call in enumerate(said.tool_calls)
        ]
        last = AIMessageChunk(
            content="", tool_call_chunks=pieces, usage_metadata=said.usage_metadata
        )
        yield ChatGenerationChunk(message=last)


@tool
def shout(words: str) -> str:
    """Return words in capitals."""
    return words.upper()


SETTINGS = """
models:
  - {name: streamer, use: "server_tests.e2e.talkers:Streamer", window: 32000}
tools:
  - {name: shout, use: "server_tests.e2e.talkers:shout"}
agent:
  interrupt_on: {shout: true}
"""
"""The text of a `config.yaml`."""


def settings(**others: Any) -> Settings:  # noqa: ANN401 (as a file has them)
    """Make settings with two models: one that streams, one that does not."""
    models = [
        {"name": "streamer", "use": "server_tests.e2e.talkers:Streamer", "window": 32_000},
        {"name": "talker", "use": "server_tests.e2e.talkers:Talker", "window": 32_000},
    ]
    tools = [{"name": "shout", "use": "server_tests.e2e.talkers:shout"}]
    given = {"models": models, "tools": tools, "memory": {"enabled": False}}
    return Settings.model_validate({**given, **others})


@tool
async def once_slow(words: str) -> str:
    """Take a long time unless the environment of the process disables that."""
    if "THALWEG_TEST_FAST" not in os.environ:
        await asyncio.sleep(60)
    return words.upper()


@tool
async def slow(words: str) -> str:
    """Take a long time."""
    await asyncio.sleep(60)
    return words
