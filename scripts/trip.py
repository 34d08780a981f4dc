"""Count the files that one turn of an agent visits: `uv run python scripts/trip.py [--files]`.

The turn is the third of a thread, with `ContextMiddleware` and LangChain's stand-in for a model. A
change of file is a call in another file of the packages than the call before it in the same thread
of execution. Prints the files, the changes and the calls.
`--files` lists the files with their calls, most first. `--http` counts the third run of a thread
that `POST /api/threads/…/runs/stream` of a gateway starts, from the request to the end of the
stream, in process and with memory off.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
import threading
from collections import Counter
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any, Self

import httpx2
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from thalweg import ContextMiddleware
from thalweg_server.app import open_app
from thalweg_server.gateway import create_app
from thalweg_server.settings import Settings

TEXT = "It is a missing import."
USAGE = UsageMetadata(input_tokens=400, output_tokens=6, total_tokens=406)
PACKAGES = f"{Path(__file__).parents[1] / 'packages'}/"


class ScriptedModel(GenericFakeChatModel):
    """Answers with the same text, with any tools."""

    messages: Any = (AIMessage(TEXT, usage_metadata=USAGE) for _ in count())
    model: str = "scripted"

    def bind_tools(self, *_arguments: object, **_options: object) -> "ScriptedModel":
        """Take any tools, and call none."""
        return self


class Trip:
    """Count calls while it is entered, in all threads that start meanwhile."""

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()
        self.changes = 0
        self._last = threading.local()

    def __enter__(self) -> Self:
        threading.setprofile(self._count)
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_exception: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _count(self, frame: FrameType, event: str, _argument: object) -> None:
        path = frame.f_code.co_filename
        if event != "call" or not path.startswith(PACKAGES):
            return
        last = getattr(self._last, "path", path)
        self.files[path.removeprefix(PACKAGES)] += 1
        self.changes += last != path
        self._last.path = path


def third_turn() -> Trip:
    """Return the counts of the third turn of a thread."""
    agent = create_agent(
        GenericFakeChatModel(messages=(AIMessage(TEXT, usage_metadata=USAGE) for _ in count())),
        middleware=[ContextMiddleware(archive=":memory:")],
        checkpointer=InMemorySaver(),
    )
    thread: RunnableConfig = {"configurable": {"thread_id": "thread"}}
    for text in ("one", "two", "three"):
        with Trip() as trip:
            agent.invoke({"messages": [HumanMessage(text)]}, thread)
    return trip


async def third_run(home: str) -> Trip:
    """Return the counts of the third run of a thread over HTTP."""
    model = {"name": "scripted", "use": f"{Path(__file__).stem}:ScriptedModel", "window": 32_000}
    sections = {"models": [model], "memory": {"enabled": False}, "gateway": {"local_token": False}}
    with Trip() as trip:  # before any thread starts
        async with open_app(Settings.from_mapping(sections), home=home) as app:
            transport = httpx2.ASGITransport(create_app(app))
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
                for text in ("one", "two", "three"):
                    await asyncio.sleep(1.0)  # what follows the end of a run
                    trip.files.clear()
                    trip.changes = 0
                    path, body = "/api/threads/thread/runs/stream", {"message": text}
                    response = await http.post(path, json=body, timeout=60)
                    files, changes = trip.files.copy(), trip.changes
                    if "event: run.completed" not in response.text:
                        raise RuntimeError(response.text)
    trip.files, trip.changes = files, changes
    return trip


def main() -> None:
    """Print the number of files, of changes and of calls."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", action="store_true", help="list the files with their calls")
    parser.add_argument("--http", action="store_true", help="a run of a gateway")
    given = parser.parse_args()
    if given.http:
        logging.disable()
        with tempfile.TemporaryDirectory() as home:
            trip = asyncio.run(third_run(home))
    else:
        trip = third_turn()
    if given.files:
        print(*(f"{calls:6} {path}" for path, calls in trip.files.most_common()), sep="\n")
    print(len(trip.files), trip.changes, trip.files.total())


if __name__ == "__main__":
    main()
