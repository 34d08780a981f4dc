"""Rows 113 to 148: the context of Deep Agents, with `create_deep_agent`."""

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, dynamic_prompt
from langchain.tools import ToolRuntime, tool
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from rows import row, seen
from world import LOG, SCRIPTS, Request, calls, model, script

from thalweg.engine.tokens import exact_counter
from thalweg_agent import create_deep_agent
from thalweg_agent.backends import (
    CompositeBackend,
    LocalShellBackend,
    StateBackend,
    StoreBackend,
)
from thalweg_agent.backends.utils import create_file_data

AT = {"configurable": {"thread_id": "t"}}
AUTHORS = {"trigger": ("fraction", 0.85), "keep": ("fraction", 0.1)}
"""The sizes that both documents of Deep Agents name, as a `ContextPolicy`."""
SKILL = "---\nname: tides\ndescription: Reads tide tables.\n---\nBODY of the skill\n"
count = exact_counter()


@dataclass
class User:
    """A context: who asks."""

    name: str
    role: str
    key: str = "sk-secret"


def run(
    *answers: Any,
    window: int = 200_000,
    files: dict[str, str] | None = None,
    text: str = "Go.",
    **options: Any,
) -> dict[str, Any]:
    """Run an agent whose model plays answers; return its state."""
    LOG.clear()
    context = options.pop("run_context", None)
    agent = create_deep_agent(model("agent", script(*answers), window), **options)
    state = {"messages": text, "files": {k: create_file_data(v) for k, v in (files or {}).items()}}
    result: dict[str, Any] = agent.invoke(state, AT, context=context)
    return result


def system(*answers: Any, **options: Any) -> str:
    """Return the system prompt of a run's first request."""
    run(*(answers or ("Done.",)), **options)
    return LOG[0].system


class Own(AgentMiddleware[Any, Any, Any]):
    """A user's middleware that adds to the system prompt."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """Add a line."""
        return handler(request.override(system_prompt=f"{request.system_prompt}\n\nOWN MIDDLEWARE"))


@cache
def whole() -> str:
    """Return the system prompt of an agent that has every part."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "AGENTS.md").write_text("# CONVENTIONS of the project\n")
        (Path(name) / "skills/tides").mkdir(parents=True)
        (Path(name) / "skills/tides/SKILL.md").write_text(SKILL)
        return system(
            system_prompt="CUSTOM PROMPT first.",
            backend=LocalShellBackend(root_dir=name, virtual_mode=True),
            memory=["/AGENTS.md"],
            skills=["/skills/"],
            middleware=[Own()],
            interrupt_on={"execute": True},
            checkpointer=InMemorySaver(),
        )


@row(113, "`system_prompt` first")
def first() -> None:
    seen("the prompt begins with", whole().split(".")[0], "CUSTOM PROMPT first")


@row(
    114,
    "the order of its parts",
    "as written; the date comes before the prompts of user middleware and approval",
)
def order() -> None:
    text = whole()
    marks = [
        "CUSTOM PROMPT",
        "write_todos",
        "CONVENTIONS",
        "tides",
        "Current date",
        "OWN MIDDLEWARE",
    ]
    places = [text.find(mark) for mark in marks]
    print("    places:", dict(zip(marks, places, strict=True)))
    seen("each is there, in order", -1 not in places and places == sorted(places))


@dynamic_prompt
def rights(request: ModelRequest) -> str:
    """Add the user's role and a preference of the store."""
    user = request.runtime.context
    item = request.runtime.store.get(("preferences",), user.name)
    return f"{request.system_prompt}\n\nThe user has {user.role} access and prefers {item.value['style']}."


@row(115, "a prompt from `runtime.context` and store")
def dynamic() -> None:
    store = InMemoryStore()
    store.put(("preferences",), "ada", {"style": "concise answers"})
    options = {"middleware": [rights], "context_schema": User, "store": store}
    text = system(run_context=User("ada", "admin"), **options)
    seen("both in the prompt", "The user has admin access and prefers concise answers." in text)


