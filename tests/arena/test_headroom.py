"""Headroom as installed, on small threads."""

import json
import os
from itertools import pairwise
from pathlib import Path

import pytest

from recorder_tests.unit.lab.replay.threads import answered, asked, said
from tests.arena.peers import begun, requests, sent
from tests.arena.talks import replayed
from thalweg.engine.entries import Media, Message, Text, Thinking

pytest.importorskip("headroom", reason="headroom-ai is not installed: uv sync --group arena")

BOTH = ("peer:headroom", "peer:headroom-frozen")
ROWS = [{"id": k, "name": f"guest {k}", "room": 100 + k, "note": "none"} for k in range(120)]
LOG = "\n".join(
    f"2026-01-01 12:00:{k % 60:02d} INFO worker {k} took order {k * 7}" for k in range(400)
)
PAGE = "\n".join(f"def step_{k}(x: int) -> int:\n    return x + {k}" for k in range(80))


def looked_up(call: str, text: str) -> list[Message]:
    """Make a call of a tool without special handling in Headroom, with its result."""
    return [asked(call, "lookup", of=call), answered(call, "lookup", text)]


@pytest.mark.parametrize("name", BOTH)
def test_what_it_does_not_change_is_the_very_item_of_before(name: str) -> None:
    thread = [
        said("system", "Be brief."),
        Message("user", (Text("What is this?"), Media("image/png", "iVBORw0KGgo="))),
        Message("assistant", (Thinking("a picture", "sig"), *asked("c1", "look", "I look.").parts)),
        answered("c1", "look", "a pixel"),
        said("assistant", "A pixel."),
        said("user", "Thanks."),
    ]
    *_, second, last = requests(begun(name), thread)
    assert [item.message for item in last.items] == thread
    assert last.whole == frozenset(range(6))
    assert all(a is b for a, b in zip(second.items, last.items, strict=False))
    assert not last.problems


@pytest.mark.parametrize("name", BOTH)
def test_rows_are_told_shorter_and_all_of_them_are_there(name: str) -> None:
    rows = json.dumps(ROWS)
    thread = [said("user", "Who is in 219?"), *looked_up("c1", rows)]
    peer = begun(name)
    last = requests(peer, thread)[-1]
    assert last.whole == {0, 1}
    assert last.items[2].tokens < 0.7 * requests(begun("peer:strands"), thread)[-1].items[2].tokens
    assert "guest 119" in sent(last)
    assert peer.holds(2)
    assert not peer.holds(0)
    assert last.items[2].message.answers == "c1"


def test_a_result_of_several_texts_may_become_one() -> None:
    half = [Text(LOG + "\n"), Text(LOG)]
    result = Message("tool", tuple(half), answers="c1", name="lookup")
    thread = [said("user", "Who?"), asked("c1", "lookup", of="all"), result]
    last = requests(begun("peer:headroom"), thread)[-1]
    assert len(last.items) == 3
    assert len(last.items[2].message.parts) == 1
    assert 2 not in last.whole


def test_a_log_is_left_out_and_found_by_the_hash_that_is_shown() -> None:
    thread = [said("user", "Who took order 2793?"), *looked_up("c1", LOG), *looked_up("c2", "ok")]
    peer = begun("peer:headroom")
    last = requests(peer, thread)[-1]
    assert "worker 399" not in sent(last)
    assert "hash=" in sent(last)
    assert peer.holds(2)
    assert "worker 399 took order 2793" in peer.recall("Who took order 2793?")
    how, handle = peer.shown(last.items[2])
    assert (how, handle in last.items[2].message.text) == ("elide", True)
    assert last.overhead > 0


def test_what_is_lost_without_a_mark_is_not_held() -> None:
    diff = f"diff --git a/x b/x\nindex 89408e3..1a66d27 100644\n--- a/x\n+++ b/x\n{HUNKS}"
    thread = [said("user", "What changed?"), *looked_up("c1", diff)]
    peer = begun("peer:headroom")
    last = requests(peer, thread)[-1]
    shown = last.items[2].message.text
    assert "89408e3" not in shown or "hash=" in shown
    assert peer.holds(2) is ("hash=" in shown)


HUNKS = "\n".join(f"@@ -{k},3 +{k},3 @@\n same\n-old {k}\n+new {k}" for k in range(4))


def stale() -> list[Message]:
    """Make a thread that reads a file and then changes it."""
    return [
        said("user", "Mend x.py."),
        asked("c1", "Read", file_path="x.py"),
        answered("c1", "Read", PAGE),
        asked("c2", "Edit", file_path="x.py", old_string="x + 1", new_string="x - 1"),
        answered("c2", "Edit", "done"),
        said("assistant", "Mended."),
        said("user", "Thanks."),
    ]


def test_a_file_that_was_read_goes_when_it_was_changed() -> None:
    first, read, changed, last = requests(begun("peer:headroom"), stale())
    assert "step_79" in sent(read)
    assert "step_79" not in sent(changed)
    assert 2 not in last.whole
    assert not any(request.problems for request in (first, read, changed, last))


def test_told_what_is_cached_it_changes_nothing_that_was_sent() -> None:
    made = requests(begun("peer:headroom-frozen"), [*stale(), *looked_up("c9", LOG), *stale()[-2:]])
    for before, after in pairwise(made):
        assert [*map(id, before.items)] == [*map(id, after.items[: len(before.items)])]
    assert 2 in made[-1].whole
    assert any("hash=" in item.message.text for item in made[-1].items)


def test_it_sends_what_does_not_fit() -> None:
    thread = [said("user", "lorem " * 3_000), said("assistant", "Too much.")]
    run = replayed(thread, "peer:headroom", 2_000)
    assert [call.tokens > 2_000 for call in run.calls] == [True]


def test_two_threads_have_a_store_each() -> None:
    thread = [said("user", "Who took order 2793?"), *looked_up("c1", LOG), *looked_up("c2", "ok")]
    for _ in range(2):
        peer = begun("peer:headroom")
        requests(peer, thread)
        assert peer.holds(2)
        assert "worker 399" in peer.recall("Who took order 2793?")


def test_it_runs_without_a_network_and_writes_no_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    requests(begun("peer:headroom"), [said("user", "?"), *looked_up("c1", LOG)])
    assert os.environ["HEADROOM_OFFLINE"] == "1"
    assert not [*tmp_path.rglob("*")]
