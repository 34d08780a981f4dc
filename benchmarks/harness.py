"""What the harness costs next to deepagents': to import, to make, to call, to continue.

    uv run --group bench python -m benchmarks.harness [--quick] [--runs 5] [--messages 2000]

CPU milliseconds in processes of their own, whose turns alternate, medians. `import`: the name of
`create_deep_agent`, next to `langchain.agents.create_agent`. `make`: an agent in a warm process.
`first call`: the first `invoke` of an agent just made, in a warm process. `from nothing`: import,
make and first call in a fresh process, and the last two of them. `step`: a turn (a request, a
call of a tool, its result, an answer) on a thread of many messages, checkpoints in memory.
`new thread`: the first question and answer of a thread of an agent that has answered others, all
agents in turn in one process; from `invoke` until a second after it returned.

Each row is printed as soon as its processes have ended. `--quick` is one process of each kind.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

OURS, DEEP, BARE = "thalweg", "deepagents", "langchain.agents"
NAMES = (BARE, DEEP, OURS)
MOST = {"make": 0.33, "first call": 0.6, "new thread": 0.7, "step": 1 / 3}
"""Of deepagents' figure."""
WARM = 25
"""Agents that are made and called in one process; the first fifth warms it up."""
STEPS = 25
NEW_THREADS = 12
"""Of each agent, in one process; as many before them warm it up."""
AFTER_S = 1.0
"""Seconds after a call in which work that it left to other threads counts."""
SECTION = "A paragraph of some forty words stands for what people and tools say. " * 8


def _ms(act: Callable[[], object]) -> float:
    start = time.process_time()
    act()
    return (time.process_time() - start) * 1e3


def _maker(name: str) -> Callable[..., Any]:
    if name == OURS:
        from thalweg_agent import create_deep_agent as ours  # noqa: PLC0415 (what is measured)

        return ours
    if name == DEEP:
        from deepagents import create_deep_agent as deep  # noqa: PLC0415 (what is measured)

        return deep  # type: ignore[no-any-return, unused-ignore]
    from langchain.agents import create_agent  # noqa: PLC0415 (what is measured)

    return create_agent


