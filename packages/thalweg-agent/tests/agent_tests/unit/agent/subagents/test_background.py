"""Tasks that run elsewhere, in the state of their parent."""

from thalweg_agent.subagents.background import AsyncTask, Status, merge_tasks


def task(run: str, status: Status, at: str) -> AsyncTask:
    """Make the entry of a task with its newest run."""
    return AsyncTask(
        task_id="t",
        agent_name="far",
        thread_id="t",
        run_id=run,
        status=status,
        created_at="2026-01-01T00:00:00+00:00",
        last_updated_at=at,
    )


def test_a_look_at_an_earlier_run_does_not_replace_the_run_that_goes_on() -> None:
    """One answer of a model updates a task and checks it: both know the task of before."""
    before = task("r1", "running", "2026-01-01T00:00:00+00:00")
    updated = task("r2", "running", "2026-01-01T00:00:00.000100+00:00")
    checked = task("r1", "success", "2026-01-01T00:00:00+00:00")

    for order in ([updated, checked], [checked, updated]):
        tasks = {"t": before}
        for one in order:
            tasks = merge_tasks(tasks, {"t": one})
        assert tasks == {"t": updated}
    assert merge_tasks({"t": before}, {"t": checked}) == {"t": checked}
    assert merge_tasks(None, {"t": checked}) == {"t": checked}


def test_the_newest_run_is_known_when_a_clock_was_set_back() -> None:
    """Updates are counted; an entry of an earlier version has no number."""
    checked = task("r1", "success", "2026-01-01T00:00:09+00:00")
    updated: AsyncTask = {**task("r2", "running", "2026-01-01T00:00:05+00:00"), "run_number": 1}
    again: AsyncTask = {**task("r3", "running", "2026-01-01T00:00:01+00:00"), "run_number": 2}

    for old, new in ((checked, updated), (updated, again)):
        assert merge_tasks({"t": old}, {"t": new}) == {"t": new}
        assert merge_tasks({"t": new}, {"t": old}) == {"t": new}
