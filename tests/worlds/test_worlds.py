"""Worlds in which a driver reacts: they can be won with everything in sight, and lost without."""

import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random

import pytest

from benchmarks.worlds.__main__ import main, table
from benchmarks.worlds.agents import Row, run_world
from benchmarks.worlds.bill import LEAST_CACHED, OUTPUT, READ, WRITE, Bill, CallsExceededError
from benchmarks.worlds.driver import Mode, decide
from benchmarks.worlds.engine import Whole, limit_of, play, random_world
from benchmarks.worlds.loca import Task, Unit, created_once, decide_task, open_checkout
from benchmarks.worlds.sources import ID, read_values, sources
from benchmarks.worlds.worlds import WORLDS, World, make_world
from thalweg.errors import ConfigError
from thalweg_evals.moves import Respond, Use, View
from thalweg_evals.trace import TracedCall, TracedMessage

WINDOW = 16_000
NEEDS_MOST, NEEDS_ALL = 913, 20_447
"""Random worlds in which a step needs 2,662 of 3,500 tokens together, and 2,995: then no quarter of
the structured summary fits."""


@pytest.fixture(autouse=True)
def logs_afterwards() -> Iterator[None]:
    """The command logs no warning; the next test does again."""
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("mode", ["own", "recall"])
def test_every_world_is_won_with_the_whole_context(name: str, mode: Mode) -> None:
    for seed in range(3):
        why, bill = play(
            make_world(name, seed, WINDOW, 0.8), Whole(), 1_000, partial(decide, mode=mode)
        )

        assert not why
        assert bill.cached > bill.input / 2


@pytest.mark.parametrize("name", WORLDS)
def test_every_world_is_lost_without_the_results(name: str) -> None:
    """Only the user's request and the newest message are shown: the driver does not end."""
    limit, _ = limit_of(make_world(name, 1, WINDOW, 0.8))

    why, bill = play(make_world(name, 1, WINDOW, 0.8), Whole(newest=1), limit)

    assert why == f"more than {limit} calls"
    assert bill.calls > limit


@pytest.mark.parametrize("name", ["gather", "revisit", "compare", "edit"])
def test_removal_costs_calls(name: str) -> None:
    """A context of the newest ten messages: the work is done, with more calls."""
    limit, base = limit_of(make_world(name, 1, WINDOW, 0.8))

    _, bill = play(make_world(name, 1, WINDOW, 0.8), Whole(newest=10), limit)

    assert bill.calls > base


@dataclass
class FirstItem(Whole):
    """A context that shows the first value of a result in place of all others."""

    messages: list[TracedMessage] = field(default_factory=list)

    def receive(self, message: TracedMessage) -> None:
        """Receive the next message, and change it."""
        if message.role == "tool" and (first := re.search(r"\b\d{6}\b", message.text)):
            message = replace(message, text=re.sub(r"\b\d{6}\b", first[0], message.text))
        self.messages.append(message)


@pytest.mark.parametrize("name", ["gather", "revisit", "compare"])
def test_a_preview_that_misleads_loses_the_world(name: str) -> None:
    why, _ = play(make_world(name, 1, WINDOW, 0.8), FirstItem(), 1_000)

    assert "missing or wrong" in why


def test_every_form_keeps_values_with_their_ids() -> None:
    made = sources(Random(1), 60_000, 32_000)  # noqa: S311 (not a secret)

    assert len({one.tool for one in made}) == 6
    for one in made:
        assert list(one.values) == list(dict.fromkeys(ID.findall(one.text)))
        assert read_values(one.text) == one.values


def test_a_value_behind_the_end_of_a_passage_is_of_another_record() -> None:
    text = 'ORD-10005 in a-001 by search_orders.\n\n#6 tool\n  "total": 594904'

    assert read_values(text + "\nORD-10010, {...}, 222222") == {"ORD-10010": 222_222}


