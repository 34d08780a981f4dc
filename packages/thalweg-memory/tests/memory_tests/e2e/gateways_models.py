"""What gateways under test use: a model that streams slowly, a tool, and a learner.

An observer reads two files of the folder `THALWEG_TOLD`: `calls`, a line for each time that
the model was asked, and `effects`, a line for each time that the tool was called.
"""

import asyncio
import json
import os
import re
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool

from memory_tests import learning
from thalweg.testing import ScriptedModel

_ASKED = re.compile(r"I keep the \w+ in drawer [\w-]+\. Please note it for ([\w-]+)\.")


def asking(thing: str, drawer: str, run: str) -> str:
    """Write a message of a user: a fact, and something to do."""
    return f"I keep the {thing} in drawer {drawer}. Please note it for {run}."


def appended(name: str, *told: object) -> None:
    """Add a line to a file of the folder that is looked at; in one piece, and not undone."""
    path = Path(os.environ["THALWEG_TOLD"]) / name
    handle = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    os.write(handle, (json.dumps(told) + "\n").encode())
    os.close(handle)


def standing(messages: Sequence[BaseMessage]) -> tuple[str, int]:
    """Return which run asks, and how many results of its tool there are."""
    asked = [
        (n, found[1])
        for n, message in enumerate(messages)
        if message.type == "human" and (found := _ASKED.match(str(message.text)))
    ]
    at, run = asked[-1]
    return run, sum(isinstance(message, ToolMessage) for message in messages[at:])


class Noting(ScriptedModel):
    """Streams words, has something noted, and streams more words; no two calls return the same."""

    script: Callable[[Sequence[BaseMessage]], AIMessage | str] = lambda _: ""
    pause_s: float = 0.05
    words: int = 40

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 (LangChain's)
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,  # noqa: ANN401, ARG002 (LangChain's signature)
    ) -> AsyncIterator[ChatGenerationChunk]:
        run, step = standing(messages)
        token = uuid.uuid4().hex[:8]
        appended("calls", run, step, token)
        for word in range(self.words):
            await asyncio.sleep(self.pause_s)
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"{token}.{word} "))
        calls = []
        if not step:
            args = json.dumps({"run": run})
            calls = [tool_call_chunk(name="note", args=args, id=f"{run}-note", index=0)]
        last = AIMessageChunk(content="", tool_call_chunks=calls, chunk_position="last")
        yield ChatGenerationChunk(message=last)


class Learner(ScriptedModel):
    """Learns by rule which things are in which drawers."""

    script: Callable[[Sequence[BaseMessage]], AIMessage | str] = learning.answer


@tool
async def note(run: str) -> str:
    """Note something."""
    token = uuid.uuid4().hex[:8]
    appended("effects", run, token)
    await asyncio.sleep(0.2)
    return f"noted {token}"
