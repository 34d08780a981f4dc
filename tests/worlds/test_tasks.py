"""Tasks as agents have them: they can be solved without us, and not without their results."""

from functools import partial

import pytest

from benchmarks.worlds.agents import run_world
from benchmarks.worlds.engine import Whole, limit_of, play
from benchmarks.worlds.tasks import TASKS, Task, decide_task, make_task
from thalweg_evals.moves import Respond, Use, View
from thalweg_evals.trace import TracedCall, TracedMessage

WINDOW, LOAD = 16_000, 0.8
NEWEST = 14
"""Messages in sight, with which a driver reads some content again, and ends."""


def played(task: Task, context: Whole, limit: int = 1_000) -> tuple[str, int, int]:
    """What is wrong in the end, the calls, and the tokens of the largest request."""
    why, bill = play(task.world, context, limit, partial(decide_task, task=task))
    return why, bill.calls, bill.peak


@pytest.mark.parametrize("name", TASKS)
def test_every_task_is_solved_with_the_whole_context(name: str) -> None:
    for seed in range(2):
        task = make_task(name, seed, WINDOW, LOAD)

        why, calls, peak = played(task, Whole())

        assert not why
        assert calls >= len(task.steps)
        assert peak < WINDOW


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_solved_by_an_agent_that_sees_everything(name: str) -> None:
    row = run_world(name, "none", WINDOW, LOAD, 0)

    assert (row.wrong, row.calls, row.lookups) == ("", row.base, 0)


@pytest.mark.parametrize("name", TASKS)
def test_no_task_is_solved_without_the_results(name: str) -> None:
    """Only the first request and the newest message are shown."""
    task = make_task(name, 1, WINDOW, LOAD)
    limit, _ = limit_of(task.world, partial(decide_task, task=task))

    why, _, _ = played(make_task(name, 1, WINDOW, LOAD), Whole(newest=1), limit)

    assert why


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_solved_with_more_calls_from_its_newest_messages(name: str) -> None:
    """What is not in sight is read again, and a failed edit reads the file again."""
    why, calls, _ = played(make_task(name, 1, WINDOW, LOAD), Whole(newest=NEWEST))

    assert not why
    assert calls > len(make_task(name, 1, WINDOW, LOAD).steps)


def test_a_fact_that_is_cut_is_no_fact() -> None:
    """The driver reads again what has an ellipsis in it, and quotes only what is whole."""
    task = make_task("research", 0, WINDOW, LOAD)
    views: list[View] = []

    def driver(view: View) -> Respond | Use:
        views.append(view)
        return decide_task(view, task)

    play(task.world, Whole(), 1_000, driver)
    before = next(one for one in views if one.messages[-1].text.startswith("# "))
    cut = before.messages[-1].text.replace("percent were seen where", "percent […9…] where")
    newest = TracedMessage("tool", cut, (), before.messages[-1].answers)

    move = decide_task(View((*before.messages[:-1], newest), before.tools), task)

    assert isinstance(move, Use)
    assert move.tool == "fetch_url"
    assert move.text.startswith("Before step 3 of ")


def test_a_result_that_does_not_show_the_content_is_searched() -> None:
    task = make_task("reports", 0, WINDOW, LOAD)
    use = Use("get_page", {"document": "Norvik", "page": 1})
    steps = len(task.steps)
    first = steps // 2 + 1
    messages: tuple[TracedMessage, ...] = (
        TracedMessage("user", task.world.request),
        TracedMessage("assistant", f"Step {first} of {steps}: I read."),
    )
    read = decide_task(View(messages, frozenset({"recall", "get_page"})), task)
    assert isinstance(read, Use)
    assert read.tool == use.tool
    calls = tuple(
        TracedCall(f"c{k}", one.tool, one.arguments) for k, one in enumerate((read, *read.siblings))
    )
    results = tuple(TracedMessage("tool", "[removed]", (), call.id) for call in calls)
    messages += (TracedMessage("assistant", read.text, calls), *results)

    again = decide_task(View(messages, frozenset({"recall", "get_page"})), task)

    assert isinstance(again, Use)
    assert again.tool == "recall"


def test_a_driver_that_does_not_see_its_request_ends() -> None:
    task = make_task("configs", 0, WINDOW, LOAD)

    move = decide_task(View((TracedMessage("user", "Go on."),), frozenset()), task)

    assert isinstance(move, Respond)
