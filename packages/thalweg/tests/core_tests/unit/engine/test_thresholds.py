"""Fixed thresholds: what they count, what they keep, and that they do not go round in circles."""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise

import pytest

from core_tests.property.driving import Drive
from core_tests.property.strategies import Scenario
from core_tests.unit.engine.threads import call, entries, result, says, steps, system, user
from thalweg.engine import TARIFFS, ContextPolicy, Offload
from thalweg.engine.edits import Edit, Elide, Evict, Fold
from thalweg.engine.entries import Message
from thalweg.engine.summaries.summary import Summary

CHAT = [
    m for n in range(60) for m in (user(f"Question {n}?"), says(f"Answer {n}. " + "well " * 50))
]
LONG = json.dumps({"path": "a.py", "content": "line of code\n" * 900})
PAIR = 77
"""Tokens of one question and its answer, nearly."""


def run(
    messages: Sequence[Message],
    trigger: tuple[str, float] | list[tuple[str, float]],
    keep: tuple[str, float] = ("messages", 20),
    *,
    window: int = 40_000,
    beside: int = 0,
) -> Drive:
    """Drive a thread under thresholds."""
    policy = ContextPolicy.from_mapping({"trigger": trigger, "keep": keep})
    scenario = Scenario(tuple(messages), policy.budget(window), "anthropic")
    drive = Drive(scenario, policy=policy.policy(TARIFFS["anthropic"]))
    drive.engine.window.set_overhead("tools", beside)
    return drive.run()


def folds(drive: Drive) -> list[Fold]:
    """List the folds that a trigger caused."""
    return [
        edit
        for edit in drive.engine.history
        if isinstance(edit, Fold) and edit.reason == "a trigger of the policy"
    ]


def before_and_after(drive: Drive) -> tuple[int, int]:
    """Count the messages of the first request that was folded: as it would be, and as it is."""
    first = next(r for r in drive.requests if any(isinstance(e, Fold) for e in r.edits))
    return first.arrived, len(first.items)


def test_fifty_messages_become_a_record_and_the_last_twenty() -> None:
    """As the documents draw it: a summary, then the twenty newest, word for word."""
    drive = run(CHAT, ("messages", 50))
    first = folds(drive)[0]
    request = drive.requests[first.turn - 1]

    assert request.arrived == 51
    assert [i.section for i in request.items] == ["summary", *["history"] * 20]
    assert [i.message for i in request.items[1:]] == CHAT[31:51]


def test_a_share_of_the_window_counts_the_whole_request() -> None:
    """Tools included; the same thread alone is far from it."""
    bare = run(CHAT, ("fraction", 0.5), ("tokens", 500), window=20_000)
    laden = run(CHAT, ("fraction", 0.5), ("tokens", 500), window=20_000, beside=8_000)

    assert folds(bare) == []
    assert laden.requests[folds(laden)[0].turn - 2].tokens < 2_000
    assert 2_000 <= before_and_after(laden)[0] * PAIR / 2 < 2_000 + 2 * PAIR


def test_tokens_count_the_thread_alone() -> None:
    """Neither a system prompt nor tools bring it nearer."""
    thread = [system("Be kind. " * 300), *CHAT]
    bare, laden = (run(thread, ("tokens", 2_000), ("tokens", 500), beside=b) for b in (0, 9_000))

    assert [f.turn for f in folds(bare)] == [f.turn for f in folds(laden)]
    assert 2_000 < (before_and_after(bare)[0] - 1) * PAIR / 2 < 2_000 + 2 * PAIR


@pytest.mark.parametrize(
    ("keep", "least", "most"),
    [(("tokens", 800), 800 - PAIR, 800), (("fraction", 0.02), 800 - PAIR, 800)],
)
def test_tokens_to_keep_are_counted_from_the_newest_message(
    keep: tuple[str, float], least: int, most: int
) -> None:
    """As many whole messages as they hold."""
    drive = run(CHAT, ("messages", 50), keep)
    request = drive.requests[folds(drive)[0].turn - 1]
    kept = sum(item.tokens for item in request.items[1:])

    assert least <= kept <= most


