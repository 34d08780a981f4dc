"""Many subagents at once, in one process: wall time compared with one, and CPU per child.

A child takes three turns (two tool calls, then its report); its model answers after a pause, as
a provider does. Run as `python -m benchmarks.subagents [CHILDREN] [PAUSE_S]`.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from thalweg.context.middleware import ContextMiddleware
from thalweg.testing import Script, ScriptedModel
from thalweg_agent.middleware.subagents.middleware import SubAgentMiddleware

TURNS = 3


class SlowModel(ScriptedModel):
    """Answers after a pause."""

    pause_s: float = 0.5

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:  # noqa: ANN401
        time.sleep(self.pause_s)
        return self._said(messages)

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:  # noqa: ANN401
        await asyncio.sleep(self.pause_s)
        return self._said(messages)

    def _said(self, messages: Sequence[BaseMessage]) -> ChatResult:
        said = self.script(messages)
        answer = AIMessage(said) if isinstance(said, str) else said
        usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        answer = answer.model_copy(update={"usage_metadata": usage})
        return ChatResult(generations=[ChatGeneration(message=answer)])


@tool
def look(number: int) -> str:
    """Look something up."""
    return f"found {number}"


def child(messages: Sequence[BaseMessage]) -> AIMessage | str:
    """Look twice, then report what the task was."""
    done = sum(1 for m in messages if m.type == "tool")
    if done < TURNS - 1:
        return AIMessage(
            "", tool_calls=[{"name": "look", "id": f"c{done}", "args": {"number": done}}]
        )
    task = next(m for m in messages if m.type == "human")
    return f"report on {task.text}"


def parent(children: int) -> Script:
    """Hand out the tasks, all at once."""

    def script(messages: Sequence[BaseMessage]) -> AIMessage | str:
        if messages[-1].type == "tool":
            return "done"
        calls = [
            {
                "name": "task",
                "id": f"t{n}",
                "args": {"description": f"task {n}", "subagent_type": "w"},
            }
            for n in range(children)
        ]
        return AIMessage("", tool_calls=calls)

    return script


def made(children: int, pause_s: float, *, archived: bool) -> Any:  # noqa: ANN401 (LangChain's own)
    """Make an agent with a subagent; both keep their threads in one archive, or neither does."""
    context = [ContextMiddleware(archive=":memory:")] if archived else []
    spec: Any = {
        "name": "w",
        "description": "works",
        "model": SlowModel(script=child, pause_s=pause_s),
        "tools": [look],
        "middleware": context,
    }
    tasks = SubAgentMiddleware(backend=None, subagents=[spec])
    model = ScriptedModel(script=parent(children))
    return create_agent(model, middleware=[tasks, *context], checkpointer=InMemorySaver())


def measured(
    children: int, pause_s: float, *, archived: bool, is_async: bool
) -> tuple[float, float]:
    """Run once; return the wall time and the CPU time."""
    agent = made(children, pause_s, archived=archived)
    asked: Any = {"messages": [("user", "go")]}
    config: Any = {"configurable": {"thread_id": "t"}, "max_concurrency": children}
    cpu, wall = time.process_time(), time.perf_counter()
    if is_async:
        del config["max_concurrency"]
        result = asyncio.run(agent.ainvoke(asked, config))
    else:
        result = agent.invoke(asked, config)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    reports = {m.text for m in result["messages"] if m.type == "tool"}
    assert reports == {f"report on task {n}" for n in range(children)}, "reports were lost"
    assert {t["status"] for t in result["tasks"].values()} == {"completed"}
    return wall, cpu


def main() -> None:
    """Print a table."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("children", type=int, nargs="?", default=200)
    asked.add_argument("pause_s", type=float, nargs="?", default=0.5)
    given = asked.parse_args()
    children, pause_s = given.children, given.pause_s
    measured(2, 0.0, archived=True, is_async=False)  # imports and first uses
    print(f"{children} children of {TURNS} turns, {pause_s} s a model call")
    print(f"{'':24} {'one':>7} {'all':>7} {'ratio':>6} {'CPU a child':>12}")
    for archived in (False, True):
        for is_async in (True, False):
            one, _ = measured(1, pause_s, archived=archived, is_async=is_async)
            wall, cpu = measured(children, pause_s, archived=archived, is_async=is_async)
            name = ("async" if is_async else "sync") + (", archive" if archived else "")
            each = 1_000 * cpu / children
            print(f"{name:24} {one:6.2f}s {wall:6.2f}s {wall / one:6.2f} {each:9.1f} ms")


if __name__ == "__main__":
    main()