def test_a_cut_line_of_the_plan_is_missing() -> None:
    request = TracedMessage("user", make_world("gather", 1, WINDOW, 0.8).request)
    line = "1/9. read: csv-001 by query_table; log-002 by fetch_log"

    cut = decide(View((request, TracedMessage("tool", f"{line[:-12]}…")), frozenset()))
    inner = decide(View((request, TracedMessage("tool", "1/9. read: csv-…-log.")), frozenset()))
    shown = decide(View((request, TracedMessage("tool", f"{line}.")), frozenset()))

    assert isinstance(cut, Use)
    assert isinstance(shown, Use)
    assert inner == cut
    assert cut.tool == "read_task"
    assert (shown.tool, [one.tool for one in shown.siblings]) == ("query_table", ["fetch_log"])


def test_a_lost_task_is_not_guessed() -> None:
    assert decide(View((TracedMessage("user", "Summary: some steps."),), frozenset())) == Respond(
        "I do not see what I have to do."
    )


def test_a_failed_edit_is_repeated_with_the_newest_text() -> None:
    request = TracedMessage("user", make_world("edit", 1, WINDOW, 0.8).request)
    line = "Done. 5/9. replace with 222,222: SKU-10005 in csv-001 by query_table."
    edit = {"step": 5, "name": "csv-001", "old": "SKU-10005,gate,111111", "new": "SKU-10005,222222"}
    shown = [
        request,
        TracedMessage("tool", line),
        TracedMessage(
            "assistant",
            "Step 5 of 9: I change csv-001.",
            (TracedCall("c1", "replace_text", edit),),
        ),
        TracedMessage("tool", "Error: csv-001 has this text 0 times.", (), "c1", "replace_text"),
    ]

    again = decide(View(tuple(shown), frozenset()))

    assert isinstance(again, Use)
    assert (again.tool, again.arguments) == ("query_table", {"name": "csv-001"})
    shown += [
        TracedMessage("assistant", again.text, (TracedCall("c2", again.tool, again.arguments),)),
        TracedMessage("tool", "SKU-10005,rail,333333,4,hold", (), "c2", again.tool),
    ]
    edited = decide(View(tuple(shown), frozenset()))
    assert isinstance(edited, Use)
    assert edited.arguments["old"] == "SKU-10005,rail,333333"
    assert edited.arguments["new"] == "SKU-10005,rail,222222"


def test_a_reference_is_searched_before_the_own_tool() -> None:
    request = TracedMessage("user", make_world("gather", 1, WINDOW, 0.8).request)
    call = TracedCall("c1", "query_table", {"name": "csv-001"})
    shown = (
        request,
        TracedMessage("tool", "1/1. add_rows: SKU-10005 in csv-001 by query_table."),
        TracedMessage("assistant", "", (call,)),
        TracedMessage("tool", 'Read it with recall(handle="abcdefghabcdefgh#3").', (), "c1"),
    )

    recalled = decide(View(shown, frozenset({"recall"})), "recall")
    own = decide(View(shown, frozenset({"recall"})), "own")

    assert isinstance(recalled, Use)
    assert recalled.arguments == {"handle": "abcdefghabcdefgh#3", "query": "SKU-10005"}
    assert isinstance(own, Use)
    assert own.tool == "query_table"


def test_a_bill_prices_the_prefix_cache() -> None:
    bill, size = Bill(limit=2), LEAST_CACHED
    bill.charge([("tools", size), ("request", 10)], 5)
    bill.charge([("tools", size), ("request", 10), ("more", 7)], 0)
    bill.charge([("request", size)], 1, has_cache=False, is_summary=True)

    first = WRITE * (size + 10) + OUTPUT * 5
    assert bill.cost == pytest.approx(first + READ * (size + 10) + WRITE * 7 + size + OUTPUT)
    assert (bill.calls, bill.summaries, bill.cached, bill.peak) == (2, 1, size + 10, size + 17)
    with pytest.raises(CallsExceededError):
        bill.charge([("tools", 1)], 0)