def test_messages_to_keep_never_part_a_call_from_its_result() -> None:
    """One more is kept instead."""
    drive = run([user("Go"), *steps(40, 5)], ("messages", 30), ("messages", 5))
    for fold in folds(drive):
        items = drive.requests[fold.turn - 1].items
        assert [i.message.role for i in items[-6:]] == ["assistant", "tool"] * 3
        assert len(items) == 8
        assert items[1].message.text == "Go"


def test_the_first_trigger_that_is_reached_counts() -> None:
    """Any of them."""
    both = run(CHAT, [("fraction", 0.9), ("messages", 50)])

    assert [f.turn for f in folds(both)] == [f.turn for f in folds(run(CHAT, ("messages", 50)))]


def test_a_trigger_below_what_is_kept_does_not_fold_on_every_call() -> None:
    """It waits for an eighth more each time, however small the trigger is."""
    drive = run([user("Go"), *steps(100)], ("tokens", 10), ("messages", 20))

    assert 0 < len(folds(drive)) < 60
    assert drive.requests[-1].tokens < 22 * 600


def test_a_trigger_that_nothing_can_clear_is_not_tried_on_every_call() -> None:
    """One large request that is kept: a fold is looked for only after the thread has grown."""
    drive = run([user("Do it. " * 2_000), *steps(30, 5)], ("tokens", 2_000), ("messages", 20))
    turns = [fold.turn for fold in folds(drive)]

    assert all(b - a > 1 for a, b in pairwise(turns))
    assert drive.requests[-1].messages[1].text.startswith("Do it.")


def test_without_a_trigger_only_the_ceiling_acts() -> None:
    """Summaries switched off: nothing is folded by choice, and every request fits."""
    policy = ContextPolicy(enabled=False)
    scenario = Scenario((user("Go"), *steps(60, 60)), policy.budget(8_000), "anthropic")
    drive = Drive(scenario, policy=policy.policy(TARIFFS["anthropic"])).run()

    assert {e.reason for e in drive.engine.history if isinstance(e, Fold)} == {
        "the request would not fit"
    }
    assert all(r.tokens <= 7_000 for r in drive.requests)


def test_a_large_request_leaves_an_excerpt_when_it_arrives_and_a_smaller_one_stays() -> None:
    """Above the threshold for input and above a quarter of the window."""
    long, short = user("paste " * 9_000), user("paste " * 4_000)
    for message, expected in ((long, 1), (short, 0)):
        drive = run([message, says("Well.")], ("fraction", 0.9))
        small = ContextPolicy.from_mapping({"offload": {"input_tokens": 1_000}})
        assert small.budget(40_000).request == 8_750
        drive = Drive(
            Scenario((message, says("Well.")), small.budget(40_000), "anthropic"),
            policy=small.policy(TARIFFS["anthropic"]),
        ).run()
        assert sum(isinstance(e, Evict) for e in drive.engine.history) == expected


def test_with_a_trigger_results_to_20000_tokens_arrive_whole_and_arguments_at_any_size() -> None:
    """Long arguments before the kept messages become references from 85 % of the window on."""
    arguments = json.dumps({"file_path": "a.py", "content": "new " * 30_000})
    page = "line of code\n" * 6_000
    pages = [m for n in range(3) for m in (call(f"c{n}", "list_issues"), result(f"c{n}", page))]
    messages = [user("Go"), call("w", "Write", arguments), result("w"), *pages]
    drive = run(messages, ("fraction", 0.95), ("fraction", 0.1), window=100_000)
    tokens = [sum(item.tokens for item in request.items) for request in drive.requests]
    edits = [[type(edit) for edit in request.edits] for request in drive.requests]

    assert 18_000 < tokens[-2] - tokens[-3] < 20_000
    assert tokens[1] > 30_000
    assert edits == [[], [], [], [], [Elide]]


def chat(turns: int, words: int = 50) -> list[Message]:
    """Write a chat, without tools, of turns that are all of one size."""
    return [
        message
        for n in range(turns)
        for message in (
            user(f"About item {n}: {'why ' * words}"),
            says(f"On item {n}: {'so ' * words}"),
        )
    ]


