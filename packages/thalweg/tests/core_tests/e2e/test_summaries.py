"""Summaries through the middleware: who is asked, what they are shown, what becomes of it."""

import asyncio
import json
import logging
import re
import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import ModelProfile
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from core_tests.archives import archive_in_memory
from thalweg.archive import Archive, ThreadKey, open_archive, recall
from thalweg.archive.threads.journal import TurnRecord, page_from_json
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.compaction.thresholds import Threshold
from thalweg.engine.edits import Fold
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.tokens import exact_counter
from thalweg.testing import ScriptedModel

KEY = ThreadKey("local", "t")
POLICY = ContextPolicy(
    background=False, window=8_000, max_output=500, trigger=("fraction", 0.5), keep=("messages", 4)
)
"""Each turn that compacts waits for its summary; `test_background_summaries` has the others."""
CONFIG: Any = {"configurable": {"thread_id": "t"}}
DRAWER = re.compile(r"D-\d{4}")
PROSE = "and the rest of the shelf stays where it is, as it was agreed upon earlier. " * 8
count = exact_counter()
Says = Callable[[Sequence[BaseMessage]], AIMessage | str]


def is_asked(messages: Sequence[BaseMessage]) -> bool:
    """Whether a request is one for a summary."""
    last = messages[-1].text
    return "[This is not the user speaking.]" in last or "<transcript" in last


def in_place(messages: Sequence[BaseMessage]) -> bool:
    return "[This is not the user speaking.]" in messages[-1].text


def shown(messages: Sequence[BaseMessage]) -> str:
    return "\n".join(message.text for message in messages)


def faithful(messages: Sequence[BaseMessage]) -> str:
    """Write the first drawers of what is shown and in no record."""
    drawers = DRAWER.findall(shown([m for m in messages if "<thread-record>" not in m.text]))
    items = [f"- Item {int(drawer[2:]) - 1000} is kept in drawer {drawer}." for drawer in drawers]
    return "## State of work\n" + "\n".join(dict.fromkeys(items[:2]))


@dataclass
class Speaker:
    """The script of a model that talks, and summarizes as instructed."""

    summary: Says = faithful
    live: list[list[BaseMessage]] = field(default_factory=list)
    asked: list[list[BaseMessage]] = field(default_factory=list)

    def __call__(self, messages: Sequence[BaseMessage]) -> AIMessage | str:
        """Answer a request."""
        if is_asked(messages):
            self.asked.append(list(messages))
            return self.summary(messages)
        self.live.append(list(messages))
        return f"Noted as entry {len(self.live)}, {PROSE}"

    @property
    def transcripts(self) -> list[str]:
        """What was shown apart, oldest first: requests of one summary come in any order."""
        return sorted(map(shown, self.asked), key=lambda text: DRAWER.findall(text)[:1])

    @property
    def record(self) -> str:
        """The record in the newest live request; empty before the first fold."""
        return next((m.text for m in self.live[-1] if "<thread-record>" in m.text), "")


@dataclass
class Thread:
    """An agent with its archive, and the messages sent to it."""

    speaker: Speaker
    policy: ContextPolicy = POLICY
    scribe: ScriptedModel | None = None
    archive: Archive = field(default_factory=archive_in_memory)
    saver: BaseCheckpointSaver[Any] = field(default_factory=InMemorySaver)
    said: int = 0
    options: dict[str, Any] = field(default_factory=dict)
    middleware: ContextMiddleware = field(init=False)

    def __post_init__(self) -> None:
        self.middleware = ContextMiddleware(
            self.policy, archive=self.archive, summarizer=self.scribe
        )
        self.agent: Any = create_agent(
            ScriptedModel(script=self.speaker),
            middleware=[self.middleware],
            checkpointer=self.saver,
            system_prompt="You keep the shelf in order.",
            **self.options,
        )

    def next(self) -> dict[str, Any]:
        """Make the user's next message."""
        self.said += 1
        words = f"Item {self.said} is kept in drawer D-{1000 + self.said}, {PROSE}"
        return {"messages": [("user", words)]}

    def talk(self, turns: int) -> "Thread":
        """Go on for some turns."""
        for _ in range(turns):
            self.agent.invoke(self.next(), CONFIG)
        return self

    def fold(self) -> TurnRecord:
        """Send messages until something is folded; return the page of that turn."""
        had = len(self.folds)
        for _ in range(60):
            self.talk(1)
            if len(self.folds) > had:
                return self.folds[-1]
        msg = "nothing was folded"
        raise AssertionError(msg)

    @property
    def pages(self) -> list[TurnRecord]:
        """The journal."""
        return [page_from_json(text) for text in self.archive.turns(KEY)]

    @property
    def folds(self) -> list[TurnRecord]:
        """The turns in which something was folded."""
        return [p for p in self.pages if any(isinstance(e, Fold) for e in p.edits)]


