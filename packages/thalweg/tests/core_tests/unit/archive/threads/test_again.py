"""A caller that sends all there is, every time, is understood like one that sends the news."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_tests.archives import archive_in_memory
from core_tests.unit.archive.threads.driver import KEY, Driver
from thalweg.engine.entries import Message


@dataclass
class Whole(Driver):
    """Puts every message so far into the state, as LangGraph appends it."""

    log: list[Message] = field(default_factory=list)

    def say(self, message: Message) -> None:
        """Send everything where a user has a turn."""
        there = {m.uid for m in self.state}
        if message.role == "user":
            self.state += [m for m in self.log if m.uid not in there]
        self.log.append(message)
        super().say(message)


@pytest.mark.slow
@pytest.mark.nightly
@given(
    runs=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["", "end", "fail"])), min_size=2, max_size=7
    )
)
def test_sending_everything_gives_the_requests_of_sending_the_news(
    runs: list[tuple[int, str]],
) -> None:
    """Across folds and runs that failed; and nothing is logged twice."""
    plain = Driver(archive=archive_in_memory(b"x"))
    whole = Whole(archive=archive_in_memory(b"x"))
    for number, (tools, then) in enumerate(runs):
        for driver in (plain, whole):
            driver.ask(f"question {number}", tools=tools)
            if then == "end":
                driver.end()
            elif then == "fail":
                driver.fail("in vain")

    assert list(whole.sent.values()) == list(plain.sent.values())
    assert whole.archive.messages(KEY) == plain.archive.messages(KEY)
    assert whole.states == plain.states


def test_a_message_that_says_something_else_now_is_news() -> None:
    """The same id alone is not enough."""
    driver = Driver()
    driver.ask("first", tools=0)
    driver.ask("second", tools=0)
    gone = driver.archive.messages(KEY, 0, 0)[0]
    assert gone.uid not in {m.uid for m in driver.state}
    changed = driver.message("user", "other words")
    driver.state.append(Message("user", changed.parts, uid=gone.uid))
    driver.call()

    assert driver.archive.messages(KEY)[-1].text == changed.text
    assert driver.sent[max(driver.sent)][-1].text == changed.text
