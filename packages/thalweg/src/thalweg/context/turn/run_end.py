"""The end of a run: log the newest messages, and remove the oldest from the state."""

import time
from dataclasses import replace
from typing import Any

from langchain_core.messages import RemoveMessage
from langchain_core.runnables import RunnableConfig

from thalweg.archive.threads.retry import Retry
from thalweg.context.turn.session_pool import SessionPool
from thalweg.errors import ConflictError


def end_run(sessions: SessionPool, state: Any, config: RunnableConfig) -> dict[str, Any] | None:  # noqa: ANN401 (any agent's)
    """Log the newest messages of a state, end the run in the journal, and release old messages.

    Returns:
        The update of the state; `None` if the run made no request.
    """
    if state.get("thalweg_turn") is None:
        return None
    key = sessions.key(config, state)
    parsed = sessions.read(key, state["messages"])
    tries = Retry()
    while True:
        opened = sessions.open(key, state["thalweg_turn"], parsed, config)
        session = opened.session
        try:
            sessions.sync(session, parsed, config, state["thalweg_turn"])
            gone = sessions.release(session, config)
            page = replace(session.page, kind="end", at=time.time(), spent=None, note="")
            page = replace(page, repairs=opened.last_check.take(0))
            session.enter(page, ())
        except ConflictError as conflict:
            tries.spend(conflict)
        else:
            session.is_running = False
            sessions.put_back(opened)
            # Loops over `updates` read `update["messages"][-1]` of every node (LangChain's page
            # "Streaming"), so the newest message is written as it is: by its id, in its own place.
            removed = [RemoveMessage(id=uid) for uid in gone]
            messages = [*removed, *state["messages"][-1:]]
            return {"thalweg_turn": opened.mark, "messages": messages}
