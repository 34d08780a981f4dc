"""Three experiments on what users of DeerFlow can lose.

What no summarizer read; what was not learned while a user wrote on; what came back after a clear.

    uv run python -m benchmarks.arriving

Counts, no times: the same on every machine. No model is asked; scripts answer in its place.
"""

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from memory_tests.e2e.test_memory_taken_out import SAID, Ada
from memory_tests.learning import Clock, learner, say
from thalweg.archive import Archive, ThreadKey, open_archive
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine import ContextPolicy
from thalweg.testing import ScriptedModel
from thalweg_memory import open_memory
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Scope
from thalweg_memory.jobs.learner import Worker

TURNS, WORDS, TRIGGER, KEEP = 84, 250, 32_000, 10
USERS, MINUTES, STEP_S, DEBOUNCE_S = 16, 10, 25, 30
_NEEDLE = re.compile(r"NEEDLE-\d\d")
THREAD = ThreadKey("local", "t")


def needle(turn: int) -> str:
    """Name the needle of a turn."""
    return f"NEEDLE-{turn:02}"


def reading(archive: Archive, trim: int | None) -> str:
    """Chat until the context was compacted, and look for the needle of each turn."""
    read: set[str] = set()
    last: list[str] = []

    def summarize(messages: Sequence[BaseMessage]) -> str:
        read.update(_NEEDLE.findall("\n".join(str(one.text) for one in messages)))
        return "They spoke of rivers."

    def answer(messages: Sequence[BaseMessage]) -> str:
        last[:] = [str(one.text) for one in messages]
        return "river " * WORDS

    policy = ContextPolicy.from_mapping(
        {
            "trigger": {"type": "tokens", "value": TRIGGER},
            "keep": {"type": "messages", "value": KEEP},
            "trim_tokens_to_summarize": trim,
        }
    )
    middleware = ContextMiddleware(
        policy, archive=archive, summarizer=ScriptedModel(script=summarize)
    )
    agent: Any = create_agent(
        ScriptedModel(script=answer), middleware=[middleware], checkpointer=InMemorySaver()
    )
    for turn in range(TURNS):
        half = "water " * (WORDS // 2)
        said = [("user", f"{half}{needle(turn)} {half}")]
        agent.invoke({"messages": said}, {"configurable": {"thread_id": THREAD.thread}})
    every = {needle(turn) for turn in range(TURNS)}
    context = every & set(_NEEDLE.findall("\n".join(last)))
    live = every & set(_NEEDLE.findall("\n".join(t for t in last if "<thread-record>" not in t)))
    found = {
        one for one in every if any(one in hit.text for hit in archive.search(THREAD, one)[:1])
    }
    return (
        f"trim {trim or 'none':>6}: {len(read - live)} of the {TURNS - len(live)} that left the "
        f"context were read by the summarizer; {len(context)} of {TURNS} stand in the last "
        f"context; one search finds {len(found)} of {TURNS}"
    )


def learning(folder: Path) -> str:
    """Let users write without a pause, and count who was learned from meanwhile."""
    clock, owners = Clock(), [Scope(f"user {number}") for number in range(USERS)]
    settings = MemorySettings(profile=False, max_facts=1_000, debounce_seconds=DEBOUNCE_S)
    with open_memory(folder / "learning.db") as store:
        worker = Worker(store, learner(store, clock, settings=settings).learn, clock=clock)
        steps = MINUTES * 60 // STEP_S
        for step in range(steps):
            for owner in owners:
                say(store, owner, f"I keep the key in drawer {step}.", clock=clock)
            worker.run_due()
            clock.forward(STEP_S)
        meanwhile = sum(bool(store.facts(owner)) for owner in owners)
        clock.forward(DEBOUNCE_S)
        worker.run_due()
        after = sum(len(store.facts(owner)) == steps for owner in owners)
    return (
        f"a message every {STEP_S} s for {MINUTES} minutes, pause of {DEBOUNCE_S} s: "
        f"{meanwhile} of {USERS} users were learned from while they wrote, {after} of them "
        "completely at the end"
    )


def clearing(folder: Path, storage: str) -> str:
    """Clear a memory while the learner is at work, and look at the next request."""
    folder = folder / storage
    folder.mkdir()
    ada = Ada(folder, storage=storage)
    try:
        ada.chat(SAID, "said")
        ada.meanwhile = ada.memory.clear
        ada.learn()
        ada.meanwhile = lambda: None
        ada.learn()
        facts = len(ada.memory.facts())
        known = "is" if ada.knows() else "is not"
    finally:
        ada.store.close()
    return f"storage {storage:>8}: {facts} facts came back; it {known} in the next request"


def main() -> None:
    """Print all three."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"A. {TURNS} turns of {WORDS} words, trigger {TRIGGER:,} tokens, keep {KEEP}")
        for trim in (4_000, None):
            with open_archive(folder / f"{trim}.db") as archive:
                print(f"   {reading(archive, trim)}")
        print("B. learning under load")
        print(f"   {learning(folder)}")
        print("C. clear while a model extracts")
        for storage in ("database", "json"):
            print(f"   {clearing(folder, storage)}")


if __name__ == "__main__":
    main()