def _model() -> Any:  # noqa: ANN401 (any agent's)
    """Make a model that answers at once, and counts nothing: that is no part of any agent."""
    from langchain_core.language_models import BaseChatModel  # noqa: PLC0415
    from langchain_core.messages import AIMessage, HumanMessage  # noqa: PLC0415
    from langchain_core.outputs import ChatGeneration, ChatResult  # noqa: PLC0415
    from langchain_core.utils.function_calling import convert_to_openai_tool  # noqa: PLC0415

    class Answering(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "answering"

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:  # noqa: ANN401, ARG002
            answer = AIMessage("Done.")
            if isinstance(messages[-1], HumanMessage) and "look" in messages[-1].text:
                call = {"name": "ls", "args": {"path": "/"}, "id": f"call-{time.monotonic_ns()}"}
                answer = AIMessage("I look.", tool_calls=[call])
            return ChatResult(generations=[ChatGeneration(message=answer)])

    return Answering(profile={"max_input_tokens": 10**6})


def _import(name: str) -> dict[str, float]:
    return {"import": _ms(lambda: _maker(name))}


def _nothing(name: str) -> dict[str, float]:
    start = time.process_time()
    make, agents = _maker(name), list[Any]()
    model = _model()
    made = _ms(lambda: agents.append(make(model)))
    called = _ms(lambda: agents[0].invoke(_hello()))
    whole = (time.process_time() - start) * 1e3
    return {"from nothing": whole, ".. making it": made, ".. its first call": called}


def _warm(name: str) -> dict[str, float]:
    make, model = _maker(name), _model()
    made: list[float] = []
    called: list[float] = []
    for _ in range(WARM):
        agents: list[Any] = []
        made.append(_ms(lambda agents=agents: agents.append(make(model))))  # type: ignore[misc]
        called.append(_ms(lambda agents=agents: agents[0].invoke(_hello())))  # type: ignore[misc]
    cut = WARM // 5
    return {"make": median(made[cut:]), "first call": median(called[cut:])}


def _hello() -> dict[str, Any]:
    return {"messages": [("user", "hi")]}


def _step(name: str, messages: int) -> dict[str, float]:
    from langchain_core.messages import AIMessage, AnyMessage, HumanMessage  # noqa: PLC0415
    from langgraph.checkpoint.memory import InMemorySaver  # noqa: PLC0415

    agent = _maker(name)(_model(), checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "bench"}}
    said: list[AnyMessage] = []
    for number in range(messages // 2):
        said += [HumanMessage(f"{number}: {SECTION}"), AIMessage(f"{number}: {SECTION}")]
    agent.invoke({"messages": [*said, HumanMessage("Go on.")]}, thread)
    agent.invoke({"messages": [HumanMessage("look")]}, thread)
    return {
        "step": median(
            _ms(lambda: agent.invoke({"messages": [HumanMessage("look again")]}, thread))
            for _ in range(STEPS)
        )
    }


def _new_threads() -> dict[str, float]:
    """Measure all agents in turn; return the figure of each by its name."""
    from langgraph.checkpoint.memory import InMemorySaver  # noqa: PLC0415

    model = _model()
    agents = {name: _maker(name)(model, checkpointer=InMemorySaver()) for name in NAMES}
    measured: dict[str, list[float]] = {name: [] for name in NAMES}
    for number in range(2 * NEW_THREADS):
        for name, agent in agents.items():
            thread = {"configurable": {"thread_id": f"{name} {number}"}}

            def call(agent: Any = agent, thread: Any = thread) -> None:  # noqa: ANN401 (any agent)
                agent.invoke(_hello(), thread)
                if number >= NEW_THREADS:  # noqa: B023 (called here)
                    time.sleep(AFTER_S)

            measured[name].append(_ms(call))
    return {name: median(each[NEW_THREADS:]) for name, each in measured.items()}


def _in_process(name: str, what: str, messages: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(  # noqa: S603 (this very program)
            [sys.executable, "-m", "benchmarks.harness", "--worker", name, what, str(messages)],
            check=True,
            capture_output=True,
            env=os.environ | {"THALWEG_HOME": folder, "PYTHONWARNINGS": "ignore"},
            cwd=Path(__file__).parents[1],
        )
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def beside(runs: int, messages: int) -> bool:
    """Measure all in turns and print a table; return whether every ratio is reached."""
    print(f"{'CPU ms':14}{BARE:>18}{DEEP:>13}{OURS:>10}  ours / deepagents", flush=True)
    reached = True
    for what in ("warm", "new", "import", "nothing", "step"):
        rows: dict[str, dict[str, list[float]]] = {}
        for _ in range(runs):
            if what == "new":
                for name, figure in _in_process(OURS, what, messages).items():
                    rows.setdefault("new thread", {}).setdefault(name, []).append(figure)
                continue
            for name in NAMES:
                for row, figure in _in_process(name, what, messages).items():
                    rows.setdefault(row, {}).setdefault(name, []).append(figure)
        for row, measured in rows.items():
            bare, deep, ours = (median(measured[name]) for name in NAMES)
            most = f" (at most {MOST[row]:.2f})" if row in MOST else ""
            line = f"{row:14}{bare:18.1f}{deep:13.1f}{ours:10.1f}  {ours / deep:.2f}{most}"
            print(line, flush=True)
            reached &= ours / deep <= MOST.get(row, 1) and (row != "import" or ours <= bare)
    return reached


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one process, 200 messages")
    parser.add_argument("--runs", type=int, default=5, help="processes of each kind")
    parser.add_argument("--messages", type=int, default=2_000, help="of the thread of `step`")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        name, what, messages = options.worker
        if what == "step":
            print(json.dumps(_step(name, int(messages))))
        elif what == "new":
            print(json.dumps(_new_threads()))
        else:
            act = {"import": _import, "nothing": _nothing, "warm": _warm}[what]
            print(json.dumps(act(name)))
        return 0
    runs, messages = (1, 200) if options.quick else (options.runs, options.messages)
    return 0 if beside(runs, messages) else 1


if __name__ == "__main__":
    sys.exit(main())
