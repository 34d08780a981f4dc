"""The thread outlives the window: all of it is in the archive, word for word.

Only in Thalweg. The graph's state holds the run under way; the archive holds the thread, and the
agent's `recall` reads it. On the command line: `thalweg thread show trip --archive FILE`.
"""

import tempfile
from pathlib import Path

from langgraph.checkpoint.memory import InMemorySaver

from scripted import REQUESTS, asks_for_summary, calls, model, show
from thalweg import ContextPolicy
from thalweg.archive import ThreadKey, open_archive
from thalweg.archive.threads import history
from thalweg_agent import create_deep_agent

TALK = [
    "My passport number is C01X00T47. Do not write it into any file.",
    *(f"Tell me something about city number {n}." for n in range(1, 13)),
    "Which passport number did I give you?",
]


def guide(messages: list) -> object:
    """Talk a lot; look up what is out of sight."""
    asked = messages[-1]
    if asks_for_summary():
        return "## Goal\nTell something about each city."
    if asked.type == "tool":
        return "It is C01X00T47." if "C01X00T47" in asked.text else "I cannot find it."
    if "Which passport" in asked.text:
        return calls("recall", query="passport number")
    return "It is a fine city, with a river, a market and a tower. " * 60


with tempfile.TemporaryDirectory() as folder:
    archive = open_archive(Path(folder) / "thalweg.db")
    agent = create_deep_agent(
        model=model(guide, window=16_000),
        context=ContextPolicy.from_mapping(
            {
                "trigger": {"type": "messages", "value": 8},
                "keep": {"type": "messages", "value": 4},
            }
        ),
        archive=archive,
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "trip"}}
    for words in TALK:
        result = agent.invoke({"messages": words}, config)

    print("The last run, which is what the state holds:")
    show(result["messages"], lines=4)
    said = history(archive, ThreadKey("local", "trip"))
    print(
        f"\nMessages in the archive: {len(said)}; in the last request: {len(REQUESTS[-1].messages)}"
    )
    print("The first of them:", said[0].message.text)
    archive.close()
