"""Summaries written in parallel with the run: what waits, is shown when, and is lost when."""

import asyncio
import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage
from langgraph.checkpoint.sqlite import SqliteSaver

from core_tests.e2e.test_summaries import (
    CONFIG,
    DRAWER,
    KEY,
    POLICY,
    Speaker,
    Thread,
    bad,
    faithful,
    fold_of,
    scribe,
    shown,
)
from core_tests.e2e.test_summary_prefix import POLICY as PREFIX_POLICY
from core_tests.e2e.test_summary_prefix import folds, pieces, script, talk
from core_tests.forking import PYTHON_PATH
from strict_llm import StrictProvider
from strict_llm_tests.chat_models import chat_model
from thalweg.archive import open_archive
from thalweg.archive.threads import summaries
from thalweg.engine.settings import ContextPolicy
from thalweg.testing import ScriptedModel

BESIDE = POLICY.model_copy(update={"background": True})


@dataclass
class Gate:
    """A summarizer that answers when it is let."""

    is_open: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)

    def __call__(self, messages: Sequence[BaseMessage]) -> AIMessage | str:
        """Summarize, after the gate was opened."""
        self.asked.set()
        assert self.is_open.wait(30)
        return faithful(messages)

    def wait_for(self, thread: Thread) -> None:
        """Let it answer, and wait until all it writes is stored."""
        self.is_open.set()
        assert thread.middleware.flush(30)
        self.is_open.clear()
        self.asked.clear()


def summary_in(thread: Thread) -> str:
    """Return the summaries in the newest request."""
    return thread.speaker.record.partition("## Summary")[2]


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_turn_that_compacts_does_not_wait_for_its_summary(*, apart: bool, is_async: bool) -> None:
    """Not even where its event loop ends with it; the next compaction shows what was written."""
    gate = Gate()
    model, reader = scribe(gate) if apart else (None, Speaker())
    thread = Thread(Speaker(gate), BESIDE, model)

    def fold() -> None:
        had = len(thread.folds)
        while len(thread.folds) == had:
            if is_async:
                asyncio.run(thread.agent.ainvoke(thread.next(), CONFIG))
            else:
                thread.talk(1)

    fold()
    page = thread.folds[0]
    assert gate.asked.wait(30)
    assert "## Requests" in thread.speaker.record
    assert summary_in(thread) == ""
    assert (page.spent, fold_of(page).summary) == (None, None)

    gate.wait_for(thread)
    fold()
    page = thread.folds[1]
    asked = [*thread.speaker.asked, *reader.asked]
    assert "Item 1 is kept in drawer D-1001." in summary_in(thread)
    assert page.note == ""
    assert page.spent is not None
    assert page.spent.calls == 1
    assert page.spent.output == fold_of(page).summary_output > 0
    assert fold_of(page).summary_last == fold_of(thread.folds[0]).last
    assert gate.asked.wait(30)
    assert len(asked) + len(reader.asked) + len(thread.speaker.asked) >= 2
    gate.wait_for(thread)


def test_a_summary_that_takes_longer_than_a_compaction_is_shown_by_a_later_one() -> None:
    """One is written at a time; what is folded meanwhile is in the next, each message once."""
    gate = Gate()
    cheap, reader = scribe(gate)
    thread = Thread(Speaker(), BESIDE, cheap)
    thread.fold()
    thread.fold()
    assert gate.asked.wait(30)
    assert len(reader.asked) == 1
    assert summary_in(thread) == ""

    gate.wait_for(thread)
    thread.fold()
    assert "Item 1 is kept in drawer D-1001." in summary_in(thread)
    assert gate.asked.wait(30)
    gate.wait_for(thread)
    thread.fold()
    assert len(re.findall(r"^### Messages ", summary_in(thread), re.MULTILINE)) == 2
    gate.wait_for(thread)
    drawers = [d for asked in reader.asked for d in DRAWER.findall(shown(asked))]
    assert drawers == [f"D-{1001 + n}" for n in range(len(drawers))]


