"""Inserts before messages of the user: counted, folded with them, and the first to be dropped."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_tests.archives import archive_in_memory
from core_tests.unit.engine.test_engine import KEY, engine_of
from core_tests.unit.engine.threads import says, steps, user
from thalweg.archive import Logged
from thalweg.engine.edits import Fold
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message, Text
from thalweg.engine.window.items import WindowItem, check


def memory(text: str) -> Message:
    """Make an insert before a message."""
    return Message("user", (Text(f"<memory>{text}</memory>"),), kind="injected")


def asked(text: str, uid: str) -> Message:
    """Make a request with an id."""
    return replace(user(text), uid=uid)


def told(engine: Engine) -> list[str]:
    """List the inserts before messages, as they are sent."""
    return [item.message.text for item in engine.window.items if item.section == "memory"]


def test_it_stands_right_before_its_message_and_counts() -> None:
    """The request has its section in the ledger."""
    engine = engine_of([asked("Go", "u1"), says("Gone"), asked("Come", "u2")])
    before = engine.window.tokens
    engine.window.set_inserts({"u2": memory("likes tea")})

    texts = [item.message.text for item in engine.window.items]
    assert texts == ["Go", "Gone", "<memory>likes tea</memory>", "Come"]
    assert engine.window.ledger.tokens["memory"] == engine.window.tokens - before > 0
    assert set(engine.window.insert_positions) == {"u2"}
    assert [item.opens for item in engine.window.items[-2:]] == [True, False]


def test_saying_the_same_again_rewrites_nothing() -> None:
    """Nor does an insert for a message that is not here."""
    engine = engine_of([asked("Go", "u1"), says("Gone"), asked("Come", "u2")])
    engine.window.set_inserts({"u1": memory("likes tea")})
    engine.prepare()
    epoch, items = engine.window.epoch, list(engine.window.items)
    engine.window.set_inserts({"u1": memory("likes tea"), "elsewhere": memory("likes ale")})

    assert (engine.window.epoch, engine.window.items) == (epoch, items)
    engine.window.set_inserts({"u1": memory("likes ale")})
    assert engine.window.epoch > epoch
    assert told(engine) == ["<memory>likes ale</memory>"]


def test_a_fold_takes_it_along_with_its_message() -> None:
    """It is kept where the message is: the latest request is unchanged."""
    archive = archive_in_memory()
    thread = [asked("Begin", "u1"), *steps(20), asked("Go on", "u2"), *steps(1)]
    engine = engine_of(thread, archive=archive)
    engine.window.set_inserts({"u1": memory("likes tea"), "u2": memory("lives in Oslo")})
    for message in steps(40):
        if message.role == "assistant":
            engine.prepare()
        archive.append(KEY, [Logged(engine.receive(message).message)])
    engine.prepare()

    assert any(isinstance(edit, Fold) for edit in engine.history)
    assert told(engine) == ["<memory>lives in Oslo</memory>"]
    assert set(engine.window.insert_positions) == {"u2"}
    assert not check([item.message for item in engine.window.items])


def test_it_gives_way_before_any_word_of_the_conversation_is_shortened() -> None:
    """What does not fit with memory is sent without."""
    words = "Mind every word of this. " * 1_050
    engine = engine_of([asked(words, "u1")])
    assert engine.window.items[0].message.text == words
    engine.window.set_inserts({"u1": memory("likes tea " * 900)})
    engine.prepare()

    assert told(engine) == []
    assert engine.window.items[-1].message.text == words


@given(st.lists(st.sampled_from(("u1", "u2", "u3")), unique=True), st.integers(0, 30))
def test_the_rest_of_a_request_is_what_it_is_without(uids: list[str], count: int) -> None:
    """As long as nothing is compacted, for any inserts before any messages."""
    thread = [
        asked("One", "u1"),
        *steps(count % 3),
        asked("Two", "u2"),
        *steps(count % 2),
        asked("Three", "u3"),
    ]
    bare, engine = engine_of(thread, window=200_000), engine_of(thread, window=200_000)
    engine.window.set_inserts({uid: memory(uid) for uid in uids})
    engine.prepare()

    left = [item for item in engine.window.items if item.section != "memory"]
    assert [item.message for item in left] == [item.message for item in bare.window.items]
    assert engine.window.tokens == engine.window.ledger.total
    behind = {a.message.text: b for a, b in pairwise(engine.window.items)}
    assert {_uid(behind, uid) for uid in uids} == set(uids)


def _uid(behind: dict[str, WindowItem], uid: str) -> str:
    return behind[f"<memory>{uid}</memory>"].message.uid


@pytest.mark.parametrize("uid", ["", "a1"])
def test_nothing_stands_before_what_is_no_request(uid: str) -> None:
    """Answers, results and messages without an id are unchanged."""
    engine = engine_of([user("Go"), replace(says("Gone"), uid="a1"), user("Come")])
    engine.window.set_inserts({uid: memory("likes tea")})
    engine.prepare()

    assert told(engine) == []