def fold_of(page: TurnRecord) -> Fold:
    return next(edit for edit in page.edits if isinstance(edit, Fold))


def scribe(
    says: Says = faithful, *, max_input_tokens: int | None = None
) -> tuple[ScriptedModel, Speaker]:
    speaker = Speaker(says)
    profile: ModelProfile = {"max_input_tokens": max_input_tokens} if max_input_tokens else {}
    return ScriptedModel(script=speaker, name="scribe", profile=profile), speaker


def test_the_agents_own_model_is_asked_behind_the_removed_messages() -> None:
    """What it is sent before the question is the beginning of what it was last sent."""
    thread = Thread(Speaker())
    page = thread.fold()

    (asked,) = thread.speaker.asked
    before = thread.speaker.live[-2]
    assert in_place(asked)
    shared = [(m.type, m.text) for m in asked[:-1]]
    assert len(shared) > 10
    assert shared == [(m.type, m.text) for m in before[: len(shared)]]
    assert "## Summary" in thread.speaker.record
    assert "Item 1 is kept in drawer D-1001." in thread.speaker.record
    assert page.spent is not None
    assert page.spent.calls == 1
    assert page.note == ""


def test_a_cheap_model_with_a_small_window_reads_every_message_in_chunks_that_fit() -> None:
    """What is over its window comes in the next chunk; nothing of a message is omitted."""
    cheap, reader = scribe(max_input_tokens=4_000)
    policy = ContextPolicy(
        background=False, window=24_000, max_output=500, trigger=("fraction", 0.6)
    )
    thread = Thread(Speaker(), policy, cheap)
    thread.fold()

    assert not thread.speaker.asked
    assert len(reader.asked) > 1
    assert all(sum(count(m.text) for m in asked) <= 4_000 - 500 for asked in reader.asked)
    read = "\n".join(shown(asked) for asked in reader.asked)
    fold = fold_of(thread.folds[-1])
    for position, message in enumerate(thread.archive.messages(KEY, 0, fold.last)):
        assert (message.text in read) is (position not in fold.kept)


def test_no_chunk_holds_more_than_was_allowed() -> None:
    """`trim_tokens_to_summarize` bounds each request; what is over it comes in the next one."""
    policy = POLICY.model_copy(update={"trim_tokens_to_summarize": 1_000})
    thread = Thread(Speaker(), policy)
    thread.fold()

    asked = thread.speaker.asked
    assert len(asked) > 1
    assert not any(map(in_place, asked))
    for request in asked:
        (transcript,) = re.findall(r"<transcript>\n(.*)\n</transcript>", shown(request), re.DOTALL)
        assert count(transcript) <= 1_000
    drawers = DRAWER.findall("".join(thread.speaker.transcripts))
    assert drawers == [f"D-{1001 + n}" for n in range(len(drawers))]
    assert len(drawers) > 3


def test_one_request_reads_only_the_newest_of_what_left() -> None:
    """`summary_requests: 1` trims as DeerFlow does, and the turn's note has what was not read."""
    sizes = {"trim_tokens_to_summarize": 600, "summary_requests": 1}
    thread = Thread(Speaker(), POLICY.model_copy(update=sizes))
    page = thread.fold()

    (request,) = thread.speaker.asked
    drawers = DRAWER.findall(shown(request))
    assert "D-1001" not in drawers
    assert len(drawers) > 1
    assert "the oldest" in page.note
    assert "messages were not read" in page.note


def test_many_chunks_share_the_length_of_one_summary() -> None:
    """Ten chunks of five hundred words would be more than the conversation."""
    policy = POLICY.model_copy(update={"trim_tokens_to_summarize": 600})
    thread = Thread(Speaker(), policy)
    thread.fold()

    asked = [int(n) for a in thread.speaker.asked for n in re.findall(r"At most (\d+)", shown(a))]
    assert len(asked) > 4
    assert sum(asked) <= 1_000


