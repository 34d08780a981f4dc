"""Whole agents at work, each the same on two packages: their messages, their files, their errors.

A scene gets a package by name and returns plain values. Where two packages are to be alike, their
values are equal.
"""

import asyncio
import base64
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from thalweg.testing import ScriptedModel

Scene = Callable[[str, Path], Any]

SCENES: dict[str, Scene] = {}

IS_ASYNC = ContextVar("is_async", default=False)
"""Whether agents are run in an event loop."""
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

TREE = {
    "/app/main.py": "import os\n\n\ndef main():\n    print('one')\n    print('two')\n",
    "/app/README.md": "# App\n\nSays one and two.\n",
    "/app/.env": "KEY=1\n",
    "/notes.txt": "one\ntwo\nthree\n",
}


def scene(function: Scene) -> Scene:
    """Put a function among the scenes, by its name."""
    SCENES[function.__name__] = function
    return function


def of(package: str, path: str) -> Any:  # noqa: ANN401 (whatever it is)
    """Take `module:name` out of a package."""
    module, _, name = path.rpartition(":")
    return getattr(import_module(f"{package}.{module}" if module else package), name)


def call(name: str, id: str = "c1", /, **arguments: Any) -> dict[str, Any]:  # noqa: A002, ANN401
    """Write one tool call."""
    return {"name": name, "args": arguments, "id": id, "type": "tool_call"}


def play(*answers: str | dict[str, Any] | Sequence[dict[str, Any]]) -> ScriptedModel:
    """Make a model that returns these words or makes these calls, in order."""
    left = [
        AIMessage(said)
        if isinstance(said, str)
        else AIMessage("", tool_calls=[said] if isinstance(said, dict) else list(said))
        for said in answers
    ]
    return ScriptedModel(script=lambda _: left.pop(0))


def told(messages: Iterable[BaseMessage]) -> list[tuple[Any, ...]]:
    """Return the contents of messages."""
    return [
        (m.type, m.content, *((m.name, m.status) if isinstance(m, ToolMessage) else ()))
        for m in messages
    ]


def kept(files: dict[str, Any] | None) -> dict[str, str]:
    """Return the contents of files."""
    return {path: file["content"] for path, file in sorted((files or {}).items())}


def invoke(agent: Any, given: Any, config: Any = None, **more: Any) -> Any:  # noqa: ANN401
    """Run an agent in the way that is asked for."""
    if IS_ASYNC.get():
        return asyncio.run(agent.ainvoke(given, config, **more))
    return agent.invoke(given, config, **more)


def ran(agent: Any, given: dict[str, Any] | None = None, config: Any = None, **more: Any) -> Any:  # noqa: ANN401
    """Run an agent and return the result; of an error, its kind and words."""
    given = given or {"messages": "Go."}
    try:
        result = invoke(agent, given, config, **more)
    except Exception as error:  # noqa: BLE001 (which one is what is asked)
        return type(error).__name__, str(error)
    return told(result["messages"]), kept(result.get("files"))


def tools(
    package: str,
    *calls: dict[str, Any],
    files: dict[str, str] | None = None,
    **more: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Let an agent make one call after the other, and return what it read."""
    agent = of(package, ":create_deep_agent")(model=play(*calls, "Done."), **more)
    make = of(package, "backends.utils:create_file_data")
    given = {path: make(text) for path, text in (files or {}).items()}
    return ran(agent, {"messages": "Go.", **({"files": given} if files else {})})


def recorded(*answers: str | dict[str, Any]) -> tuple[ScriptedModel, list[list[tuple[Any, ...]]]]:
    """Make a model with these answers, and the list of what it is sent, without system prompts."""
    model, seen = play(*answers), list[list[tuple[Any, ...]]]()
    script = model.script

    def look(messages: Sequence[BaseMessage]) -> AIMessage | str:
        seen.append(told(m for m in messages if m.type != "system"))
        return script(messages)

    return ScriptedModel(script=look), seen
