"""What a replay asks of the final context."""

import json
from pathlib import Path

import pytest

from recorder_tests.unit.lab.replay.threads import answered, asked, entries_of, replayed, said
from thalweg.engine.entries import Message
from thalweg.engine.window.items import WindowItem
from thalweg.errors import RecordingError
from thalweg_recorder.replay.questions import (
    Goal,
    NeedleQuestion,
    Questions,
    find_questions,
    goals_missing,
    hidden,
)
from thalweg_recorder.replay.results import NeedleRecall

WINDOW = 8_000


def long_thread(*first: Message, turns: int = 40) -> list[Message]:
    """Make a thread that starts with these messages, and then has too much for the window."""
    messages = [said("user", "Count the birds of the delta."), *first]
    for turn in range(turns):
        messages.append(asked(f"c{turn}", "count", place=f"bank {turn}"))
        text = "\n".join(f"bank {turn}, row {row}: some birds of no kind" for row in range(40))
        messages.append(answered(f"c{turn}", "count", text))
    return [*messages, said("assistant", "Counted.")]


def heard(policy: str, needle: NeedleQuestion, messages: list[Message]) -> NeedleRecall:
    """Ask for one needle at the end of a thread."""
    return replayed(messages, policy, WINDOW, Questions(needles=(needle,))).recall


HERON = NeedleQuestion("Which heron nests at the old lock?", "squacco heron", line=2)
TOLD = (
    asked("h", "look", place="old lock"),
    answered("h", "look", "At the old lock nests a squacco heron.", line=2),
)


def test_a_needle_in_the_final_context_is_inline() -> None:
    """Nothing has to be searched."""
    recall = heard("none", HERON, long_thread(*TOLD))

    assert recall == NeedleRecall(inline=1)


def test_a_needle_that_one_recall_brings_is_searched() -> None:
    """By the question's own words, in what the context reaches."""
    recall = heard("deepagents", HERON, long_thread(*TOLD))

    assert (recall.inline, recall.search, recall.lost) == (0, 1, 0)
    assert 0 < recall.search_tokens <= 2_000


def test_a_needle_behind_no_handle_is_lost_for_good() -> None:
    """What a policy throws away cannot be searched."""
    recall = heard("langchain", HERON, long_thread(*TOLD))

    assert recall == NeedleRecall(lost=1, search_tokens=0)


def test_what_langchain_removes_is_out_of_reach_and_what_we_remove_is_not() -> None:
    """The same thread, and the same window."""
    bytes_lost = {
        policy: replayed(long_thread(*TOLD), policy, WINDOW).unrecoverable_bytes
        for policy in ("langchain", "deerflow", "thalweg", "deepagents", "none")
    }

    assert bytes_lost["langchain"] > 10_000
    assert bytes_lost["deerflow"] > 10_000
    assert bytes_lost["thalweg"] == bytes_lost["deepagents"] == bytes_lost["none"] == 0


def test_later_uses_of_what_is_out_of_reach_are_lost_faults() -> None:
    """And those of what a handle reaches are not."""
    path = "/srv/delta/heron-4f9d2c1.csv"
    thread = long_thread(asked("l", "list_files", path="."), answered("l", "list_files", path))
    thread.append(asked("r", "read_file", path=path))
    faults = {
        policy: (run.faults_recoverable, run.faults_lost)
        for policy in ("langchain", "deepagents", "none")
        for run in [replayed(thread, policy, WINDOW)]
    }

    assert faults == {"langchain": (0, 1), "deepagents": (1, 0), "none": (0, 0)}


def test_goals_are_looked_for_word_for_word() -> None:
    """A paraphrase is a loss."""
    goals = [Goal("Count the birds", "goal", 0), Goal("count the birds", "request", 0)]
    items = [WindowItem(said("user", "Count the birds of the delta."), 0, 7)]

    assert goals_missing(goals, items) == [goals[1]]
    assert goals_missing([], items) == []


def test_a_policy_that_forgets_the_request_has_lost_the_goal() -> None:
    """Ours keeps it."""
    questions = Questions(goals=(Goal("Count the birds of the delta.", "goal", 0),))
    kept = {
        policy: (run.goals_verbatim, run.goals_lost)
        for policy in ("thalweg", "langchain")
        for run in [replayed(long_thread(*TOLD), policy, WINDOW, questions)]
    }

    assert kept == {"thalweg": (1, 0), "langchain": (0, 1)}


def write(folder: Path, name: str, *rows: object) -> None:
    """Write rows as JSON Lines."""
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (folder / name).write_text(text, encoding="utf-8")


NEEDLE = {"trajectory": "t", "question": "Who?", "answer": "Ines", "message_index": 3}


def test_questions_lie_beside_a_recording_or_above_it(tmp_path: Path) -> None:
    """Questions are found up to three folders above; unused fields are ignored."""
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    write(tmp_path, "needles.jsonl", {**NEEDLE, "quote": "x", "position": 0.1})

    assert find_questions(inside / "t.jsonl") == {
        "t": Questions(needles=(NeedleQuestion("Who?", "Ines", 3),))
    }
    assert find_questions(inside / "c" / "t.jsonl") == {}


def test_a_line_separator_inside_a_quote_ends_no_line(tmp_path: Path) -> None:
    """Only a line feed does."""
    quote = "one\u2028two\x85three"
    write(tmp_path, "goals.jsonl", {**NEEDLE, "kind": "goal", "quote": quote})

    assert find_questions(tmp_path / "t.jsonl")["t"].goals == (Goal(quote, "goal", 3),)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('\n{"traj', "line 2 is no JSON"),
        ("[1]", "line 1 is no JSON object"),
        (json.dumps({**NEEDLE, "answer": ""}), "line 1 has no good answer"),
        (json.dumps({**NEEDLE, "message_index": "last"}), "line 1 has no good message_index"),
        (json.dumps({"trajectory": "t"}), "line 1 has no good question"),
    ],
)
def test_a_broken_file_of_questions_is_named_with_the_line(
    tmp_path: Path, text: str, problem: str
) -> None:
    """And what is wrong there."""
    (tmp_path / "needles.jsonl").write_text(text)

    with pytest.raises(RecordingError) as caught:
        find_questions(tmp_path / "t.jsonl")

    assert str(caught.value).startswith(f"{tmp_path / 'needles.jsonl'}: {problem}")
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    """As a file that cannot be read."""
    (tmp_path / "goals.jsonl").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(RecordingError, match=r"goals\.jsonl: cannot be read"):
        find_questions(tmp_path / "t.jsonl")


def test_a_message_shown_otherwise_is_hidden() -> None:
    """It is hidden; a message shown whole is not."""
    entries = entries_of([said("user", "Go"), said("assistant", "A long answer")])
    shown = [WindowItem(entries[0].message, 0, 1), WindowItem(said("assistant", "A long…"), 1, 1)]

    assert hidden(shown, entries) == [entries[1]]