def test_a_prompt_of_the_users_own_is_sent_with_the_transcript_in_its_place() -> None:
    words = "List the drawers of {messages} in Latin. Use {braces}."
    policy = POLICY.model_copy(update={"summary_prompt": words})
    thread = Thread(Speaker(), policy)
    thread.fold()

    (request,) = thread.speaker.asked
    text = shown(request)
    assert text.startswith("List the drawers of What stands between <transcript>")
    assert text.endswith("</transcript> in Latin. Use {braces}.")
    assert "D-1001" in text
    assert "Item 1 is kept in drawer D-1001." in thread.speaker.record


def test_a_format_that_is_asked_of_answers_does_not_spoil_the_summary() -> None:
    """After the live request the model would answer in it; so it is asked apart."""

    class Shelf(BaseModel):
        drawers: int

    def answers(messages: Sequence[BaseMessage]) -> AIMessage | str:
        said = speaker(messages)
        if isinstance(said, AIMessage) or is_asked(messages):
            return said
        call = ToolCall(name="Shelf", args={"drawers": 1}, id=f"c{len(speaker.live)}")
        return AIMessage(said, tool_calls=[call])

    speaker = Speaker()
    thread = Thread(speaker, options={"response_format": ToolStrategy(Shelf)})
    thread.agent = create_agent(
        ScriptedModel(script=answers),
        middleware=[ContextMiddleware(POLICY, archive=thread.archive)],
        checkpointer=thread.saver,
        response_format=ToolStrategy(Shelf),
    )
    thread.fold()

    assert speaker.asked
    assert not any(map(in_place, speaker.asked))
    assert "Item 1 is kept in drawer D-1001." in speaker.record


def test_what_is_asked_apart_is_made_of_originals_alone() -> None:
    """No summary is made from an earlier one, nor from a record (I29)."""
    marked = "The shelf is of oak"
    cheap, reader = scribe(lambda _: f"## State of work\n- {marked}.")
    thread = Thread(Speaker(), scribe=cheap)
    thread.archive.append(KEY, [])
    thread.agent.invoke({"messages": [("user", f"{marked}, remember it. {PROSE}")]}, CONFIG)
    for _ in range(4):
        thread.fold()

    assert len(reader.asked) == 4
    later = [shown(asked) for asked in reader.asked[1:]]
    assert marked in thread.speaker.record
    assert not any(marked in text or "thread-record" in text for text in later)
    drawers = [d for asked in reader.asked for d in DRAWER.findall(shown(asked))]
    assert drawers == sorted(set(drawers)), "a message was read twice"


BAD: dict[str, tuple[str | AIMessage | Exception, str]] = {
    "fails": (RuntimeError("the line is dead"), "RuntimeError: the line is dead"),
    "refuses": ("I'm sorry, but I can't help with that.", "requested sections"),
    "is empty": ("", "it is empty"),
    "is blank": (" \n\n ", "it is empty"),
    "is OK": ("OK", "requested sections"),
    "announces": ("Sure, here is the summary:", ""),
    "has headings alone": ("## Goal\n\n## Constraints\n", ""),
    "is cut off": (
        AIMessage("## Goal\n- keep", response_metadata={"finish_reason": "length"}),
        "cut off",
    ),
    "is cut off, as Anthropic says it": (
        AIMessage("## Goal\n- keep", response_metadata={"stop_reason": "max_tokens"}),
        "cut off",
    ),
    "is stopped": (
        AIMessage("", response_metadata={"finish_reason": "content_filter"}),
        "content_filter",
    ),
    "calls a tool": (
        AIMessage(
            "",
            tool_calls=[ToolCall(name="recall", args={"query": "x"}, id="c1")],
            response_metadata={"finish_reason": "tool_calls"},
        ),
        "called a tool",
    ),
}


