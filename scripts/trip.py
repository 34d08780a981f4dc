"""Count the files that one turn of an agent visits: `uv run python scripts/trip.py [--files]`.

The turn is the third of a thread, with `ContextMiddleware` and LangChain's stand-in for a model. A
change of file is a call in another file of the packages than the call before it in the same thread
of execution. Prints the files, the changes and the calls.
`--files` lists the files with their calls, most first.
"""

import argparse
import sys
import threading
from collections import Counter
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Self

from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from thalweg import ContextMiddleware

TEXT = "It is a missing import."
USAGE = UsageMetadata(input_tokens=400, output_tokens=6, total_tokens=406)
PACKAGES = f"{Path(__file__).parents[1] / 'packages'}/"


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


def main() -> None:
    """Print the number of files, of changes and of calls."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", action="store_true", help="list the files with their calls")
    trip = third_turn()
    if parser.parse_args().files:
        print(*(f"{calls:6} {path}" for path, calls in trip.files.most_common()), sep="\n")
    print(len(trip.files), trip.changes, trip.files.total())


if __name__ == "__main__":
    main()
