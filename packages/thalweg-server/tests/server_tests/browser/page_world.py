"""An archive for the page: a thread of an agent that was compacted, and a recorded session.

Both are made by the programs themselves: an agent with Anthropic's client and a strict provider,
and the import of a log of Claude Code.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from strict_llm import Answer, Request, StrictProvider
from strict_llm_tests.chat_models import chat_model
from thalweg.archive import Logged, ThreadKey, open_archive
from thalweg.archive.threads.journal import ThreadBranch, TurnRecord, append_page
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.entries import Message, Text
from thalweg.engine.settings import ContextPolicy
from thalweg_memory import Memory, Scope, open_memory
from thalweg_memory.facts.values import Statement, Trust
from thalweg_recorder.importing import import_sessions

OWNER, MODEL, WINDOW = "local", "claude-sonnet-4-5", 24_000
CUTOVER = "Plan the cutover of the shop's database"
SESSION = "11111111-1111-4111-8111-111111111111"
RECORDED = f"claude-code:{SESSION}"
TITLE = "Fix the flaky checkout test"
FACT = "I prefer short answers without headings."
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAF0lEQVR4nGNkSPjPQApgIkn1qIZRDUNKAwAsOgF+"
    "i1lZ9wAAAABJRU5ErkJggg=="
)
FILES = (
    "deploy/cutover.md", "db/schema.sql", "db/migrate_0042.sql", "app/checkout.py", "app/orders.py",
    "ops/replication.md", "ops/alerts.yaml", "app/settings.py", "tests/test_checkout.py",
    "ops/rollback.md", "app/payments.py", "docs/runbook.md",
)  # fmt: skip
TASKS = (
    f"{CUTOVER}. Never touch production before the ninth of May.",
    "Which tables have no primary key? They cannot be replicated.",
    "What happens to a payment that is under way at the cutover?",
    "Keep the old cluster readable for a week. Where would that be set?",
    "Does an alert fire if the replica lags by more than ten seconds?",
    "Write the order of the steps, with who does each.",
)


@tool
def read_file(path: str) -> str:
    """Return the lines of a file of the project."""
    number = FILES.index(path) if path in FILES else 0
    lines = (
        f"{k:>4}  {path.rpartition('/')[2]}: step {k * 7 % 90} waits for replica {k % 5}, "
        f"at most {k * 13 % 60 + number} s"
        for k in range(1, 170)
    )
    return "\n".join(lines)


def assistant(request: Request) -> Answer:
    """Read files for each question, and answer every third time."""
    if request.number % 3:
        path = FILES[request.number % len(FILES)]
        return Answer("I read the file first.", (("read_file", {"path": path}),))
    return Answer(
        "The file names the limits: replica 3 waits at most 42 s, and step 35 needs it. I would "
        "stop writes first, wait until the replica has no lag, and only then switch the address."
    )


def make_thread(home: Path, thread: str = "cutover") -> None:
    """Run the agent on the tasks; its window is small, so its context is compacted."""
    policy = ContextPolicy(window=WINDOW, max_output=1_000, summarize=False)
    with (
        StrictProvider(answer=assistant, window=WINDOW) as provider,
        chat_model(provider, "anthropic", model=MODEL) as model,
        ContextMiddleware(policy, archive=home / "thalweg.db", owner=OWNER) as middleware,
    ):
        agent: Any = create_agent(
            model,
            [read_file],
            system_prompt="You prepare changes of a shop's database. Be brief and exact.",
            middleware=[middleware],
            checkpointer=InMemorySaver(),
        )
        for task in TASKS:
            agent.invoke(
                {"messages": [HumanMessage(task)]}, {"configurable": {"thread_id": thread}}
            )


def write_session(folder: Path, requests: int = 6) -> Path:
    """Write a log of Claude Code with a compaction that loses requests of the user."""
    at = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
    rows: list[dict[str, Any]] = [{"type": "ai-title", "aiTitle": TITLE, "sessionId": SESSION}]
    parent: str | None = None

    def row(kind: str, **more: Any) -> None:  # noqa: ANN401 (values of JSON)
        nonlocal parent, at
        at += timedelta(seconds=40)
        uuid = f"u{len(rows)}"
        rows.append(
            {
                "type": kind,
                "uuid": uuid,
                "parentUuid": parent,
                "sessionId": SESSION,
                "cwd": "/src/shop",
                "version": "2.1.0",
                "timestamp": f"{at:%Y-%m-%dT%H:%M:%S}.000Z",
                **more,
            }
        )
        parent = uuid

    size = 18_000
    for number in range(requests):
        if number == requests // 2:
            metadata = {"trigger": "auto", "preTokens": size}
            row("system", subtype="compact_boundary", content="Compacted", compactMetadata=metadata)
            summary = "The user works on the checkout test, which fails now and then."
            row("user", isCompactSummary=True, message={"role": "user", "content": summary})
            size = 14_000
        wanted = f"Request {number}: look at case {number} of the checkout test, and keep its seed."
        content: Any = wanted
        if not number:
            source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
            content = [{"type": "image", "source": source}, {"type": "text", "text": wanted}]
        row("user", message={"role": "user", "content": content})
        for step in range(3):
            call = {"type": "tool_use", "id": f"c{number}-{step}", "name": "Read",
                    "input": {"file_path": f"tests/case_{number}_{step}.py"}}  # fmt: skip
            text = {"type": "text", "text": f"Case {number}, step {step}."}
            usage = {"input_tokens": 12, "cache_read_input_tokens": size,
                     "cache_creation_input_tokens": 900,
                     "output_tokens": 160 if number or step else 1}  # fmt: skip
            size += 2_600
            answer = {"id": f"m{number}-{step}", "role": "assistant", "model": "claude-opus-4-5",
                      "content": [text, call], "usage": usage}  # fmt: skip
            row("assistant", message=answer)
            lines = "\n".join(f"assert total({k}) == {k * number}" for k in range(120))
            result = {"type": "tool_result", "tool_use_id": call["id"], "content": lines}
            row("user", message={"role": "user", "content": [result]})
    path = folder / f"{SESSION}.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def make_long_thread(home: Path, messages: int = 10_000) -> None:
    """Write a thread of many messages, as an import does."""
    rows = [
        Logged(
            Message("user" if k % 2 == 0 else "assistant", (Text(f"Message {k}. " * (k % 9 + 1)),))
        )
        for k in range(messages)
    ]
    with open_archive(home / "thalweg.db") as archive:
        line = ThreadBranch.of(range(messages))
        page = TurnRecord(kind="import", at=1.7e9, length=messages, line=line)
        append_page(archive, ThreadKey(OWNER, "long"), page, length=0, log=rows)


def make_memory(home: Path) -> None:
    """Remember what the user said in the thread, and let a statement of a page wait for review."""
    at = "2026-11-19T09:00:00+00:00"
    turns = [Statement("cutover", 0, "user", TASKS[0], at, Trust.USER, position=0)]
    with open_memory(home / "thalweg.db") as store:
        memory = Memory(store, Scope(OWNER))
        memory.remember(FACT, category="preference")
        memory.remember("I work on the shop's database in Utrecht.", category="context")
        memory.remember_as_agent(
            "The user never touches production before the ninth of May.",
            category="goal", turns=turns, least=Trust.USER,
            quote="Never touch production before the ninth of May",
        )  # fmt: skip
        memory.remember_as_agent(
            "The user wants every alert to be sent by mail.",
            category="preference", turns=turns, least=Trust.WEB,
        )  # fmt: skip


def make_archive(home: Path) -> None:
    """Make the two threads and the memory, in the folder of a gateway."""
    home.mkdir(mode=0o700, exist_ok=True)
    make_thread(home)
    with open_archive(home / "thalweg.db") as archive:
        (done,) = import_sessions(archive, [write_session(home.parent)])
    assert not done.error, done.error
    make_memory(home)
