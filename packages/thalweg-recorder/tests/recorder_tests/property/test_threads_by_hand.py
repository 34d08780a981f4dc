"""Laws of a thread under any mixture of runs, forks and what a person does to it."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core_tests.unit.archive.threads.driver import KEY, SYSTEM, Driver
from thalweg.archive.threads.contexts import context_at
from thalweg.archive.threads.operations import pin, rewind, undo, unpin
from thalweg.archive.threads.thread_export import export
from thalweg.archive.threads.thread_history import history, turns
from thalweg.errors import ArchiveError, PinError
from thalweg_recorder.recordings.formats.thalweg_thread import FORMAT
from thalweg_recorder.recordings.source import take_apart

DEEDS = st.lists(
    st.tuples(
        st.sampled_from(
            ["ask", "ask", "ask", "fail", "end", "rewind", "undo", "pin", "unpin", "fork"]
        ),
        st.integers(0, 60),
    ),
    min_size=4,
    max_size=14,
)


def do(driver: Driver, deed: str, number: int) -> None:
    """Do one thing to a thread, where it can be done."""
    calls = sorted(driver.sent)
    match deed:
        case "ask":
            driver.ask(f"Count bank {number}. Never skip the herons.", tools=number % 3)
        case "fail" if not driver.is_rewound:
            driver.fail(f"Count bank {number} in vain.")
        case "end" if driver.mark is not None and driver.waiting:
            driver.end()
        case "rewind" if calls and not driver.is_rewound:
            record = calls[number % len(calls)]
            rewind(driver.archive, KEY, driver.turns[record])
            driver.went_back(record)
        case "fork" if calls:
            driver.fork(calls[number % len(calls)])
        case "undo" | "pin" | "unpin" if calls and not driver.is_rewound:
            try:
                if deed == "undo":
                    undo(driver.archive, KEY)
                else:
                    (pin if deed == "pin" else unpin)(driver.archive, KEY, 0, "the herons")
            except (ArchiveError, PinError):
                pass
        case _:
            pass


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(DEEDS)
def test_every_turn_is_made_again_and_nothing_that_was_left_behind_comes_back(
    deeds: list[tuple[str, int]],
) -> None:
    """Contexts, lines and exports are functions of the archive alone."""
    driver = Driver()
    driver.ask("Count the banks, and never skip the herons.")
    for deed, number in deeds:
        do(driver, deed, number)
    driver.ask("Where were we?")

    for record, sent in driver.sent.items():
        context = context_at(driver.archive, KEY, driver.turns[record])
        assert context.messages == sent
        assert context.system == SYSTEM
        assert {i.position for i in context.items if i.position >= 0} <= {*context.page.line}
    assert [*driver.turns.values()] == [*range(1, len(driver.sent) + 1)]
    for record, turn in driver.turns.items():
        line = [said.message.text for said in history(driver.archive, KEY, turn)]
        assert line == driver.line[record]
    everything = history(driver.archive, KEY, abandoned=True)
    assert [one.position for one in everything] == list(range(driver.archive.length(KEY)))
    assert driver.archive.turn_count(KEY) == len(turns(driver.archive, KEY))
    exported = FORMAT.read(take_apart("t1", "".join(export(driver.archive, KEY))))
    assert [message.text for message in exported.messages[1:]] == driver.line[max(driver.line)]
    assert exported.window == driver.window
