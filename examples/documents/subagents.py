"""Rows 53 to 78: DeerFlow's subagents, files and log lines, with `create_deep_agent` and a gateway."""

import logging
import threading
import time
from collections.abc import Sequence
from functools import cache
from typing import Any

from langchain.tools import ToolRuntime, tool
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from rows import row, seen
from world import LOG, SCRIPTS, Answer, calls, gateway, logged, model, script, wait

from thalweg_agent import SubAgent, create_deep_agent
from thalweg_agent.backends import CompositeBackend, StateBackend
from thalweg_agent.backends.utils import create_file_data

AT = {"configurable": {"thread_id": "thread-1"}}
TASK = {
    "description": "Analyze data.csv",
    "prompt": "Read the data and report the trend.",
    "subagent_type": "general-purpose",
}


def delegate(**more: Any) -> AIMessage:
    """Call `task`."""
    return calls("task", **{**TASK, **more})


def parent(*answers: AIMessage | str) -> Answer:
    """Answer the parent's requests with `answers`, and a child's with `SCRIPTS["child"]`."""
    play = script(*answers)

    def answer(messages: Sequence[BaseMessage]) -> AIMessage | str:
        asked = [str(m.text) for m in messages if m.type == "human"]
        is_child = any(str(TASK["prompt"]) in text for text in asked)
        return SCRIPTS["child"](messages) if is_child else play(messages)

    return answer


