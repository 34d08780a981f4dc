"""One step of an agent that asks a person; all it has of the earlier steps is on disk.

Run as `python -m agent_tests.e2e.approving ARCHIVE CHECKPOINTS`, it takes one line of JSON on its
input (`{"ask": n}` or `{"decide": [...]}`) and writes the result to its output.
"""

import json
import re
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from core_tests.e2e.scripted import RuledModel
from thalweg.archive import Archive, open_archive
from thalweg_agent import create_deep_agent

AT: RunnableConfig = {"configurable": {"thread_id": "t"}}
WINDOW = 14_000
POLICY: dict[str, object] = {
    "window": WINDOW,
    "max_output": 500,
    "trigger": ["tokens", 5_500],
    "keep": ["tokens", 400],
    "summarize": False,
}


def deploy(where: str, words: int) -> str:
    """Deploy somewhere; takes a person's approval."""
    return f"deployed to {where} " + "and so on " * words


def look(where: str, words: int) -> str:
    """Look somewhere; no one is asked."""
    return f"looked at {where} " + "and so on " * words


TOOLS = [StructuredTool.from_function(each) for each in (deploy, look)]


def rule(messages: Sequence[BaseMessage]) -> AIMessage:
    """Call tools according to the number of the newest question, then answer."""
    asked = max(k for k, m in enumerate(messages) if re.fullmatch(r"question \d+", m.text))
    number = int(messages[asked].text.split()[1])
    said = " ".join(m.text for m in messages)
    turn = 1 + max((int(n) for n in re.findall(rf"turn (\d+) of {number}\b", said)), default=-1)
    if turn >= 1 + number % 3:
        return AIMessage(f"answer {number}")
    made = [
        {
            "name": "deploy" if (number + turn + k) % 3 else "look",
            "args": {"where": f"place-{number}-{turn}-{k}", "words": (97 * number + 7 * k) % 700},
            "id": f"call-{number}-{turn}-{k}",
        }
        for k in range(1 + (number + turn) % 4)
    ]
    return AIMessage(f"turn {turn} of {number}", tool_calls=made)


def step(
    archive: Archive, saver: BaseCheckpointSaver[Any], given: dict[str, Any]
) -> dict[str, Any]:
    """Create an agent, ask it something or decide what it asked, and return the result."""
    model = RuledModel(rule=rule)
    agent = create_deep_agent(
        model,
        TOOLS,
        interrupt_on={"deploy": True},
        checkpointer=saver,
        context=POLICY,
        archive=archive,
    )
    if "ask" in given:
        result = agent.invoke({"messages": [HumanMessage(f"question {given['ask']}")]}, AT)
    else:
        result = agent.invoke(Command(resume={"decisions": given["decide"]}), AT)
    asked = [i.value["action_requests"] for i in result.get("__interrupt__", ())]
    return {
        "asked": [{"name": one["name"], "args": one["args"]} for many in asked for one in many],
        "said": result["messages"][-1].text,
        "problems": model.problems,
        "requests": [
            [
                {"type": m.type, "text": m.text, "calls": _calls(m), "answers": _answers(m)}
                for m in r
            ]
            for r in model.requests
        ],
    }


def _calls(message: BaseMessage) -> list[str]:
    return [str(c["id"]) for c in message.tool_calls] if isinstance(message, AIMessage) else []


def _answers(message: BaseMessage) -> str:
    return str(getattr(message, "tool_call_id", ""))


def main(archive: str, checkpoints: str) -> None:
    """Do one step."""
    with (
        open_archive(archive) as opened,
        closing(sqlite3.connect(checkpoints, check_same_thread=False)) as database,
    ):
        json.dump(step(opened, SqliteSaver(database), json.loads(sys.stdin.read())), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
