"""What a person does to an agent's thread from outside, with a real agent and real checkpoints."""

from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage
from langgraph.types import Command

from core_tests.e2e.recording_model import KEY, SYSTEM, RecordingModel, agent_at, ask
from thalweg.archive import Archive, Logged, open_archive
from thalweg.archive.threads.contexts import context_at
from thalweg.archive.threads.journal import shown_from
from thalweg.archive.threads.operations import pin, rewind, undo, unpin
from thalweg.archive.threads.thread_history import history, turns
from thalweg.engine.edits import Fold
from thalweg.engine.entries import Message, Text
from thalweg.engine.wires.langchain import LangChainWire

ORDERS = [f"Count bank {n}. Never skip the herons of bank {n}." for n in range(8)]


def calls(archive: Archive) -> list[int]:
    """List the numbers of the turns, oldest first."""
    return [turn.turn for turn in turns(archive, KEY) if turn.turn is not None]


def folds(archive: Archive) -> list[int]:
    """List the turns that folded."""
    found = (t for t in turns(archive, KEY) if any(isinstance(e, Fold) for e in t.page.edits))
    return [shown_from(turn.page) for turn in found]


def words(messages: list[BaseMessage]) -> str:
    """Return all text that was sent."""
    return "\n".join(str(message.content) for message in messages)


def check_every_context(folder: Path, model: RecordingModel) -> None:
    """Check that each context made again is what the model got."""
    with open_archive(folder / "thalweg.db") as archive:
        asked = calls(archive)
        assert len(asked) == len(model.got)
        for number, got in zip(asked, model.got, strict=True):
            assert LangChainWire().write(context_at(archive, KEY, number).messages) == got


def test_every_context_is_made_again_as_it_was_sent(tmp_path: Path) -> None:
    """Before and after a fold, over a restart."""
    model = RecordingModel()
    with agent_at(tmp_path, model) as agent:
        ask(agent, *ORDERS[:5])
    with agent_at(tmp_path, model) as agent:
        ask(agent, *ORDERS[5:])

    check_every_context(tmp_path, model)
    with open_archive(tmp_path / "thalweg.db") as archive:
        assert folds(archive)
        newest = context_at(archive, KEY)
        assert newest.system is not None
        assert newest.system.text == SYSTEM
        assert "look" in [tool["function"]["name"] for tool in newest.tools]
        assert sum(newest.page.tokens.values()) <= newest.page.limit


def test_contexts_of_a_branch_that_was_left_are_made_again_too(tmp_path: Path) -> None:
    """The state was sent back to an older checkpoint, after a fold and before it."""
    model = RecordingModel()
    with agent_at(tmp_path, model) as agent:
        ask(agent, *ORDERS[:6])
        checkpoints = list(agent.get_state_history({"configurable": {"thread_id": "t1"}}))
        ends = [c for c in checkpoints if not c.next]
        for back in (ends[1], ends[-2]):
            chosen = back.config["configurable"]["checkpoint_id"]
            ask(agent, "Count the bank again.", checkpoint_id=chosen)
            ask(agent, "And the next bank.")

    check_every_context(tmp_path, model)
    with open_archive(tmp_path / "thalweg.db") as archive:
        assert not all(turn.is_current for turn in turns(archive, KEY))


def test_a_turn_knows_what_the_provider_reported_for_it(tmp_path: Path) -> None:
    """It is stored with the answer."""
    model = RecordingModel()
    with agent_at(tmp_path, model) as agent:
        state = ask(agent, *ORDERS[:2])

    said = [m.usage_metadata["input_tokens"] for m in state["messages"] if m.type == "ai"]
    with open_archive(tmp_path / "thalweg.db") as archive:
        reported = [t.usage.input for t in turns(archive, KEY) if t.usage]
        assert len(reported) == len(model.got)
        assert reported[-len(said) :] == said


def test_an_undone_compaction_shows_the_messages_again(tmp_path: Path) -> None:
    """The window has grown since, so that they fit."""
    model = RecordingModel()
    with agent_at(tmp_path, model) as agent:
        ask(agent, *ORDERS[:5])
    with open_archive(tmp_path / "thalweg.db") as archive:
        folded = folds(archive)[-1]
        done = undo(archive, KEY)
        assert done.about == folded
    with agent_at(tmp_path, model, window=60_000) as agent:
        ask(agent, "Where were we?")

    *before, asked = model.got[-2]
    assert [m.type for m in before] == ["human", "ai", "tool", "ai"] * 5
    assert asked.content == "Where were we?"
    check_every_context(tmp_path, model)


