"""The scripted workloads: the same every time, of the stated size, with questions that hold."""

import json
import subprocess
import sys
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from random import Random
from statistics import median, quantiles

import pytest

from benchmarks.arena.replay import replay_one
from benchmarks.arena.sources import find_threads, questions_about, read_thread
from benchmarks.arena.workloads import TURNS, WORKLOADS, scripted
from benchmarks.arena.workloads.phrases import phrases_of
from benchmarks.arena.workloads.writing import Writer
from thalweg.engine.entries import Message, message_to_json
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.transcript import as_text
from thalweg.engine.window.budget import Budget
from thalweg.errors import RecordingError
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.replay.fleet import ReplayOrder, replay_all
from thalweg_recorder.replay.subject import ReplaySubject, subject_of, terms_of

NAMES = tuple(WORKLOADS)
COSTS = {"mixed": 24.29e6, "small": 7.02e6, "chinese": 25.18e6}
"""Of sending all, in the runs that other systems were measured with."""


def digest(recording: Recording) -> str:
    """Return one value for a whole thread."""
    return sha256("\n".join(map(message_to_json, recording.messages)).encode()).hexdigest()


@cache
def subject(name: str) -> ReplaySubject:
    """Read a workload, once."""
    return subject_of(*scripted(f"scripted:{name}"))


def times(messages: tuple[Message, ...]) -> list[datetime]:
    """Return the times of messages."""
    return [datetime.fromisoformat(message.at) for message in messages]


@pytest.mark.parametrize("name", NAMES)
def test_a_workload_is_the_same_in_another_process(name: str) -> None:
    """A workload is independent of the hash order of the other process's sets and dictionaries."""
    code = (
        "from tests.arena.test_workloads import digest, scripted;"
        f"print(digest(scripted('scripted:{name}')[0]))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=root,
        env={"PYTHONHASHSEED": "7", "PYTHONPATH": str(root)},
    )

    assert done.stdout.strip() == digest(scripted(f"scripted:{name}")[0])


def test_another_seed_is_another_thread_of_the_same_kind() -> None:
    """`@1` is the one without a seed."""
    first, same, other = (scripted(f"scripted:small{seed}")[0] for seed in ("", "@1", "@2"))

    assert digest(first) == digest(same) != digest(other)


@pytest.mark.parametrize("name", NAMES)
def test_it_has_its_turns_and_costs_what_it_should(name: str) -> None:
    """So that figures can be compared with those of other systems."""
    read = subject(name)
    calls = sum(message.role == "assistant" for message in read.recording.messages)

    assert calls == TURNS
    assert terms_of(read, TARIFFS["anthropic"]).cost_unmanaged == pytest.approx(
        COSTS[name], rel=0.06
    )


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_each_answer_stands_once_where_its_needle_says(name: str, seed: int) -> None:
    """An answer is in the first part of the thread; and the question does not reveal it."""
    recording, questions = scripted(f"scripted:{name}@{seed}")
    texts = [as_text(message) for message in recording.messages]
    whole = "\n".join(texts)

    assert len(questions.needles) >= 20
    for needle in questions.needles:
        assert whole.count(needle.answer) == 1
        assert needle.answer in texts[needle.line]
        assert needle.line < 0.4 * len(texts)
        assert needle.answer not in needle.question


@pytest.mark.parametrize("name", NAMES)
def test_no_question_is_said_as_it_is_asked(name: str) -> None:
    """A search has to find it by what it is about."""
    recording, questions = scripted(f"scripted:{name}")
    whole = "\n".join(as_text(message) for message in recording.messages)

    assert not [needle for needle in questions.needles if needle.question in whole]


@pytest.mark.parametrize("name", NAMES)
def test_every_request_is_a_goal(name: str) -> None:
    """Word for word, with the constraints that came with it."""
    recording, questions = scripted(f"scripted:{name}")
    requests = {m.line for m in recording.messages if m.is_request}

    assert {goal.line for goal in questions.goals if goal.kind != "constraint"} == requests
    assert sum(goal.kind == "goal" for goal in questions.goals) == 1
    assert any(goal.kind == "constraint" for goal in questions.goals)
    for goal in questions.goals:
        assert goal.quote in recording.messages[goal.line].text


@pytest.mark.parametrize("name", NAMES)
def test_a_provider_would_take_every_request(name: str) -> None:
    """Each call is answered once, right after it; arguments are JSON; ids are unique."""
    recording, _ = scripted(f"scripted:{name}")
    open_calls: list[str] = []
    seen: set[str] = set()
    for message in recording.messages:
        if message.role == "tool":
            assert message.answers in open_calls
            open_calls.remove(message.answers)
        else:
            assert not open_calls
        for call in message.calls:
            assert call.id not in seen
            assert isinstance(json.loads(call.arguments), dict)
            seen.add(call.id)
            open_calls.append(call.id)
    assert not open_calls
    assert [message.line for message in recording.messages] == [*range(len(recording.messages))]