def run(
    child: Answer | str,
    *answers: AIMessage | str,
    files: dict[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Run an agent that delegates to a child; return its state."""
    LOG.clear()
    SCRIPTS["child"] = script(child) if isinstance(child, str) else child
    answer = parent(*(answers or (delegate(), "The analysis shows 5% growth.")))
    agent = create_deep_agent(model("agent", answer), checkpointer=InMemorySaver(), **options)
    state = {"messages": "Analyze sales trends in data.csv", "files": files or {}}
    result: dict[str, Any] = agent.invoke(state, AT)
    result["agent"] = agent
    return result


def report(result: dict[str, Any]) -> ToolMessage:
    """Return the result of `task`."""
    found = [m for m in result["messages"] if isinstance(m, ToolMessage) and m.name == "task"]
    return found[-1]


def children() -> list[Any]:
    """List the requests of children."""
    return [r for r in LOG if any(str(TASK["prompt"]) in str(m.text) for m in r.messages)]


def exploring(turns: int, last: str = "Analysis complete: 5% growth") -> Answer:
    """List files so many times, then answer."""
    return script(*(calls("ls", path=f"/{n}") for n in range(turns)), last)


@row(53, "a thread of its own")
def own_thread() -> None:
    result = run(exploring(2))
    thread = report(result).artifact["thread"]
    seen("the child's thread is another one", thread not in ("", "thread-1"))
    first = children()[0]
    seen("messages of its first request", [m.type for m in first.messages], ["system", "human"])


@row(54, "the parent sees the result alone")
def result_alone() -> None:
    result = run(exploring(5))
    seen(
        "messages of the parent",
        [m.type for m in result["messages"]],
        ["human", "ai", "tool", "ai"],
    )
    seen("the result", report(result).text, "Analysis complete: 5% growth")


@row(55, "`task(description, prompt, subagent_type, max_turns)`")
def arguments() -> None:
    run(exploring(1), delegate(max_turns=20), "Done.")
    schema = next(t for t in LOG[0].tools if t["function"]["name"] == "task")["function"]
    names = {"description", "prompt", "subagent_type", "max_turns"}
    seen("all four are arguments", names <= set(schema["parameters"]["properties"]))
    seen("the child reads the prompt", str(children()[0].messages[-1].text), TASK["prompt"])


@row(56, "`general-purpose` by default")
def by_default() -> None:
    bare = calls("task", description="Analyze", prompt=TASK["prompt"])
    result = run(exploring(1), bare, "Done.")
    seen("the result without `subagent_type`", report(result).text, "Analysis complete: 5% growth")


@row(
    57,
    "`max_turns: 20`",
    "different: 100, and a call can only lower it; as written with `subagents.max_turns: 20`",
)
def max_turns() -> None:
    for yaml, expected in (("", 26), ("subagents: {max_turns: 20}", 20)):
        SCRIPTS.clear()
        child = exploring(25)
        with gateway(
            f"memory: {{enabled: false}}\n{yaml}", agent=parent(delegate(), "Done."), child=child
        ) as world:
            world.chat("Analyze.")
            seen(f"calls of the child's model with `{yaml}`", len(children()), expected)


@row(
    58,
    "no nested subagents",
    "as written: a subagent has no `task`; one that is built with `SubAgentMiddleware` of its own nests",
)
def nested() -> None:
    run(exploring(1))
    seen(
        "`task` among the child's tools",
        "task" in {t["function"]["name"] for t in children()[0].tools},
        False,
    )


@row(
    59,
    "a pool in the background",
    "different: in the caller's run, as many at once as `subagents.max_concurrent`; "
    "as written with an `AsyncSubAgent`",
)
def pool() -> None:
    lock, now, most = threading.Lock(), 0, 0

    def child(messages: Sequence[BaseMessage]) -> str:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        wait(lambda: most >= 3)
        time.sleep(0.2)
        with lock:
            now -= 1
        return "Done."

    several = AIMessage(
        "",
        tool_calls=[
            {"name": "task", "args": TASK, "id": f"t{n}", "type": "tool_call"} for n in range(6)
        ],
    )
    with gateway("memory: {enabled: false}", agent=parent(several, "Done."), child=child) as world:
        world.chat("Analyze.")
    seen("children at once, of six", most, 3)


@cache
def events() -> list[dict[str, Any]]:
    """Stream a delegation; return its events."""
    LOG.clear()
    SCRIPTS["child"] = exploring(2)
    agent = create_deep_agent(model("agent", parent(delegate(), "Done.")))
    stream = agent.stream({"messages": "Analyze."}, AT, stream_mode="custom")
    return [event for event in stream if str(event.get("type", "")).startswith("task_")]


@row(60, "`task_running` events")
def running() -> None:
    types = [event["type"] for event in events()]
    seen("events", list(dict.fromkeys(types)), ["task_started", "task_running", "task_completed"])


@row(
    61,
    "the whole chunk in the event",
    "different: its turn, tool and tokens; as written with `stream(subgraphs=True)`",
)
def chunk() -> None:
    event = next(e for e in events() if e["type"] == "task_running")
    print("    event:", {key: value for key, value in event.items() if key != "task_id"})
    seen("turn and tool", (event["turn"], event["tool"]), (1, "ls"))
    SCRIPTS["child"] = exploring(1)
    agent = create_deep_agent(model("agent", parent(delegate(), "Done.")))
    stream = agent.stream({"messages": "Analyze."}, AT, stream_mode="values", subgraphs=True)
    inside = [value for place, value in stream if place]
    seen("states of the child in the stream", any("Analysis complete" in str(v) for v in inside))


@row(62, "ends at `max_turns`", "as written, with a partial report")
def ends() -> None:
    result = run(exploring(10), delegate(max_turns=3), "Done.")
    seen("calls of the child's model", len(children()), 3)
    seen("status", report(result).artifact["status"], "partial")


@row(
    63,
    "`No response`",
    "different: an account of what the child did, since the fixed words hide work, which its caller "
    "has done again; as written with `subagents.no_answer: No response`",
)
def no_response() -> None:
    result = run(exploring(3, ""))
    text = report(result).text
    print("   ", text.replace("\n", "\n    ")[:400])
    seen("the calls are counted", "ls" in text)
    seen("it refers to something above", "above" in text, False)
    seen("status", report(result).artifact["status"], "completed without an answer")
    silent: SubAgent = {
        "name": "general-purpose",
        "description": "does what it is given",
        "system_prompt": "Work.",
        "no_answer": "No response",
    }
    fixed = report(run(exploring(3, ""), subagents=[silent]))
    seen("report with the setting", fixed.text, "No response")
    seen("status with the setting", fixed.artifact["status"], "completed")


@row(64, "`status` of the result")
def status() -> None:
    seen("status", report(run(exploring(1))).artifact["status"], "completed")


@tool
def present(path: str, runtime: ToolRuntime) -> Command[Any]:
    """Show a file to the user."""
    message = ToolMessage(f"shown: {path}", tool_call_id=runtime.tool_call_id)
    return Command(update={"messages": [message], "artifacts": [path]})


@row(65, "artifacts join the parent's")
def artifacts() -> None:
    made = "/mnt/user-data/outputs/analysis.txt"
    child = script(calls("present", path=made), "Analysis complete")
    mine = calls("present", path="/mnt/user-data/outputs/report.pdf")
    result = run(child, mine, delegate(), "Done.", tools=[present])
    seen("artifacts", result["artifacts"], ["/mnt/user-data/outputs/report.pdf", made])


DATA = {"/data.csv": create_file_data("month,sales\nMay,5\n")}


@row(66, "files are shared with the parent")
def files() -> None:
    child = script(
        calls("read_file", file_path="/data.csv"),
        calls("write_file", file_path="/out.txt", content="5% growth"),
        "Analysis complete",
    )
    result = run(child, files=DATA)
    seen("the child read the parent's file", "May,5" in children()[1].text)
    seen("the parent has the child's file", "/out.txt" in result["files"])


@row(
    67,
    "`/mnt/user-data/uploads`",
    "different: `/uploads`; as written with a route in `CompositeBackend`",
)
def uploads() -> None:
    with gateway("memory: {enabled: false}") as world:
        (world.folder / "data.csv").write_text("month,sales")
        world.client.upload_files("t1", ["data.csv"])
        world.chat("Hello.")
        seen("the upload is named", "/uploads/data.csv" in world.requests()[-1].whole)
    place = "/mnt/user-data/uploads/data.csv"
    backend = CompositeBackend(default=StateBackend(), routes={"/mnt/user-data/": StateBackend()})
    child = script(calls("read_file", file_path=place), "Read.")
    write = calls("write_file", file_path=place, content="month,sales")
    run(child, write, delegate(), "Done.", backend=backend)
    seen("a child reads its parent's file there", "month,sales" in children()[-1].text)


@row(68, "messages and todos are apart")
def apart() -> None:
    todo = {"content": "Explore", "status": "pending"}
    result = run(script(calls("write_todos", todos=[todo]), "Done."))
    seen("todos of the parent", result.get("todos", []), [])


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


@row(69, "`viewed_images` in the state", "as written: the paths; the bytes are in the messages")
def images() -> None:
    import base64

    file = {**create_file_data(base64.b64encode(PNG).decode()), "encoding": "base64"}
    result = run(
        script("Done."),
        calls("read_file", file_path="/chart.png"),
        "Seen.",
        files={"/chart.png": file},
    )
    seen("paths", list(result.get("viewed_images", {})), ["/chart.png"])
    other = run(
        script(calls("read_file", file_path="/chart.png"), "Seen."), files={"/chart.png": file}
    )
    seen("a child's are its own", list(other.get("viewed_images", {})), [])


@row(70, "checkpoints apart")
def checkpoints() -> None:
    LOG.clear()
    saver = InMemorySaver()
    SCRIPTS["child"] = exploring(2)
    agent = create_deep_agent(model("agent", parent(delegate(), "Done.")), checkpointer=saver)
    agent.invoke({"messages": "Analyze."}, AT)
    names = {one.config["configurable"].get("checkpoint_ns", "") for one in saver.list(None)}
    seen("namespaces of checkpoints", len(names), 2)


@row(
    71,
    "tokens by part: system, memory, skills, tools, history",
    "as written: `get_context`, `thalweg thread show ID --context`",
)
def parts() -> None:
    skill = "---\nname: tides\ndescription: Reads tide tables.\n---\nBODY\n"
    with gateway("skills: {paths: [skills]}", files={"skills/tides/SKILL.md": skill}) as world:
        world.client.add_fact("User likes the river Spree")
        world.chat("Which river do I like?")
        context = world.client.get_context("t1")
    parts = {**context.sections, **{one.part: one.tokens for one in context.additions}}
    print("    tokens:", parts)
    seen("parts", {"system", "memory", "skills", "tools", "history"} <= parts.keys())


EIGHT = """
summarization:
  trigger: {type: fraction, value: 0.6}
  keep: {type: fraction, value: 0.4}
memory:
  max_injection_tokens: 500
"""


@row(
    72,
    "shares for a window of 8,000",
    "as written; a model below 16,000 gets the small agent unless `agent.profile: full`",
)
def eight_thousand() -> None:
    from summaries import answer, asked, folds

    with gateway(EIGHT, window=8_000, agent=answer) as world:
        for n in range(16):
            world.chat(f"Question {n} " + "why " * 240)
        requests = asked(world.requests())
        at = folds(requests)[0]
        sections = world.client.get_context("t1").sections
    print(f"    compacted at request {at}; sections now: {dict(sections)}")
    before, after = requests[at - 2].tokens, requests[at - 1].tokens
    print(f"    history before: {before:,}, after with its record: {after:,}")
    seen("below 60 % of 8,000 before", before < 4_800)
    seen("at most 40 % and the record after", after < 3_200 + 800)


@row(
    73,
    "the configurations of its documents",
    "as written; a whole file: `thalweg config init --from`",
)
def configurations() -> None:
    from memory import BLOCK as MEMORY
    from summaries import BLOCK as SUMMARIES

    from thalweg_server.settings.loading import examine_text

    practices = (
        "summarization:\n  trigger:\n    - type: fraction\n      value: 0.7\n    - type: messages\n      value: 100\n",
        "summarization:\n  trigger:\n    - type: messages\n      value: 30\n  keep:\n    type: messages\n    value: 15\n",
        "memory:\n  max_injection_tokens: 3000\n",
        "memory:\n  max_injection_tokens: 500\n",
    )
    found = [
        examine_text(text.encode(), "config.yaml", {}) for text in (SUMMARIES, MEMORY, *practices)
    ]
    seen("errors in six blocks", [str(p) for one in found for p in one.problems], [])


@row(
    74,
    "names of loggers",
    "different: `thalweg.context`, `thalweg.memory`, `thalweg.subagents`; as written with "
    '`getLogger("thalweg.context").parent = getLogger("langchain.agents.middleware")` and '
    '`getLogger("thalweg.memory").parent = getLogger("src.agents.memory")`',
)
def loggers() -> None:
    from memory import QUICK, learn, proposal
    from summaries import BLOCK, talk

    ours = {"thalweg.context": "langchain.agents.middleware", "thalweg.memory": "src.agents.memory"}
    old = {name: logging.getLogger(name).parent for name in ours}
    try:
        for name, theirs in ours.items():
            logging.getLogger(name).parent = logging.getLogger(theirs)
        with (
            logged("langchain.agents.middleware") as summaries,
            logged("src.agents.memory") as facts,
        ):
            talk(BLOCK, 27, words=100)
            learn(QUICK, ["I prefer tea."], proposal("I prefer tea.", confidence=0.85))
    finally:
        for name, parent in old.items():
            logging.getLogger(name).parent = parent
    seen("lines of summaries at DEBUG", any("messages threshold met" in line for line in summaries))
    seen("lines of memory at DEBUG", any("0.85" in line for line in facts))


@row(75, "log lines of a summary")
def summary_lines() -> None:
    from summaries import BLOCK, talk

    with logged("thalweg.context") as lines:
        talk(BLOCK, 27, words=100)
    found = [line for line in lines if "ummar" in line or "rigger" in line or "Token count" in line]
    print("   ", "\n    ".join(line[:160] for line in found[:8]))
    text = "\n".join(found)
    seen("the trigger that fired, with its threshold", "messages threshold met (50)" in text)
    seen("messages summarized and kept", "keeping last 20" in text)


@row(76, "log lines of memory's queue")
def memory_lines() -> None:
    from memory import QUICK, learn, proposal

    with logged("thalweg.memory") as lines:
        learn(QUICK, ["I prefer tea."], proposal("I prefer tea.", confidence=0.85))
    print("   ", "\n    ".join(line[:160] for line in lines[:8]))
    text = "\n".join(lines)
    seen("queued, learned, with the confidence", "0.85" in text and "t1" in text)


@row(77, "log lines of subagents")
def subagent_lines() -> None:
    with logged("thalweg.subagents") as lines:
        run(exploring(2))
    print("   ", "\n    ".join(line[:160] for line in lines[:8]))
    text = "\n".join(lines)
    seen("the thread, and a turn of the limit", "1/100" in text)
    seen("the final output at DEBUG", "5% growth" in text)


@row(
    78,
    "old subagent threads are pruned",
    "as written with `subagents.max_threads` or `retention_days`",
)
def pruned() -> None:
    LOG.clear()
    saver = InMemorySaver()
    SCRIPTS["child"] = lambda messages: "Analysis complete"
    agent = create_deep_agent(
        model("agent", parent(*(one for _ in range(4) for one in (delegate(), "Done.")))),
        checkpointer=saver,
        subagent_retention={"threads": 1},
    )
    for _ in range(4):
        agent.invoke({"messages": "Analyze."}, AT)
    names = {one.config["configurable"].get("checkpoint_ns", "") for one in saver.list(None)}
    seen("namespaces of checkpoints after four delegations", len(names), 2)