def test_an_undone_compaction_that_does_not_fit_is_made_again(tmp_path: Path) -> None:
    """The person is warned of it beforehand."""
    model = RecordingModel()
    with agent_at(tmp_path, model) as agent:
        ask(agent, *ORDERS)
    with open_archive(tmp_path / "thalweg.db") as archive:
        undone = undo(archive, KEY)
        assert not undone.fits
        asked = len(calls(archive))
    with agent_at(tmp_path, model) as agent:
        ask(agent, "Where were we?")

    with open_archive(tmp_path / "thalweg.db") as archive:
        assert folds(archive)[-1] == asked + 1
    assert "<thread-record>" in words(model.got[-2])
    check_every_context(tmp_path, model)


@pytest.mark.parametrize("is_restarted", [True, False])
def test_a_rewound_thread_goes_on_from_there(tmp_path: Path, *, is_restarted: bool) -> None:
    """What the agent's state still held does not come back, into contexts or into it."""
    model = RecordingModel()
    with agent_at(tmp_path, model) as agent:
        ask(agent, *ORDERS[:3])
        with open_archive(tmp_path / "thalweg.db") as archive:
            second = calls(archive)[2]
            there = [said.position for said in history(archive, KEY, second)]
            rewind(archive, KEY, second)
            assert [said.position for said in history(archive, KEY)] == there
        if not is_restarted:
            state = ask(agent, "Where were we?", "And now?")
    if is_restarted:
        with agent_at(tmp_path, model) as agent:
            state = ask(agent, "Where were we?", "And now?")

    got = words(model.got[-4])
    assert ORDERS[1] in got
    assert ORDERS[2] not in got
    assert "Answer 4." not in got
    asked = [m.content for m in state["messages"] if m.type == "human"]
    assert asked == [*ORDERS[:2], "Where were we?", "And now?"]
    for later in model.got[-4:]:
        assert ORDERS[2] not in words(later)
    check_every_context(tmp_path, model)
    with open_archive(tmp_path / "thalweg.db") as archive:
        left = [s.message.text for s in history(archive, KEY, abandoned=True) if s.is_abandoned]
        assert ORDERS[2] in left


def test_a_rewind_past_a_fold_shows_what_was_said_before_it(tmp_path: Path) -> None:
    """The fold is removed with the turns after it."""
    model = RecordingModel()
    with agent_at(tmp_path, model) as agent:
        ask(agent, *ORDERS[:6])
        with open_archive(tmp_path / "thalweg.db") as archive:
            first = next(n for n in calls(archive) if n > 3)
            assert folds(archive)[-1] > first
            rewind(archive, KEY, first)
        ask(agent, "Where were we?")

    assert "<thread-record>" not in words(model.got[-2])
    assert model.got[-2][0].content == ORDERS[0]
    check_every_context(tmp_path, model)


def test_a_rewind_holds_when_the_next_run_fails_at_first(tmp_path: Path) -> None:
    """Asked again, it is where it was rewound to."""
    model = RecordingModel()
    with agent_at(tmp_path, model) as agent:
        ask(agent, *ORDERS[:3])
        with open_archive(tmp_path / "thalweg.db") as archive:
            rewind(archive, KEY, calls(archive)[2])
        model.fails = 1
        with pytest.raises(ConnectionError):
            ask(agent, "Where were we?")
    with agent_at(tmp_path, model) as agent:
        agent.invoke(None, {"configurable": {"thread_id": "t1"}})
        ask(agent, "And now?")

    for later in model.got[-4:]:
        assert ORDERS[2] not in words(later)
        assert words(later).count("Where were we?") == 1


