"""How far away removed content is for an agent that uses it."""

from collections.abc import Container, Sequence
from dataclasses import dataclass

import pytest

from recorder_tests.unit.lab.replay.test_account import ByHand
from recorder_tests.unit.lab.replay.threads import answered, asked, driven, said
from thalweg.engine.entries import Message
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.replay.harm import LOST
from thalweg_recorder.replay.questions import Questions
from thalweg_recorder.replay.subject import subject_of

SHA = "4f9d2c1"
LINE = "birds = 17  # counted twice"
PATH = "/srv/delta/heron.toml"
RUN = (
    said("user", "Find the commit."),
    asked("c1", "bash", command="git log"),
    answered("c1", "bash", f"commit {SHA} by nobody"),
    asked("c2", "bash", command="date"),
    answered("c2", "bash", "Monday"),
    said("assistant", f"It is {SHA}."),
)
FILE = (
    said("user", "Count the birds again."),
    asked("r", "read_file", path=PATH),
    answered("r", "read_file", f"1\t{LINE}\n2\tfish = 3"),
    asked("e", "edit_file", path=PATH, old_string=LINE, new_string="birds = 18"),
    answered("e", "edit_file", "done"),
)


@dataclass
class Finds(ByHand):
    """Finds one text for any search."""

    def recall(self, question: str) -> str:
        """See `Contestant.recall`."""
        assert SHA not in question
        assert LINE not in question
        return self.brings


def misses(
    thread: Sequence[Message],
    shows: Container[int],
    *,
    kept: range = range(0),
    brings: str = "",
) -> list[tuple[str, str, int]]:
    """Return kind, way and steps of the misses where every request shows only some messages."""
    subject = subject_of(Recording("by-hand", "by hand", tuple(thread)), Questions())
    run = driven(subject, Finds([shows], kept=kept, brings=brings))
    return [(miss.use.kind, miss.use.way, miss.steps) for miss in run.misses]


def test_what_every_request_shows_whole_is_missed_by_nobody() -> None:
    """Nothing was removed."""
    assert misses(RUN, range(len(RUN))) == []


@pytest.mark.parametrize(
    ("kept", "brings", "steps"),
    [
        (range(0), "", LOST),
        (range(0), f"#2 tool: commit {SHA}", 1),
        (range(3), "", 2),
        (range(3), f"#2 tool: commit {SHA}", 1),
    ],
)
def test_removed_output_is_as_far_away_as_the_shortest_way_to_it(
    kept: range, brings: str, steps: int
) -> None:
    """One search, else what is stored is located and read, else it is lost."""
    assert misses(RUN, {0, 3, 4}, kept=kept, brings=brings) == [("command", "mentions", steps)]


def test_what_another_visible_message_contains_takes_no_step() -> None:
    """The source is missing, and its identifier is not."""
    thread = [*RUN[:3], said("user", f"So {SHA}?"), *RUN[3:]]

    assert misses(thread, {0, 3, 4, 5}) == [("command", "mentions", 0)]


@pytest.mark.parametrize(("shows", "steps"), [({0, 1}, 1), ({0}, 2)])
def test_a_file_is_read_again_without_any_archive(shows: set[int], steps: int) -> None:
    """One step where its path is visible, two where it has to be found."""
    assert ("file", "edits", steps) in misses(FILE, shows)


def test_a_file_that_was_written_since_is_not_read_back() -> None:
    """The former content of a file is no longer on the disk."""
    thread = [
        *FILE[:2],
        answered("r", "read_file", f"from {SHA}"),
        asked("w", "write_file", path=PATH, text="empty"),
        answered("w", "write_file", "done"),
        said("assistant", f"It was from {SHA}."),
    ]

    assert misses(thread, {0, 1, 3, 4}) == [("file", "mentions", LOST)]


def test_content_is_fetched_once_while_it_stays_in_the_context() -> None:
    """The second use finds what the first one brought."""
    thread = [*RUN, said("user", "Again?"), said("assistant", f"{SHA}, as I said.")]

    assert [steps for *_, steps in misses(thread, {0, 3, 4, 6}, kept=range(3))] == [2, 0]


def test_the_turn_that_reads_a_file_again_needs_nothing_more() -> None:
    """The recorded agent read it itself."""
    thread = [*FILE[:3], asked("r2", "read_file", path=PATH)]

    assert misses(thread, {0, 1}) == [("file", "reads", 0)]


def test_every_use_is_of_an_earlier_message() -> None:
    """A turn does not use itself."""
    subject = subject_of(Recording("by-hand", "by hand", (*RUN, *FILE)), Questions())
    uses = [use for found in subject.uses.values() for use in found]

    assert uses
    assert all(use.source < use.turn for use in uses)
