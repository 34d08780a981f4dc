"""What the last check repaired is in the journal, the events and `thalweg thread show`."""

from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from strict_llm import Answer, Request, StrictProvider
from strict_llm_tests.chat_models import chat_model
from thalweg.archive import ThreadKey, open_archive
from thalweg.archive.threads.thread_history import history, turns
from thalweg.cli.thread.text import render_turns
from thalweg.context.middleware import ContextMiddleware
from thalweg.context.turn.events import REPAIRED_EVENT

KEY = ThreadKey("local", "t")


@tool
def look(path: str) -> str:
    """Look at a file."""
    return f"{path}: nothing of interest"


def inventing(request: Request) -> Answer:
    """Call a tool that there is not, once."""
    if request.number == 0:
        return Answer(calls=(("functions.look", {"path": "a.md"}),))
    return Answer(f"That was request {request.number}.")


def test_a_repair_is_recorded_once_and_shown_and_the_original_stays(tmp_path: Path) -> None:
    place, saver, events = tmp_path / "threads.db", InMemorySaver(), []
    with StrictProvider(answer=inventing) as provider:
        for n in range(3):  # a new process each time, as far as the middleware knows
            with (
                chat_model(provider, "openai-chat") as model,
                ContextMiddleware(archive=place) as middleware,
            ):
                agent: Any = create_agent(
                    model, [look], middleware=[middleware], checkpointer=saver
                )
                events += agent.stream(
                    {"messages": [("user", f"message {n}")]},
                    {"configurable": {"thread_id": "t"}},
                    stream_mode="custom",
                )
        assert all(seen.status == 200 for seen in provider.requests)

    with open_archive(place) as archive:
        taken = turns(archive, KEY)
        repairs = [repair for turn in taken for repair in turn.page.repairs]
        said = [one.message for one in history(archive, KEY)]
    (repair,) = repairs
    assert repair.reason == "the provider does not accept the name of a tool"
    assert repair.detail == "functions.look"
    assert said[repair.position].calls[0].name == "functions.look"
    (event,) = [event for event in events if event["type"] == REPAIRED_EVENT]
    assert [one["position"] for one in event["repairs"]] == [repair.position]
    line = f"repair #{repair.position}: {repair.reason} (functions.look)"
    assert sum(line in shown for shown in render_turns(taken)) == 1