def test_a_summary_that_no_model_could_write_is_in_the_next_turns_note(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One compaction passes; the one after it requests a summary of the older messages, too."""
    thread = Thread(Speaker(bad("fails")), BESIDE, scribe(bad("fails"))[0])
    page = thread.fold()
    assert thread.middleware.flush(30)
    assert page.note == ""
    assert "no usable summary of messages 0-" in caplog.text
    assert "the line is dead" not in caplog.text

    cheap, reader = scribe()
    again = Thread(
        Speaker(), BESIDE, cheap, archive=thread.archive, saver=thread.saver, said=thread.said
    )
    page = again.fold()
    assert again.middleware.flush(30)
    assert page.note.count("the line is dead") == 2
    assert reader.asked == []  # it waits for the next compaction
    pending = fold_of(again.fold()).pending
    assert pending is not None
    assert pending.first <= fold_of(page).last
    assert again.middleware.flush(30)
    assert len(reader.asked) == 1
    again.fold()
    assert f"### Messages {pending.first}-" in summary_in(again)


def test_where_the_cache_is_cold_a_summary_does_not_wait_for_the_next_compaction() -> None:
    """The record is written again with it, which costs nothing then; a warm one is unchanged."""
    gate = Gate()
    thread = Thread(Speaker(gate), BESIDE)
    thread.fold()
    assert gate.asked.wait(30)
    other = {"system_prompt": "You keep the shelf, and sweep the floor."}
    cold = Thread(
        thread.speaker, BESIDE, archive=thread.archive, saver=thread.saver, said=thread.said
    )
    cold.agent = make_agent(cold, **other)
    cold.talk(1)
    assert summary_in(cold) == ""

    gate.wait_for(thread)
    cold.talk(1)
    assert summary_in(cold) == ""
    warm = thread.speaker.record
    thread.middleware, thread.said = cold.middleware, cold.said
    thread.agent = make_agent(cold)
    thread.talk(1)
    page = thread.folds[-1]
    assert "Item 1 is kept in drawer D-1001." in summary_in(thread)
    assert thread.speaker.record != warm
    assert fold_of(page).last == fold_of(thread.folds[0]).last
    assert page.spent is not None
    assert page.spent.calls == 1
    record = thread.speaker.record
    thread.talk(1)
    assert thread.speaker.record == record


def make_agent(thread: Thread, system_prompt: str = "You keep the shelf in order.") -> Any:  # noqa: ANN401
    """Make an agent of a thread with another system prompt: no cache has what it sends."""
    return create_agent(
        ScriptedModel(script=thread.speaker),
        middleware=[thread.middleware],
        checkpointer=thread.saver,
        system_prompt=system_prompt,
    )


def remove_first(thread: Thread) -> None:
    """Have a person remove the first message from the state."""
    first = thread.agent.get_state(CONFIG).values["messages"][0]
    thread.agent.update_state(CONFIG, {"messages": [RemoveMessage(id=first.id)]})


def test_what_was_removed_while_it_was_summarized_is_never_shown() -> None:
    """The summary of it is stored, and dropped (I46)."""
    gate = Gate()
    thread = Thread(Speaker(), BESIDE, scribe(gate)[0])
    thread.fold()
    assert gate.asked.wait(30)
    remove_first(thread)
    gate.wait_for(thread)
    had = len(thread.speaker.live)
    gate.is_open.set()
    thread.fold()
    thread.middleware.flush(30)
    thread.fold()

    later = "".join(map(shown, thread.speaker.live[had:]))
    assert "D-1002" in summary_in(thread)
    assert "D-1001" not in later


@pytest.mark.parametrize("begins_again", [False, True])
def test_a_thread_that_is_deleted_while_it_is_summarized_stays_deleted(
    tmp_path: Path, *, begins_again: bool
) -> None:
    """Nothing of the summary is kept, not even where a thread of that name began meanwhile."""
    gate, path = Gate(), tmp_path / "thread.db"
    with open_archive(path) as archive:
        thread = Thread(Speaker(), BESIDE, scribe(gate)[0], archive)
        thread.fold()
        assert gate.asked.wait(30)
        archive.delete(KEY)
        if begins_again:
            again = Thread(Speaker(), POLICY.model_copy(update={"summarize": False}))
            archive.append(KEY, [])
            again.archive, again.said = archive, 500
            again.__post_init__()
            again.talk(12)
        gate.wait_for(thread)
        assert archive.threads("local") == (["t"] if begins_again else [])
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT count(*) FROM archive_summary").fetchone() == (0,)


def test_another_process_shows_what_one_process_had_written(tmp_path: Path) -> None:
    """Also where it was asked for before the other one took the thread."""
    gate, path = Gate(), tmp_path / "thread.db"
    with open_archive(path) as archive, open_archive(path) as other_archive:
        one = Thread(Speaker(), BESIDE, scribe(gate)[0], archive)
        one.fold()
        assert gate.asked.wait(30)
        cheap, reader = scribe()
        other = Thread(Speaker(), BESIDE, cheap, other_archive, one.saver, one.said)
        other.talk(1)
        assert other.middleware.flush(30)
        assert not reader.asked
        gate.wait_for(one)
        other.fold()
        assert "Item 1 is kept in drawer D-1001." in summary_in(other)
        assert other.middleware.flush(30)
        assert "D-1001" not in shown(reader.asked[0])


CHILD = """
import os, sqlite3, sys, time
from langgraph.checkpoint.sqlite import SqliteSaver
from core_tests.e2e.test_background_summaries import BESIDE
from core_tests.e2e.test_summaries import Speaker, Thread, scribe
from thalweg.archive import open_archive

def sleeps(messages):
    os.write(1, b"asked\\n")  # whole: two threads speak at once, and `print` writes in parts
    time.sleep(60)

with open_archive(sys.argv[1]) as archive:
    saver = SqliteSaver(sqlite3.connect(sys.argv[2], check_same_thread=False))
    thread = Thread(Speaker(), BESIDE, scribe(sleeps)[0], archive, saver)
    thread.fold()
    os.write(1, b"%d\\n" % thread.said)
    time.sleep(60)
"""


@pytest.mark.nightly
@pytest.mark.slow
def test_a_process_that_is_killed_loses_its_summary_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next process writes it again once it must be lost, and shows it."""
    path, checkpoints = tmp_path / "thread.db", tmp_path / "checkpoints.db"
    begun = [sys.executable, "-c", CHILD, str(path), str(checkpoints)]
    env = {**os.environ, "PYTHONPATH": PYTHON_PATH}
    with subprocess.Popen(begun, stdout=subprocess.PIPE, text=True, env=env) as child:
        assert child.stdout is not None
        # Killed when its turn is over: one that is killed in the turn has compacted nothing.
        lines = [child.stdout.readline().strip() for _ in range(2)]
        child.kill()
    asked, said = sorted(lines, reverse=True)
    assert asked == "asked"

    cheap, reader = scribe()
    monkeypatch.setattr(summaries, "LEASE_S", 3_600.0)  # however slow the machine is
    with (
        open_archive(path) as archive,
        closing(sqlite3.connect(checkpoints, check_same_thread=False)) as connection,
    ):
        first = Thread(Speaker(), BESIDE, cheap, archive, SqliteSaver(connection), int(said))
        first.talk(1)
        assert first.middleware.flush(30)
        assert not reader.asked  # the other process may be at it
        monkeypatch.setattr(summaries, "LEASE_S", 0.0)
        later = Thread(Speaker(), BESIDE, cheap, archive, first.saver, first.said)
        later.talk(1)
        assert later.middleware.flush(30)
        assert "D-1001" in shown(reader.asked[0])
        later.fold()
        assert "Item 1 is kept in drawer D-1001." in summary_in(later)
        assert later.middleware.flush(30)
        assert len(reader.asked) == 2


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])
def test_a_request_beside_the_run_reads_the_cache_that_the_run_wrote(wire: str) -> None:
    """It extends what was sent before the compaction, to the byte (I41)."""
    policy = PREFIX_POLICY.model_copy(update={"background": True})
    with (
        StrictProvider(answer=script) as provider,
        chat_model(provider, wire) as model,
        open_archive(":memory:") as archive,
    ):
        talk(model, archive, policy=policy, times=2)
        page = folds(archive)[1]
        sent = [(seen, pieces(seen)) for seen in provider.requests]
        asked = [k for k, (_, said) in enumerate(sent) if "six sections" in said[-1]]
        seen, said = sent[asked[0]]
        before = [one for one, own in sent if own == said[: len(own)] and one is not seen]

    assert not any(seen.problems for seen in provider.requests)
    assert seen.cached_tokens >= before[-1].tokens - 128
    assert page.spent is not None
    assert page.spent.input == seen.tokens
    assert page.spent.cached == seen.cached_tokens
    assert page.note == ""


def test_a_turn_that_is_to_wait_does() -> None:
    """With `background: false`."""
    assert ContextPolicy().writes_in_background
    assert not ContextPolicy(trigger=("messages", 30)).writes_in_background
    assert ContextPolicy(trigger=("messages", 30), background=True).writes_in_background
    thread = Thread(Speaker())
    thread.fold()
    assert "Item 1 is kept in drawer D-1001." in summary_in(thread)