def bad(what: str) -> Says:
    answer, _ = BAD[what]

    def says(_: Sequence[BaseMessage]) -> AIMessage | str:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return says


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("what", BAD)
def test_a_summary_that_must_not_be_used_leaves_the_record_and_says_why(
    what: str, *, apart: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The run continues; the journal has the cause (I35), events and logs its kind alone."""
    thread = Thread(Speaker(bad(what)), scribe=scribe(bad(what))[0] if apart else None)
    events: list[dict[str, Any]] = []
    with caplog.at_level(logging.DEBUG, logger="thalweg"):
        while not thread.folds:
            events += thread.agent.stream(thread.next(), CONFIG, stream_mode="custom")
    page = thread.folds[-1]

    assert BAD[what][1] in page.note
    assert page.note
    assert events[-1]["note"].startswith("no usable summary; ")
    logged = [r for r in caplog.records if r.name == "thalweg.context"]
    assert [r.getMessage().partition(": ")[2] for r in logged if r.levelname == "WARNING"] == [
        event["note"] for event in events
    ]
    outside = json.dumps(events) + "".join(r.getMessage() for r in logged)
    assert not any(word in outside for word in ("is dead",))
    record = thread.speaker.record
    assert "## Requests" in record
    assert "D-1001" in record
    assert "## Summary" not in record
    assert thread.talk(2).speaker.live[-1][-1].text.startswith(f"Item {thread.said} ")


def test_a_name_that_no_message_has_is_marked_in_its_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """For the model and in the journal; a mark is no reason for a warning."""
    good, false = "Item 1 is kept in drawer D-1001.", "Item 2 is kept in drawer D-7777."
    thread = Thread(Speaker(lambda _: f"## State of work\n- {good}\n- {false}"))
    with caplog.at_level(logging.INFO, logger="thalweg"):
        page = thread.fold()

    assert good in thread.speaker.record
    assert f"{false} [not in the messages: D-7777]" in thread.speaker.record
    assert "not in the messages: D-7777" in page.note
    assert "1 line marked: not in the messages" in caplog.text
    assert "D-7777" not in caplog.text
    assert not any(r.levelname == "WARNING" for r in caplog.records)


def test_a_summarizer_whose_window_is_smaller_than_it_says_gets_smaller_chunks() -> None:
    """It refuses what is over 2,500 tokens; everything is read in the end."""

    def refuses(messages: Sequence[BaseMessage]) -> str:
        if count(shown(messages)) > 2_500:
            msg = "prompt is too long: 9999 tokens > 2500 maximum"
            raise ContextOverflowError(msg)
        return faithful(messages)

    cheap, reader = scribe(refuses, max_input_tokens=32_000)
    thread = Thread(Speaker(), scribe=cheap)
    page = thread.fold()

    fitting = [text for text in reader.transcripts if count(text) <= 2_500]
    drawers = DRAWER.findall("".join(fitting))
    assert drawers == [f"D-{1001 + n}" for n in range(len(drawers))]
    assert len(drawers) > 3
    assert "prompt is too long" in page.note
    assert "is kept in drawer" in thread.speaker.record.partition("## Summary")[2]


def test_where_the_named_model_is_down_the_agents_own_writes_the_summary() -> None:
    """The chunks fail at once, so a user waits for one timeout and one more call."""
    cheap, reader = scribe(bad("fails"), max_input_tokens=2_500)
    policy = ContextPolicy(
        background=False, window=20_000, max_output=500, trigger=("fraction", 0.6)
    )
    thread = Thread(Speaker(), policy, cheap)
    page = thread.fold()

    assert len(reader.asked) > 4
    assert len(thread.speaker.asked) == 1
    assert "## Summary" in thread.speaker.record
    assert "RuntimeError: the line is dead" in page.note
    assert page.spent is not None
    assert page.spent.calls == 1


def test_where_no_model_answers_the_record_is_alone() -> None:
    """Each is asked once; the run continues."""
    cheap, reader = scribe(bad("fails"))
    thread = Thread(Speaker(bad("fails")), scribe=cheap)
    page = thread.fold()

    assert (len(reader.asked), len(thread.speaker.asked)) == (1, 1)
    assert fold_of(page).summary is None
    assert "## Requests" in thread.speaker.record
    assert page.note.count("the line is dead") == 2


@pytest.mark.parametrize("is_async", [False, True])
def test_the_chunks_of_one_summary_are_read_at_once(*, is_async: bool) -> None:
    """Each answer comes only when three requests are under way: one by one none would."""
    lock, under_way, met = threading.Lock(), [0], threading.Event()

    def waits(messages: Sequence[BaseMessage]) -> str:
        with lock:
            under_way[0] += 1
            if under_way[0] == 3:
                met.set()
        if not met.wait(20):
            msg = "the others were not asked"
            raise TimeoutError(msg)
        return faithful(messages)

    policy = POLICY.model_copy(update={"trim_tokens_to_summarize": 600})
    thread = Thread(Speaker(), policy, scribe(waits)[0])
    while not thread.folds:
        if is_async:
            asyncio.run(thread.agent.ainvoke(thread.next(), CONFIG))
        else:
            thread.talk(1)

    assert thread.folds[-1].note == ""
    assert "is kept in drawer" in thread.speaker.record.partition("## Summary")[2]


def test_a_summary_takes_a_bounded_number_of_requests() -> None:
    """Chunks grow above `trim_tokens_to_summarize` rather than become more; all is read."""
    policy = POLICY.model_copy(update={"trim_tokens_to_summarize": 130})
    thread = Thread(Speaker(), policy)
    page = thread.fold()

    assert 8 < len(thread.speaker.asked) <= 16
    drawers = set(DRAWER.findall("".join(thread.speaker.transcripts)))
    assert drawers == {f"D-{1001 + n}" for n in range(len(drawers))}
    assert len(drawers) > 8
    assert page.note == ""


def test_what_a_bounded_number_of_small_windows_cannot_hold_is_not_read() -> None:
    """The oldest is not; the journal states how much, and the record is of all of it."""
    cheap, reader = scribe(max_input_tokens=700)
    thread = Thread(Speaker(), scribe=cheap)
    page = thread.fold()

    assert len(reader.asked) == 16
    assert "D-1001" not in "".join(reader.transcripts)
    assert re.search(r"the oldest \d+ of \d+ chunks were not read", page.note)
    assert "D-1001" in thread.speaker.record


def test_folds_too_small_for_a_summary_are_read_with_a_later_one() -> None:
    """Every message that is folded is shown to the summarizer, each once."""
    cheap, reader = scribe()
    policy = POLICY.model_copy(update={"keep": Threshold(type="messages", value=20)})
    thread = Thread(Speaker(), policy, cheap)
    pages = [thread.fold() for _ in range(12)]
    small = [page for page in pages if page.spent is None]
    while thread.folds[-1].spent is None:
        thread.fold()

    assert small
    drawers = [d for text in reader.transcripts for d in DRAWER.findall(text)]
    assert drawers == [f"D-{1001 + n}" for n in range(len(drawers))]
    last = fold_of(thread.folds[-1]).last
    assert len(drawers) >= last // 2


def test_what_no_summary_is_of_is_read_again_when_the_next_one_is_made() -> None:
    """The summarizer was down for one fold; the next one's summary is of both."""
    thread = Thread(Speaker(bad("fails")), scribe=scribe(bad("fails"))[0])
    missed = fold_of(thread.fold()).last
    cheap, reader = scribe()
    again = Thread(
        Speaker(), scribe=cheap, archive=thread.archive, saver=thread.saver, said=thread.said
    )
    page = again.fold()

    assert missed > 0
    assert fold_of(page).summary_first == 0
    assert "D-1001" in shown(reader.asked[0])
    assert "### Messages 0-" in again.speaker.record


def test_one_failure_costs_the_summary_of_one_chunk_alone() -> None:
    """The others are kept, and no other model is asked."""

    def stumbles(messages: Sequence[BaseMessage]) -> str:
        if "D-1005" in shown(messages):
            msg = "try again later"
            raise RuntimeError(msg)
        return faithful(messages)

    cheap, reader = scribe(stumbles, max_input_tokens=3_500)
    policy = ContextPolicy(
        background=False, window=24_000, max_output=500, trigger=("fraction", 0.6)
    )
    thread = Thread(Speaker(), policy, cheap)
    page = thread.fold()

    assert len(reader.asked) > 3
    assert not thread.speaker.asked
    assert "try again later" in page.note
    last = DRAWER.findall(reader.transcripts[-1])[0]
    assert f"is kept in drawer {last}." in thread.speaker.record.partition("## Summary")[2]


def test_no_word_of_a_summary_is_streamed() -> None:
    """Neither tokens nor messages, sync nor async (I36)."""
    line = "Item 1 is kept in drawer D-1001."

    async def astreamed(thread: Thread) -> str:
        return "".join(
            [
                chunk.text
                async for chunk, _ in thread.agent.astream(
                    thread.next(), CONFIG, stream_mode="messages"
                )
                if isinstance(chunk, AIMessage)
            ]
        )

    def streamed(thread: Thread) -> str:
        chunks = thread.agent.stream(thread.next(), CONFIG, stream_mode="messages")
        return "".join(chunk.text for chunk, _ in chunks if isinstance(chunk, AIMessage))

    for apart in (False, True):
        for sync in (False, True):
            model = scribe()[0] if apart else None
            thread = Thread(Speaker(), scribe=model)
            text = ""
            while not thread.folds:
                text += streamed(thread) if sync else asyncio.run(astreamed(thread))
            assert line in thread.speaker.record
            assert "Noted as entry" in text
            assert line not in text
            assert "State of work" not in text


def reported(messages: Sequence[BaseMessage]) -> int:
    """Count messages as the scripted model reports them, without tools."""
    usage = ScriptedModel(script=lambda _: "").invoke(list(messages)).usage_metadata
    assert usage
    return usage["input_tokens"]


@pytest.mark.parametrize("apart", [False, True])
def test_a_summarys_tokens_are_in_the_journal_and_not_in_the_answers_usage(*, apart: bool) -> None:
    model, reader = scribe()
    thread = Thread(Speaker(), scribe=model if apart else None)
    page = thread.fold()

    answer = thread.agent.get_state(CONFIG).values["messages"][-1]
    sent = reported(thread.speaker.live[-1])
    (asked,) = reader.asked if apart else thread.speaker.asked
    tools = answer.usage_metadata["input_tokens"] - sent
    assert 0 < tools < 1_000  # the schema of `recall`
    assert page.spent is not None
    assert page.spent.input == reported(asked)  # in place it extends a request without `recall`
    assert page.spent.output > 0
    fold = fold_of(page)
    assert (fold.summary_input, fold.summary_output) == (page.spent.input, page.spent.output)


def test_sync_and_async_ask_the_same(tmp_path: Path) -> None:
    """To the byte; two copies of one archive name things alike."""
    open_archive(tmp_path / "one.db").close()
    shutil.copy(tmp_path / "one.db", tmp_path / "other.db")
    one = Thread(Speaker(), archive=open_archive(tmp_path / "one.db"))
    other = Thread(Speaker(), archive=open_archive(tmp_path / "other.db"))
    with one.archive, other.archive:
        one.talk(30)

        async def talk() -> None:
            for _ in range(30):
                await other.agent.ainvoke(other.next(), CONFIG)

        asyncio.run(talk())
        assert len(one.folds) > 1
    assert list(map(shown, one.speaker.asked)) == list(map(shown, other.speaker.asked))
    assert list(map(shown, one.speaker.live)) == list(map(shown, other.speaker.live))


def test_summaries_outlive_the_process(tmp_path: Path) -> None:
    """Another process shows what was shown, and adds its own to it."""
    saver, path = InMemorySaver(), tmp_path / "thread.db"
    with open_archive(path) as archive:
        first = Thread(Speaker(), archive=archive, saver=saver)
        first.fold()
        before = first.speaker.record
    with open_archive(path) as archive:
        second = Thread(Speaker(), archive=archive, saver=saver, said=first.said)
        second.talk(1)
        assert second.speaker.record == before
        second.fold()
        summary = second.speaker.record.partition("## Summary")[2]
    assert "Item 1 is kept in drawer D-1001." in summary
    assert len(re.findall(r"^### Messages ", summary, re.MULTILINE)) == 2


FOLDS, DROPPED = 20, 0.3


def drops(messages: Sequence[BaseMessage]) -> str:
    """Write what is shown, but for three drawers in ten."""
    drawers = dict.fromkeys(DRAWER.findall(shown(messages)))
    kept = [d for d in drawers if int(d[2:]) * 7 % 10 >= 10 * DROPPED]
    return "## State of work\n" + "\n".join(
        f"- Item {int(d[2:]) - 1000} is kept in drawer {d}." for d in kept
    )


@pytest.mark.slow
@pytest.mark.nightly
def test_after_twenty_compactions_every_fact_can_still_be_found() -> None:
    """The summarizer drops facts each time; none of the drops adds up (I25, I29)."""
    thread = Thread(Speaker(drops))
    shares: list[float] = []
    for k in range(FOLDS):
        last = fold_of(thread.fold()).last
        if k in {0, FOLDS - 1}:
            said = [m.text for m in thread.archive.messages(KEY, 0, last) if m.role == "user"]
            drawers = [d for text in said for d in DRAWER.findall(text)]
            found = [is_found(thread.archive, drawer) for drawer in drawers]
            shares.append(sum(found) / len(found))

    assert len(thread.speaker.asked) >= FOLDS / 2
    assert shares == [1.0, 1.0]


def is_found(archive: Archive, drawer: str) -> bool:
    """Whether one recall by the words of a question brings the answer back."""
    return drawer in recall(archive, KEY, query=f"drawer of item {int(drawer[2:]) - 1000}")