def test_what_an_interrupted_run_said_last_does_not_come_back(tmp_path: Path) -> None:
    """It is in the state alone when the thread is rewound: it is added to the log, not the line."""
    model = RecordingModel()
    with agent_at(tmp_path, model) as agent:
        ask(agent, *ORDERS[:2])
        agent.interrupt_before_nodes = ["tools"]
        ask(agent, ORDERS[2])
        assert agent.get_state({"configurable": {"thread_id": "t1"}}).next == ("tools",)
        agent.interrupt_before_nodes = []
        with open_archive(tmp_path / "thalweg.db") as archive:
            rewind(archive, KEY, calls(archive)[2])
        state = ask(agent, "Where were we?", "And now?")

    for later in model.got[-4:]:
        assert ORDERS[2] not in words(later)
        assert "Answer 5." not in words(later)
    assert "Answer 5." not in words(state["messages"])
    with open_archive(tmp_path / "thalweg.db") as archive:
        logged = [(s.message.text, s.is_abandoned) for s in history(archive, KEY, abandoned=True)]
        assert logged.count(("Answer 5.", True)) == 1


def test_an_interrupted_run_that_was_not_rewound_goes_on(tmp_path: Path) -> None:
    """A pin by hand meanwhile takes nothing away."""
    model = RecordingModel()
    with agent_at(tmp_path, model) as agent:
        ask(agent, *ORDERS[:2])
        agent.interrupt_before_nodes = ["tools"]
        ask(agent, ORDERS[2])
        agent.interrupt_before_nodes = []
        with open_archive(tmp_path / "thalweg.db") as archive:
            pin(archive, KEY, 0, "Never skip the herons of bank 0.")
        agent.invoke(Command(resume="go on"), {"configurable": {"thread_id": "t1"}})

    assert [m.type for m in model.got[-1]][-3:] == ["human", "ai", "tool"]
    with open_archive(tmp_path / "thalweg.db") as archive:
        texts = [said.message.text for said in history(archive, KEY)]
        assert len(texts) == len(set(texts)) == 12
    check_every_context(tmp_path, model)


def test_an_older_checkpoint_chosen_later_goes_before_a_rewind(tmp_path: Path) -> None:
    """A caller that asks for a checkpoint gets the thread as it was then."""
    model = RecordingModel()
    with agent_at(tmp_path, model) as agent:
        ask(agent, *ORDERS[:3])
        newest = agent.get_state({"configurable": {"thread_id": "t1"}}).config["configurable"]
        with open_archive(tmp_path / "thalweg.db") as archive:
            rewind(archive, KEY, calls(archive)[2])
        ask(agent, "Where were we?")
        ask(agent, "All of it?", checkpoint_id=newest["checkpoint_id"])

    assert ORDERS[2] in words(model.got[-2])
    assert "Where were we?" not in words(model.got[-2])


def test_pinned_words_stay_after_any_number_of_compactions(tmp_path: Path) -> None:
    """Words that no reader of constraints would keep, in the middle of a long request."""
    model = RecordingModel()
    wish = "the kingfisher counts double"
    filler = " ".join(f"reed{n}" for n in range(900))
    with agent_at(tmp_path, model) as agent:
        ask(agent, f"Count.\n{filler}\n{wish}\n{filler}", ORDERS[0])
        with open_archive(tmp_path / "thalweg.db") as archive:
            pin(archive, KEY, 0, wish)
        asked_before = len(model.got)
        ask(agent, *ORDERS)
        ask(agent, *ORDERS)
        with open_archive(tmp_path / "thalweg.db") as archive:
            assert len(folds(archive)) > 2
            undo(archive, KEY)
        ask(agent, ORDERS[0])
        assert all(wish in words(got) for got in model.got[asked_before:])
        with open_archive(tmp_path / "thalweg.db") as archive:
            unpin(archive, KEY, 0, wish)
        ask(agent, *ORDERS)

    assert wish not in words(model.got[-1])
    check_every_context(tmp_path, model)


def test_a_deed_is_done_again_when_someone_appends_in_between(tmp_path: Path) -> None:
    """The page is based on the log as it is."""
    model = RecordingModel()
    with agent_at(tmp_path, model) as agent:
        ask(agent, *ORDERS[:2])
    with open_archive(tmp_path / "thalweg.db") as archive:
        archive.append(KEY, [Logged(Message("user", (Text("from elsewhere"),)))])
        rewind(archive, KEY, 1)
        page = turns(archive, KEY)[-1].page

    assert page.length == 9
    assert [*page.line] == [0]
    assert page.parent == 0