@tool
def orders(runtime: ToolRuntime[User]) -> str:
    """List the orders of the user."""
    assert runtime.store is not None
    return f"{runtime.context.name} with {len(runtime.context.key)} characters of key: a kettle"


@cache
def with_context() -> tuple[dict[str, Any], list[Request]]:
    """Run an agent whose child and tool read the context."""
    task = calls("task", description="Which orders?", subagent_type="general-purpose")
    state = run(
        task, calls("orders"), "A kettle.", calls("orders"), "Done.",
        tools=[orders], context_schema=User, store=InMemoryStore(), run_context=User("ada", "admin"),
    )  # fmt: skip
    return state, list(LOG)


@row(116, "tools get the runtime")
def runtime() -> None:
    state, _ = with_context()
    texts = [m.text for m in state["messages"] if m.type == "tool" and m.name == "orders"]
    seen("result of the tool", texts, ["ada with 9 characters of key: a kettle"])


@row(117, "`AGENTS.md` in the prompt")
def agents_md() -> None:
    seen("its text", "CONVENTIONS of the project" in whole())


@row(118, "skills: front matter first")
def skills() -> None:
    seen("name and description", "tides" in whole() and "Reads tide tables" in whole())
    seen("the body", "BODY" in whole(), False)
    read = calls("read_file", file_path="/skills/tides/SKILL.md")
    run(read, "Done.", files={"/skills/tides/SKILL.md": SKILL}, skills=["/skills/"])
    seen("the body when it is read", "BODY of the skill" in LOG[-1].text)


@tool
def tide(harbour: str) -> str:
    """Return the next tide.

    Args:
        harbour: Name of the harbour.
    """
    return f"{harbour}: 12:40"


@row(119, "schemas and descriptions of tools")
def schemas() -> None:
    run("Done.", tools=[tide])
    sent = next(t["function"] for t in LOG[0].tools if t["function"]["name"] == "tide")
    seen("description", sent["description"].splitlines()[0], "Return the next tide.")
    seen("argument", list(sent["parameters"]["properties"]), ["harbour"])


@row(120, "`write_todos`")
def todos() -> None:
    todo = {"content": "Look at the files", "status": "in_progress"}
    state = run(calls("write_todos", todos=[todo]), "Done.")
    seen(
        "todos",
        [(one["content"], one["status"]) for one in state["todos"]],
        [("Look at the files", "in_progress")],
    )


@row(
    121,
    "`ls`, `read_file`, `write_file`, `edit_file`, `glob`, `grep`, documented in the prompt",
    "as written: a line each; the rest is in their schemas",
)
def file_tools() -> None:
    run(
        calls("write_file", file_path="/a.txt", content="one\ntwo\n"),
        calls("edit_file", file_path="/a.txt", old_string="two", new_string="three"),
        calls("ls", path="/"),
        calls("glob", pattern="*.txt"),
        calls("grep", pattern="three"),
        calls("read_file", file_path="/a.txt"),
        "Done.",
    )
    results = [m for m in LOG[-1].messages if isinstance(m, ToolMessage)]
    seen("calls that succeeded", [m.status for m in results], ["success"] * 6)
    seen("the file", "three" in results[-1].text)
    names = ("ls", "read_file", "write_file", "edit_file", "glob", "grep")
    system = LOG[0].system
    seen("tools that the prompt names", [name for name in names if f"`{name}" in system], [*names])


@row(122, "`execute` with a shell")
def execute() -> None:
    with tempfile.TemporaryDirectory() as name:
        backend = LocalShellBackend(root_dir=name, virtual_mode=True)
        run(calls("execute", command="echo $((6 * 7))"), "Done.", backend=backend)
    seen("output", "42" in LOG[-1].messages[-1].text)
    run("Done.")
    seen(
        "the tool without a shell",
        "execute" in {t["function"]["name"] for t in LOG[0].tools},
        False,
    )


@row(123, "`task`")
def task() -> None:
    state = run(
        calls("task", description="Look", subagent_type="general-purpose"), "Found.", "Done."
    )
    seen("report", next(m.text for m in state["messages"] if m.type == "tool"), "Found.")


