"""What counts as a later use of a message."""

from recorder_tests.unit.lab.replay.threads import answered, asked, entries_of, said
from thalweg.engine.entries import Message
from thalweg_recorder.replay.uses import LaterUse, find_uses

SHA = "4f9d2c1"


def uses(*messages: Message) -> list[LaterUse]:
    """Find the uses in a thread that begins with a request."""
    return list(find_uses(entries_of([said("user", "Find the commit."), *messages])))


def found(text: str) -> tuple[Message, Message]:
    """Make a call and the result with this text."""
    return asked("c1", "run", command="git log"), answered("c1", "run", text)


def test_saying_what_only_a_result_had_said_is_a_use() -> None:
    """The turn could not have had it without the result."""
    assert uses(*found(f"commit {SHA} by nobody"), said("assistant", f"It is {SHA}.")) == [
        LaterUse(3, 2, "command", "mentions", SHA, (2,))
    ]


def test_saying_it_again_is_a_use_that_two_messages_can_serve() -> None:
    """Either of them in the context is enough."""
    again = uses(
        *found(f"commit {SHA}"), said("assistant", f"It is {SHA}."), said("assistant", SHA)
    )

    assert again[-1] == LaterUse(4, 2, "command", "mentions", SHA, (2, 3))


def test_what_the_user_had_said_first_is_no_use_of_the_result() -> None:
    """The result was not its source."""
    thread = (said("user", f"Look at {SHA}."), *found(f"commit {SHA}"), said("assistant", SHA))

    assert uses(*thread) == [LaterUse(4, 1, "request", "mentions", SHA, (1, 3))]


def test_the_agents_own_words_are_used_as_results_are() -> None:
    """Whoever wrote it first is the source."""
    thread = (said("assistant", f"It is {SHA}."), said("user", "Yes?"), said("assistant", SHA))

    assert uses(*thread) == [LaterUse(3, 1, "own words", "mentions", SHA, (1,))]


def test_an_edit_uses_the_newest_text_that_it_replaces() -> None:
    """It has to repeat the longest line exactly, also one that is escaped in a call."""
    line = 'name = "heron"  # of the delta'
    write = asked("w", "write_file", path="a.py", content=f"x = 1\n{line}\n")
    edit = asked("e", "edit_file", path="a.py", old_string=f"{line}\n", new_string="y")

    assert uses(said("assistant", line), write, answered("w", "write_file", "ok"), edit) == [
        LaterUse(4, 2, "own edit", "edits", line, (2,))
    ]


def test_what_many_had_said_is_common_knowledge() -> None:
    """The fourth time it is used no more."""
    thread = [*found(f"commit {SHA}"), *(said("assistant", f"{SHA} {n}") for n in range(4))]

    assert [use.turn for use in uses(*thread)] == [3, 4, 5]


def test_short_and_guessable_words_are_no_identifiers() -> None:
    """`#12` is short, a long name is guessable."""
    words = "#12 3 ms some_long_name"

    assert uses(*found(words), said("assistant", words)) == []


def test_one_turn_uses_one_result_once() -> None:
    """Two identifiers of the same result are one use."""
    other = "src/app/deep.py:40"

    assert len(uses(*found(f"{SHA} {other}"), said("assistant", f"{SHA} {other}"))) == 1


READ, READ_AGAIN = asked("r1", "read_file", path="a/b.py"), asked("r2", "read_file", path="a/b.py")
RESULT = answered("r1", "read_file", "print(1)")


def test_reading_the_same_again_is_a_use_of_the_first_read() -> None:
    """It was wanted once more."""
    assert LaterUse(3, 2, "file", "reads", "", (2,)) in uses(READ, RESULT, READ_AGAIN)


def test_reading_after_a_write_is_none() -> None:
    """What the first read brought is out of date."""
    written = asked("w", "write_file", path="a/b.py", content="print(2)")
    thread = (READ, RESULT, written, answered("w", "write_file", "ok"), READ_AGAIN)

    assert [use for use in uses(*thread) if not use.text] == []


def test_a_read_that_failed_is_none() -> None:
    """There was nothing to use."""
    failed = Message("tool", RESULT.parts, answers="r1", name="read_file", is_error=True)

    assert [use for use in uses(READ, failed, READ_AGAIN) if not use.text] == []