def test_agents_have_the_calls_of_the_driver() -> None:
    """LangChain's agent, without middleware and with ours; the larger task exceeds the window."""
    none = run_world("revisit", "none", WINDOW, 0.3, 1)
    ours = run_world("revisit", "careful", WINDOW, 0.3, 1)
    large = run_world("revisit", "none", WINDOW, 2, 1)

    assert (none.wrong, none.calls, none.lookups) == ("", none.base, 0)
    assert (ours.wrong, ours.calls) == ("", none.base)
    assert "prompt is too long" in large.wrong


def test_deepagents_compacts_and_is_billed_for_its_summaries() -> None:
    pytest.importorskip("deepagents", reason="deepagents is not installed (uv sync --group arena)")

    row = run_world("compare", "deepagents", 32_000, 1.5, 1)

    assert not row.wrong
    assert row.summaries > 0
    assert row.peak <= 32_000


def test_a_table_has_the_ratios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    none = run_world("incremental", "none", WINDOW, 0.3, 1)
    peer = replace(none, policy="deepagents", cost=2 * none.cost, calls=2 * none.calls)
    lost = replace(none, policy="frugal", wrong="lost")

    text = table([none, peer, lost])

    assert "| incremental | own | deepagents | 1/1 | 2.00 | 2.00 | 2.00 | 1.00 | 1.00 |" in text
    assert "| incremental | own | frugal | 0/1 | 1.00 | 1.00 | 1.00 | 0.50 | 0.50 |" in text
    rows = tmp_path / "rows"
    rows.write_text(json.dumps(none.to_dict()), "utf-8")
    assert Row(**json.loads(rows.read_text("utf-8"))) == none
    monkeypatch.setattr("sys.argv", ["worlds", "--table", str(rows)])
    assert main() == 0


def test_random_worlds_of_the_engine_end() -> None:
    for seed in (*range(6), NEEDS_MOST, NEEDS_ALL):
        played = random_world(seed)

        assert not played.wrong
        assert played.calls >= played.base * 0.9
    assert random_world(1) == random_world(1)


def test_a_task_with_a_plan_reads_again_what_is_removed() -> None:
    """As LOCA-bench is driven: every fact that is written must be in the request."""
    rows: list[str] = []

    def read(name: str) -> str:
        return f"{name}: " + ", ".join(f"{name}{k}" for k in range(9))

    def write(name: str) -> str:
        rows.append(name)
        return "Done."

    names = [f"n{k}" for k in range(6)]
    reads = [[Use("read", {"name": one})] for one in names]
    units = [
        Unit([(uses[0], [f"{one}0", f"{one}8"])], Use("write", {"name": one}))
        for one, uses in zip(names, reads, strict=True)
    ]
    world = World(
        "plan", "Do it.", {"read": read, "write": write}, lambda: "" if rows == names else "wrong"
    )
    task = Task(world, reads, units)

    whole, bill = play(world, Whole(), 100, partial(decide_task, task=task))
    assert (whole, bill.calls, world.calls.count("read")) == ("", 13, 6)
    rows.clear()
    cut, bill = play(world, Whole(newest=4), 100, partial(decide_task, task=task))
    assert (cut, bill.calls) == ("", 19)
    rows.clear()
    direct = partial(decide_task, task=replace(task, reads=()))
    cut, bill = play(world, Whole(newest=4), 100, direct)
    assert (cut, bill.calls) == ("", 13)
    assert isinstance(decide_task(View((), frozenset()), task), Respond)


def test_every_run_of_a_task_begins_with_its_own_files(tmp_path: Path) -> None:
    """Their creation takes minutes; an environment is created once."""
    folder = tmp_path / "task"
    created: list[str] = []

    def create() -> str:
        folder.mkdir()
        folder.joinpath("data").write_text("new", "utf-8")
        created.append("environment")
        return created[-1]

    for _ in range(2):
        assert created_once(create, str(folder)) == "environment"
        assert [one.read_text("utf-8") for one in folder.iterdir()] == ["new"]
        folder.joinpath("data").write_text("changed", "utf-8")
        folder.joinpath("made").write_text("by a run", "utf-8")
    assert created == ["environment"]


def test_a_folder_without_the_benchmark_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="gem/envs"):
        open_checkout(str(tmp_path))