@row(124, "words on approval")
def approval_prompt() -> None:
    tail = whole().partition("OWN MIDDLEWARE")[0] + whole().partition("OWN MIDDLEWARE")[2]
    seen(
        "the prompt names calls that wait for a person",
        "approv" in tail.lower() or "person" in tail.lower(),
    )


@row(125, "folder and project in the chat")
def place() -> None:
    from evals import thalweg

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / ".git").mkdir()
        (folder / ".git/HEAD").write_text("ref: refs/heads/rivers\n")
        (folder / "config.yaml").write_text("models: [{name: a, use: 'world:SystemPrompt'}]\n")
        text = thalweg("chat", "Hello", folder=folder)
    seen("folder and branch in the system prompt", f"{folder}, git branch rivers" in text)


@row(126, "the runtime context is not in the prompt")
def not_in_prompt() -> None:
    _, requests = with_context()
    seen("the key in a request", any("sk-secret" in r.whole for r in requests), False)


@row(127, "`context_schema`")
def context_schema() -> None:
    state, _ = with_context()
    seen("a run with it answers", state["messages"][-1].text, "Done.")


@row(128, "… reaches subagents")
def reaches_subagents() -> None:
    _, requests = with_context()
    inside = [r for r in requests if "Which orders?" in r.text and r.messages[-1].type == "tool"]
    seen("the child's tool read the context", any("ada with 9" in r.text for r in inside))


