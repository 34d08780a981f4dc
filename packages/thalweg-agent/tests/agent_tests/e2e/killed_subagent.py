"""A process whose subagent is at work when it is killed; run as `python killed_subagent.py FOLDER`.

The subagent looks something up, reports it by writing a file, and waits to be killed unless there
is a file `go on`. Every model call and every event is written to a file as well.
"""

import json
import sqlite3
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver

from core_tests.e2e.scripted import RuledModel, calls, says
from thalweg.context.middleware import ContextMiddleware
from thalweg_agent.middleware.subagents.middleware import SubAgent, SubAgentMiddleware

AT: Any = {"configurable": {"thread_id": "t"}}


def drive(folder: Path, *, first: bool) -> dict[str, Any]:
    """Run the agent, or resume the run that was interrupted; return its last state."""

    def note(what: str) -> None:
        with (folder / "notes").open("a") as notes:
            notes.write(what + "\n")

    @tool
    def look(n: int) -> str:
        """Look something up."""
        return f"found {n}"

    @tool
    def wait() -> str:
        """Wait to be killed."""
        (folder / "waiting").touch()
        while not (folder / "go on").exists():
            time.sleep(0.02)
        return "waited"

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        done = sum(1 for m in messages if m.type == "tool")
        note(f"child's model {done}")
        steps = [calls("look", "c1", n=1), calls("wait", "c2")]
        return steps[done] if done < len(steps) else AIMessage("found and waited")

    call = calls("task", "t1", description="look and wait", subagent_type="worker")
    parent = RuledModel(rule=says(call, "done") if first else says("done"))
    connection = sqlite3.connect(folder / "c.db", check_same_thread=False)
    with ContextMiddleware(archive=folder / "a.db") as context:
        spec: SubAgent = {
            "name": "worker",
            "description": "works",
            "model": RuledModel(rule=rule),
            "tools": [look, wait],
            "middleware": [context],
        }
        stack: list[Any] = [SubAgentMiddleware(backend=None, subagents=[spec]), context]
        agent: Any = create_agent(parent, middleware=stack, checkpointer=SqliteSaver(connection))
        if not first:
            note("standing " + json.dumps(agent.get_state(AT).values["tasks"]))
        said = {"messages": [("user", "go")]} if first else None
        for kind, one in agent.stream(said, AT, stream_mode=["custom", "values"]):
            if kind == "custom" and str(one["type"]).startswith("task_"):
                note(f"{one['type']} {one.get('resumed', one.get('turn'))}")
        values: dict[str, Any] = agent.get_state(AT).values
    connection.close()
    return values


if __name__ == "__main__":
    drive(Path(sys.argv[1]), first=True)
