"""A gateway for LangGraph's public front ends: its agent plans, writes a file, and asks."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from server_tests.browser.live_world import HeldModel
from server_tests.e2e.talkers import calls
from thalweg_server.settings import Settings

PLAN = [
    {"content": "List the rivers", "status": "completed"},
    {"content": "Measure them", "status": "in_progress"},
    {"content": "Draw the map", "status": "pending"},
]
NOTES = {"file_path": "/rivers.md", "content": "# Rivers\n\n- Elbe: 1,094 km\n- Havel: 325 km\n"}
CORRECTION = {"file_path": "/rivers.md", "old_string": "325 km", "new_string": "334 km"}
LOOK = {
    "description": "Look up the Havel",
    "prompt": "Look up the Havel.",
    "subagent_type": "general-purpose",
}

TOOLS: dict[str, list[tuple[str, str, dict[str, Any]]]] = {
    "Plan a report on rivers.": [
        ("p1", "write_todos", {"todos": PLAN}),
        ("p2", "write_file", NOTES),
    ],
    "Correct the Havel.": [("c1", "edit_file", CORRECTION)],
    "Ask a colleague.": [("a1", "task", LOOK)],
}
"""The calls that a request leads to: an id, a name and arguments of each."""


def answer(messages: Sequence[BaseMessage]) -> AIMessage | str:
    """Call the tools of the user's request one after the other; then say that it is done."""
    asked = [number for number, one in enumerate(messages) if one.type == "human"][-1]
    words, step = str(messages[asked].text), len(messages) - asked
    if words == "Look up the Havel.":
        return "The Havel is 334 km long."
    if words == "Dictate it.":
        return f"{' word' * 3} stop {' word' * 30} until here."
    tools = TOOLS.get(words, [])
    if step // 2 < len(tools):
        return calls("", tools[step // 2])
    return f"Done with {words.removesuffix('.').lower()!r}."


class FrontEndModel(HeldModel):
    """Answers by `answer`, and waits at the word `stop` until `GO_ON` is set."""

    script: Callable[[Sequence[BaseMessage]], AIMessage | str] = answer


def settings(home: Path, **gateway: Any) -> Settings:  # noqa: ANN401 (as YAML has it)
    """Make settings with that model, whose edits of files need approval."""
    use = "server_tests.browser.front_end_world:FrontEndModel"
    return Settings.model_validate(
        {
            "models": [{"name": "held", "use": use, "window": 64_000}],
            "agent": {"interrupt_on": {"edit_file": True}},
            "memory": {"enabled": False},
            "storage": {"home": str(home)},
            "gateway": gateway,
        }
    )
