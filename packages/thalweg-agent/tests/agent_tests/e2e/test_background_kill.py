"""A parent that was killed while it waited for a background task."""

from pathlib import Path

import pytest
from langchain_core.messages import AIMessage

from agent_tests.e2e.killed_parent import POINTS, Parent, until
from core_tests.e2e.agent_server import serving
from core_tests.forking import start
from thalweg.context.notes import is_note

pytestmark = pytest.mark.slow


def test_after_kill_9_a_thread_is_woken_once_for_a_task(tmp_path: Path) -> None:
    """Wherever it died: one notice, which is no word of the user's, and one answer to it."""
    with serving() as server:
        process = start("agent_tests.e2e.killed_parent", tmp_path, server.url)
        assert process.wait(120) == 0
        asked = {}
        for number, point in enumerate(POINTS):
            server.finished.add(str(number))
            parent = Parent(tmp_path / str(number), server.url)
            waker = parent.background._waker  # noqa: SLF001
            assert waker is not None
            until(lambda waker=waker: not waker.is_at_work)  # type: ignore[misc]

            messages = parent.messages()
            notices = [m for m in messages if "Background task" in m.text]
            texts = [str(m.text) for m in messages if isinstance(m, AIMessage)]
            assert [is_note(m) for m in notices] == [True], point
            assert texts.count("It is 42.") == 1, point
            assert messages[-1].text == "It is 42.", point
            (task,) = (
                parent.agent.get_state({"configurable": {"thread_id": "parent"}})
                .values["async_tasks"]
                .values()
            )
            assert task["status"] == "success", point
            asked[point] = parent.heard
            parent.background.close()

    assert asked == dict(zip(POINTS, (1, 1, 1, 0), strict=True))