def result_of(name: str, tokens: int, **options: Any) -> str:
    """Return what the model sees of a tool's result of a size, in tokens."""

    def listing() -> str:
        return "\n".join(f"line {n} of the log" for n in range(tokens * 10 // 77))

    made = tool(name, description="Return a text.")(listing)
    run(calls(name), "Done.", tools=[made], **options)
    return str(LOG[-1].messages[-1].text)


@row(
    129,
    "a result over 20,000 tokens leaves",
    "as written, whatever the tool is called, while the window has room; for a model whose "
    "tokenizer is not known, a count has a reserve of a fifth",
)
def large_result() -> None:
    for name in ("list_issues", "search_files", "weather", "fetch_url"):
        for options in ({}, {"context": AUTHORS}):
            kept, left = (count(result_of(name, size, **options)) for size in (16_000, 24_000))
            how = "0.85 and 0.1" if options else "the default"
            print(f"    {name}, {how}: of 16,000 tokens {kept:,} stay, of 24,000 {left:,}")
            seen("the smaller one whole, the larger one a preview", kept > 15_000 and left < 2_000)


@row(
    130,
    "a path and its first ten lines",
    "different: a reference for `recall`, and ten lines of head and tail; as written with "
    "`middleware=[FilesystemMiddleware(preview_lines=(10, 0))]`",
)
def preview() -> None:
    from thalweg_agent.middleware import FilesystemMiddleware

    filed = result_of("weather", 40_000, middleware=[FilesystemMiddleware(preview_lines=(10, 0))])
    print("   ", filed.replace("\n", "\n    ")[:700])
    shown = re.findall(r"line (\d+) of the log", filed)
    seen("the first ten lines", shown, [str(n) for n in range(10)])
    seen("and the path of a file", "/large_tool_results/" in filed)
    text = result_of("weather", 24_000)
    print("   ", text.replace("\n", "\n    ")[:700])
    lines = [line for line in text.splitlines() if line.startswith("line ")]
    seen("lines of the text", len(lines), 10)
    seen("a reference", "recall(handle=" in text)


def written(size: int, steps: int, **options: Any) -> list[Request]:
    """Write a file of a size in tokens, and read small pages; return the requests."""
    text = "\n".join(f"line {n} of the file" for n in range(size * 10 // 77))
    pages = [calls("weather", day=day) for day in range(steps)]
    weather = tool("weather", description="Return a text.")(page)
    run(
        calls("write_file", file_path="/a.txt", content=text),
        *pages,
        "Done.",
        tools=[weather],
        **options,
    )
    return list(LOG)


def page(day: int) -> str:
    """Return 12,000 tokens."""
    return "\n".join(f"row {n} of page {day}" for n in range(1_500))


def arguments(request: Request) -> int:
    """Return the tokens of the arguments of `write_file` in a request."""
    found = [
        c
        for m in request.messages
        for c in getattr(m, "tool_calls", [])
        if c["name"] == "write_file"
    ]
    return sum(count(str(call["args"])) for call in found)


@row(
    131,
    "large inputs at 85 %",
    "different: earlier, by price; as written with `trigger: 0.85`",
)
def large_input() -> None:
    requests = written(21_000, 15, context=AUTHORS)
    by_size = [(r.tokens + arguments(r), arguments(r)) for r in requests]
    print("    tokens of the request, and of the arguments:", by_size)
    whole_until = max(size for size, args in by_size if args > 20_000)
    seen("whole until 85 % of the window is near", whole_until > 0.75 * 200_000)
    seen("gone in the end", by_size[-1][1] < 3_000)


@row(
    132,
    "a pointer to a file",
    "as written: the path that was written to; and a reference to the arguments as they were",
)
def pointer() -> None:
    requests = written(21_000, 15, context=AUTHORS)
    print(
        "   ",
        next(
            str(c["args"])[:300]
            for m in requests[-1].messages
            for c in getattr(m, "tool_calls", [])
        ),
    )
    seen("the path", "/a.txt" in requests[-1].whole or "/a.txt" in str(requests[-1].messages))
    seen(
        "a reference in the place of the arguments or the message",
        "recall(handle=" in requests[-1].whole,
    )


def talk(turns: int, words: int, window: int = 200_000, **options: Any) -> list[Request]:
    """Chat with an agent; return the requests."""
    LOG.clear()
    SCRIPTS["summary"] = lambda messages: "User asked about rivers."
    agent = create_deep_agent(
        model("agent", lambda messages: "Answer " + "so " * 20, window),
        checkpointer=InMemorySaver(),
        **options,
    )
    for n in range(turns):
        agent.invoke({"messages": [HumanMessage(f"Question {n} " + "why " * words)]}, AT)
    return [r for r in LOG if str(r.messages[-1].text).startswith("Question")]


@row(
    133,
    "a summary at 85 %",
    "different: when re-reading has cost as much as compacting; as written with `trigger: 0.85`",
)
def summary_at() -> None:
    requests = talk(14, 2_000, 32_000, context=AUTHORS)
    sizes = [r.tokens + count(r.system) for r in requests]
    at = next(n for n in range(1, len(sizes)) if sizes[n] < sizes[n - 1])
    print("    tokens of requests without tools:", sizes)
    seen(
        "the last before it is below 85 % by less than a turn and the tools",
        20_000 < sizes[at - 1] < 27_200,
    )


@row(134, "keeps 10 %", "different: 2,000 tokens; as written with `keep: 0.1`")
def keeps() -> None:
    requests = talk(14, 500, 32_000, context={**AUTHORS, "trigger": ("messages", 16)})
    sizes = [len(r.messages) for r in requests]
    at = next(n for n in range(1, len(sizes)) if sizes[n] < sizes[n - 1])
    texts = [count(str(m.text)) for m in requests[at].messages if m.type != "system"]
    print("    tokens of the record and of the kept messages:", texts)
    seen("kept: at most 3,200, and less than a turn below", 2_500 < sum(texts[1:]) <= 3_200)


@row(
    135,
    "`ContextOverflowError`: smaller and again",
    "as written; what is kept then follows from what fits, not from `keep`",
)
def overflow() -> None:
    refused: list[int] = []

    def answer(messages: Sequence[BaseMessage]) -> str:
        size = sum(count(str(m.text)) for m in messages)
        if size > 9_000:
            refused.append(size)
            message = "prompt is too long"
            raise ContextOverflowError(message)
        return "Answer."

    LOG.clear()
    agent = create_deep_agent(model("agent", answer, 200_000), checkpointer=InMemorySaver())
    texts = []
    for n in range(10):
        result = agent.invoke({"messages": f"Question {n} " + "why " * 1_200}, AT)
        texts.append(result["messages"][-1].text)
    seen("answers of ten turns", texts, ["Answer."] * 10)
    seen("refusals", len(refused) > 0)


@row(136, "a summary of intent, artifacts, next steps", "as written, in a fence with the record")
def structured() -> None:
    text = (
        "## SESSION INTENT\nCollect facts on rivers for a school article.\n"
        "## ARTIFACTS\nNone.\n## NEXT STEPS\nAsk for the length of the Elbe.\n"
    )

    def answer(messages: Sequence[BaseMessage]) -> str:
        last = str(messages[-1].text)
        return "Answer " + "so " * 60 if last.startswith("Question") else text

    LOG.clear()
    agent = create_deep_agent(
        model("agent", answer, 32_000),
        checkpointer=InMemorySaver(),
        context={"trigger": ("messages", 20), "keep": ("messages", 6)},
    )
    for n in range(14):
        agent.invoke({"messages": f"Question {n} about rivers " + "why " * 100}, AT)
    asked = next(r for r in LOG if not str(r.messages[-1].text).startswith("Question"))
    seen(
        "sections that are asked for",
        [w for w in ("INTENT", "ARTIFACTS", "NEXT") if w.lower() in asked.whole.lower()] != [],
    )
    last = LOG[-1].text
    seen(
        "the intent, as the model wrote it", "Collect facts on rivers for a school article" in last
    )
    seen("the next step", "Ask for the length of the Elbe" in last)


@row(
    137,
    "originals as text in the file system",
    "different: in the archive, byte for byte: `recall`, `thalweg thread show`; as written with "
    "`TranscriptBackend(archive)` at a route of `CompositeBackend`",
)
def originals() -> None:
    from thalweg.archive import ThreadKey, open_archive
    from thalweg.archive.threads.thread_history import history

    with tempfile.TemporaryDirectory() as name, open_archive(Path(name) / "a.db") as archive:
        requests = talk(
            14, 100, context={"trigger": ("messages", 20), "keep": ("messages", 6)}, archive=archive
        )
        gone = "Question 0 " not in requests[-1].text.replace("#0 Question 0 ", "")
        texts = [one.message.text for one in history(archive, ThreadKey("local", "t"))]
    seen("compacted", gone)
    filed()
    seen(
        "questions in the archive",
        [t for t in texts if t.startswith("Question")],
        [f"Question {n} " + "why " * 100 for n in range(14)],
    )


def filed() -> None:
    """Read and search what left the context with the file tools."""
    from thalweg.archive import open_archive
    from thalweg_agent.backends import TranscriptBackend

    path = "/conversation_history/t.md"
    looks = (calls("grep", pattern="Question 0 ", path="/"), calls("read_file", file_path=path))

    def answer(messages: Sequence[BaseMessage]) -> Any:
        last = str(messages[-1].text)
        if messages[-1].type == "tool":
            return looks[1] if last == path else "Done."
        return looks[0] if last == "Look." else "Answer " + "so " * 20

    with tempfile.TemporaryDirectory() as name, open_archive(Path(name) / "a.db") as archive:
        routes = {"/conversation_history/": TranscriptBackend(archive)}
        LOG.clear()
        agent = create_deep_agent(
            model("agent", answer),
            checkpointer=InMemorySaver(),
            context={"trigger": ("messages", 20), "keep": ("messages", 6)},
            archive=archive,
            backend=CompositeBackend(default=StateBackend(), routes=routes),
        )
        for n in range(14):
            agent.invoke({"messages": f"Question {n} " + "why " * 100}, AT)
        state = agent.invoke({"messages": "Look."}, AT)
    found, read = [str(m.text) for m in state["messages"] if m.type == "tool"]
    seen("a search in the file system finds a question that left", path in found)
    seen("the file begins with it", "Question 0 why" in read[:120])


@row(
    138,
    "images by reference",
    "as written: a path that `read_file` shows when it is needed, or an address in a block",
)
def images() -> None:
    import base64

    from subagents import PNG

    address = "https://example.com/chart.png"
    content: list[str | dict[str, Any]] = [
        {"type": "text", "text": "The chart is in /c.png."},
        {"type": "image", "url": address},
    ]
    LOG.clear()
    agent = create_deep_agent(
        model("agent", script("Noted.", calls("read_file", file_path="/c.png"), "Seen."))
    )
    data = base64.b64encode(PNG).decode()
    files = {"/c.png": {**create_file_data(data), "encoding": "base64"}}
    state = agent.invoke({"messages": [HumanMessage(content)], "files": files}, AT)
    agent.invoke({**state, "messages": [*state["messages"], HumanMessage("Look.")]}, AT)
    seen("images as bytes in each request", [r.whole_content.count(data) for r in LOG], [0, 0, 1])
    seen("the address in each request", [address in r.whole_content for r in LOG], [True] * 3)


@row(
    139,
    "a counter of tokens of your own",
    "as written: `token_counter=` of `ContextMiddleware`, `SummarizationMiddleware` and `create_deep_agent`",
)
def counter() -> None:
    from langchain.agents import create_agent

    from thalweg_agent.middleware import SummarizationMiddleware

    given: list[BaseMessage] = []

    def own(messages: Sequence[BaseMessage]) -> int:
        given.extend(messages)
        images = sum("image" in str(block) for m in messages for block in m.content_blocks)
        return 5_000 * images + sum(len(str(m.text)) // 4 + 4 for m in messages)

    image = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
    asked = [HumanMessage([{"type": "text", "text": "Question"}, image])]  # type: ignore[list-item]
    middleware = SummarizationMiddleware(
        model("summary"), trigger=("messages", 50), token_counter=own
    )
    makers = {
        "SummarizationMiddleware": lambda: create_agent(model("agent"), middleware=[middleware]),
        "create_deep_agent": lambda: create_deep_agent(model("agent"), token_counter=own),
    }
    for name, make in makers.items():
        given.clear()
        make().invoke({"messages": asked}, AT)
        seen(f"{name} counts whole messages", len(given) > 0)
        seen("the image among them", any("image" in str(m.content) for m in given))


@row(140, "a subagent's name, description, prompt, tools, model, skills")
def spec() -> None:
    child = {
        "name": "gardener",
        "description": "Knows when to sow.",
        "system_prompt": "Answer in one line.",
        "tools": [tide],
        "model": model("child", script("In March.")),
        "skills": ["/skills/"],
    }
    run(
        calls("task", description="When to sow?", subagent_type="gardener"), "Done.",
        subagents=[child], files={"/skills/tides/SKILL.md": SKILL},
    )  # fmt: skip
    first, second = LOG[0], next(r for r in LOG if r.model == "child")
    seen("its description in the parent's tool", "Knows when to sow." in str(first.tools))
    seen("prompt and skill", "Answer in one line." in second.system and "tides" in second.system)
    seen("its tool", "tide" in {t["function"]["name"] for t in second.tools})
    seen("the parent has that tool", "tide" in {t["function"]["name"] for t in first.tools}, False)


@row(141, "`general-purpose` is there")
def general_purpose() -> None:
    run("Done.")
    described = next(t for t in LOG[0].tools if t["function"]["name"] == "task")
    seen("in `task`", "general-purpose" in str(described))


@row(142, "a large report", "as written: cut, with its whole kept")
def large_report() -> None:
    text = "\n".join(f"finding {n} of the child" for n in range(9_000))
    state = run(calls("task", description="Look", subagent_type="general-purpose"), text, "Done.")
    shown = count(LOG[-1].messages[-1].text)
    print(f"    tokens of the report: {count(text):,}; the parent sees {shown:,}")
    seen("less than a tenth", shown < 5_000)
    seen(
        "a way to the rest",
        "recall" in LOG[-1].messages[-1].text or "/" in str(state["messages"][-2].text),
    )


def backend() -> CompositeBackend:
    """Route `/memories/` to the store."""
    return CompositeBackend(
        default=StateBackend(),
        routes={"/memories/": StoreBackend(namespace=lambda runtime: ("ada", "memories"))},
    )


def visit(store: InMemoryStore, thread: str, *answers: Any) -> list[str]:
    """Run an agent with a store in a thread; return the results of its tools."""
    LOG.clear()
    agent = create_deep_agent(
        model("agent", script(*answers)),
        backend=backend(),
        store=store,
        checkpointer=InMemorySaver(),
    )
    state = agent.invoke({"messages": "Go."}, {"configurable": {"thread_id": thread}})
    return [str(m.text) for m in state["messages"] if m.type == "tool"]


@row(143, "`CompositeBackend`, `/memories/`")
def memories() -> None:
    store = InMemoryStore()
    visit(
        store,
        "t1",
        calls("write_file", file_path="/memories/preferences.txt", content="no flights"),
        "Done.",
    )
    (text,) = visit(store, "t2", calls("read_file", file_path="/memories/preferences.txt"), "Done.")
    seen("another thread reads it", "no flights" in text)


@row(144, "`StateBackend` for a thread")
def state_backend() -> None:
    store = InMemoryStore()
    visit(store, "t1", calls("write_file", file_path="/draft.txt", content="a draft"), "Done.")
    (text,) = visit(store, "t2", calls("read_file", file_path="/draft.txt"), "Done.")
    seen("another thread reads it", "a draft" in text, False)


@row(145, "files put into the store beforehand")
def seeded() -> None:
    store = InMemoryStore()
    store.put(("ada", "memories"), "/preferences.txt", dict(create_file_data("window seat")))
    (text,) = visit(store, "t1", calls("read_file", file_path="/memories/preferences.txt"), "Done.")
    seen("the agent reads it", "window seat" in text)


@tool
def send_mail(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


@row(146, "approve, edit, reject")
def approval() -> None:
    for decision, expected in (
        ({"type": "approve"}, "sent to ada"),
        (
            {"type": "edit", "edited_action": {"name": "send_mail", "args": {"to": "bob"}}},
            "sent to bob",
        ),
        ({"type": "reject", "message": "Not now."}, "Not now."),
    ):
        LOG.clear()
        agent = create_deep_agent(
            model("agent", script(calls("send_mail", to="ada"), "Done.")),
            tools=[send_mail], interrupt_on={"send_mail": True}, checkpointer=InMemorySaver(),
        )  # fmt: skip
        paused = agent.invoke({"messages": "Send it."}, AT)
        seen("the run pauses", "__interrupt__" in paused)
        result = agent.invoke(Command(resume={"decisions": [decision]}), AT)
        text = next(m.text for m in result["messages"] if m.type == "tool")
        seen(f"after {decision['type']}", expected in text)


@row(147, "`middleware=`")
def middleware() -> None:
    seen("its words in the prompt", "OWN MIDDLEWARE" in system(middleware=[Own()]))


@row(148, "every parameter of `create_deep_agent`")
def parameters() -> None:
    import inspect

    names = [
        "model",
        "tools",
        "system_prompt",
        "middleware",
        "subagents",
        "skills",
        "memory",
        "permissions",
        "backend",
        "interrupt_on",
        "response_format",
        "state_schema",
        "context_schema",
        "checkpointer",
        "store",
        "debug",
        "name",
        "cache",
    ]
    there = inspect.signature(create_deep_agent).parameters
    seen("parameters of deepagents 0.7 that are missing", [n for n in names if n not in there], [])
    agent = create_deep_agent(
        **dict.fromkeys(set(names) - {"model", "debug", "middleware"}),
        model=model("agent", script("Done.")),
        debug=False,
        middleware=(),
    )
    seen(
        "an agent of all of them answers",
        agent.invoke({"messages": "Go."}, AT)["messages"][-1].text,
        "Done.",
    )