@pytest.mark.parametrize("name", NAMES)
def test_people_pause_now_and_then_for_minutes_or_hours(name: str) -> None:
    """Time never runs backwards."""
    recording, _ = scripted(f"scripted:{name}")
    at = times(recording.messages)
    gaps = [
        (later - earlier).total_seconds()
        for earlier, later, message in zip(at, at[1:], recording.messages[1:], strict=False)
        if message.is_request
    ]

    assert at == sorted(at)
    assert median(gaps) < 180
    assert sum(gap > 300 for gap in gaps) >= 4
    assert sum(gap > 3_600 for gap in gaps) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_details_are_used_again_soon_or_much_later(name: str) -> None:
    """Half within a few turns, some after a hundred: as in recorded sessions."""
    read = subject(name)
    turn_at: list[int] = []
    turn = 0
    for entry in read.entries:
        turn += entry.message.role == "assistant"
        turn_at.append(turn)
    distances = [turn_at[u.turn] - turn_at[u.source] for uses in read.uses.values() for u in uses]

    assert 3 <= median(distances) <= 25
    assert quantiles(distances, n=20)[-1] > 65


@pytest.mark.parametrize("name", NAMES)
def test_it_has_what_real_sessions_have(name: str) -> None:
    """Errors, parallel calls, todos, large edits, files read again, results of all sizes."""
    read = subject(name)
    calls = [call for message in read.recording.messages for call in message.calls]
    paths = [call.arguments for call in calls if call.name == "read_file"]
    results = [entry.tokens for entry in read.entries if entry.message.role == "tool"]

    assert any(message.is_error for message in read.recording.messages)
    assert any(len(message.calls) > 1 for message in read.recording.messages)
    assert {"write_todos", "write_file", "grep", "execute"} <= {call.name for call in calls}
    assert max(len(call.arguments) for call in calls if call.name == "edit_file") > 2_000
    assert len(set(paths)) < len(paths)
    assert max(results) > 4 * sum(results) / len(results)


def test_the_chinese_one_is_chinese() -> None:
    """Requests and answers in whole sentences; code and paths as code is."""
    _, questions = scripted("scripted:chinese")
    said = "".join(goal.quote for goal in questions.goals)
    chinese = sum("\u4e00" <= sign <= "\u9fff" for sign in said)

    assert chinese > 0.75 * len(said)


@pytest.mark.parametrize("place", ["scripted:", "scripted:large", "scripted:mixed@x"])
def test_an_unknown_workload_is_named_with_those_there_are(place: str) -> None:
    """Before anything is replayed."""
    with pytest.raises(RecordingError, match="scripted:mixed"):
        find_threads([place])


def test_workloads_stand_beside_files(tmp_path: Path) -> None:
    """Each once, through the same door."""
    file = tmp_path / "a.jsonl"
    file.write_text('{"role": "user", "content": "Count the birds"}\n')
    found = find_threads(["scripted:small", tmp_path, "scripted:all"])

    assert [str(path) for path in found] == [
        str(file),
        "scripted:small",
        "scripted:mixed",
        "scripted:chinese",
    ]
    assert questions_about(read_thread(found[1]), found[1]).needles


@pytest.mark.slow
@pytest.mark.nightly
def test_a_workload_is_replayed_like_a_file() -> None:
    """Valid, never over the window, and nothing lost."""
    order = ReplayOrder(
        (Path("scripted:small"),), ("thalweg",), Budget(window=128_000), (TARIFFS["openai"],)
    )
    [run] = replay_all(order, workers=1, replay=replay_one).runs

    assert run.trajectory == "scripted:small"
    assert run.cost < run.cost_unmanaged
    assert run.goals_lost == 0
    assert all(call.tokens <= 128_000 and not call.problems for call in run.calls)


def test_what_must_be_unique_is_drawn_once() -> None:
    """Values are unique as long as unused ones remain."""
    writer = Writer(phrases_of("english"), Random(1))  # noqa: S311 (not a secret)

    assert sorted(writer.unique("<n1>") for _ in range(9)) == [*"123456789"]


def test_both_languages_have_the_same_facts() -> None:
    """So that their needles are equally hard, as far as that can be."""
    english, chinese = (phrases_of(language).facts for language in ("english", "chinese"))

    assert [(f.medium, f.answer) for f in english] == [(f.medium, f.answer) for f in chinese]
    for fact in (*english, *chinese):
        assert "<answer>" in fact.says
        assert "<subject>" in fact.says
        assert "<subject>" in fact.asks
        assert "<answer>" not in fact.asks