SUMMARY = Summary(
    goal=("Answer the questions.",),
    decisions=tuple(f"Decision {n} on the quay was taken." for n in range(20)),
    state=tuple(f"Item {n} was talked over with the crew." for n in range(20)),
)


def summarized(
    messages: Sequence[Message], trigger: tuple[str, float], keep: tuple[str, float], window: int
) -> list[Fold]:
    """Drive a thread whose folds are all joined by a summary of some length."""
    policy = ContextPolicy.from_mapping({"trigger": trigger, "keep": keep})
    scenario = Scenario((), policy.budget(window), "anthropic")
    drive = Drive(scenario, policy=policy.policy(TARIFFS["anthropic"]))
    for message in messages:
        drive.entries.append(drive.engine.receive(message))
        drive.log()
        stepping = drive.engine.steps()
        better: list[Edit] | None = None
        with suppress(StopIteration):
            while True:
                edits = stepping.send(better)
                better = [
                    drive.engine.joined(one, SUMMARY, (0, 0)) if isinstance(one, Fold) else one
                    for one in edits
                ]
    return folds(drive)


@pytest.mark.parametrize(
    ("trigger", "keep", "window", "tail", "limit"),
    [
        (("tokens", 4_000), ("tokens", 1_000), 32_000, 1_000, 4_000),
        (("fraction", 0.8), ("fraction", 0.3), 8_000, 2_400, 6_400),
        (("tokens", 20_000), ("messages", 20), 200_000, 1_190, 20_000),
    ],
)
def test_what_a_compaction_leaves_is_what_keep_says_and_a_small_record(
    trigger: tuple[str, float], keep: tuple[str, float], window: int, tail: int, limit: int
) -> None:
    """So most of the way to the trigger is free: four fifths of the turns that it holds."""
    work = chat(2 * limit // 119 + 60)
    plain = folds(run(work, trigger, keep, window=window))
    joined = summarized(work, trigger, keep, window)
    turn = sum(entry.tokens for entry in entries(*work[-2:]))

    for made in (plain, joined):
        calls = [b.turn - a.turn for a, b in pairwise(made)]
        assert calls
        assert all(fold.tokens_after <= (limit - tail) * 5 // 24 + 16 for fold in made)
        assert min(calls) * turn >= (limit - tail) * 4 // 5 - turn


def test_a_record_of_work_has_room_to_name_it_however_near_the_trigger_is() -> None:
    """The user's requests do not state which files were written, nor the status of each."""
    work = [user("Write the chapters, one by one.")]
    for n in range(60):
        written = {"file_path": f"/book/chapter{n}.md", "content": "so " * 60}
        work += [call(f"c{n}", "Write", json.dumps(written)), result(f"c{n}", "Written.")]
    fold = folds(run(work, ("tokens", 2_000), ("tokens", 800), window=64_000))[-1]

    assert len(re.findall(r"^/book/chapter", fold.record, re.MULTILINE)) > 30
    assert fold.tokens_after <= 560 + 16


def test_triggers_in_messages_leave_a_record_its_size() -> None:
    """However large it is, the next fold is as many messages away."""
    work = chat(70, 400)
    drive = run(work, ("messages", 50), ("messages", 20), window=200_000)
    both = run(work, [("messages", 50), ("tokens", 150_000)], ("messages", 20), window=200_000)

    assert folds(drive)[-1].tokens_after > 4_000
    assert folds(both) == folds(drive)


def test_the_models_own_input_has_a_threshold_of_its_own() -> None:
    """Arguments above it are replaced by a handle, results of the same size are kept."""
    policy = ContextPolicy(offload=Offload(input_tokens=500))
    thread = (user("Go"), call("c", "write_file", LONG), result("c", "row " * 900), says("Done."))
    scenario = Scenario(thread, policy.budget(40_000), "anthropic")
    drive = Drive(scenario, policy=policy.policy(TARIFFS["anthropic"])).run()

    assert [type(edit) for edit in drive.engine.history] == [Elide]
